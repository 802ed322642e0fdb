"""What this Provider says of itself (spec/mnemon-native.md §13)."""

from __future__ import annotations

from typing import Final

from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import (
    Icon,
    ProviderCapabilities,
    ProviderManifest,
)

__all__ = ("MANIFEST", "PROVIDER_ID")

PROVIDER_ID: Final = "mnemon-native"
"""The type id, under which Spaces of this Provider are registered."""

MANIFEST: Final = ProviderManifest(
    type_id=PROVIDER_ID,
    package_name="dsh-mnemon-provider-mnemon-native",
    version="0.1.0",
    label="mnemon",
    icon=Icon(kind="brand", value="mnemon"),
    summary=(
        "Memory kept on this machine, in files shared with the mnemon command line tool:"
        " exact text, a graph of how memories belong together, and no service to run."
    ),
    origin="native",
    locality="local",
    workspace_binding="automatic",
    capabilities=ProviderCapabilities(
        search=True,
        browse=True,
        graph=True,
        entities=True,
        related=True,
        remember=True,
        link=True,
        forget=True,
        write_mode="exact",
        deletion_mode="soft",
    ),
    score_semantics="normalized-relevance",
)
"""No settings: a Space is a store in the Source's own data directory."""
