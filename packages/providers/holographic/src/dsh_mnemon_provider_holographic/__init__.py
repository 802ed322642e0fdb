"""Holographic Provider of dsh-mnemon: facts in one SQLite file, shared with the Hermes Agent.

``provider`` is what the Memory Spaces Source mounts. `maintenance` holds what a person may do to a
store besides, `compat` what Hermes would answer over it.
"""

from __future__ import annotations

from typing import Any, Final

from dsh_mnemon_core.sdk import Context
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ProviderDefinition,
    ProviderHost,
    ProviderModule,
)

from dsh_mnemon_provider_holographic.descriptor import MANIFEST, TYPE_ID
from dsh_mnemon_provider_holographic.provider import HolographicAdapter

__all__ = ("MANIFEST", "HolographicAdapter", "provider")


def _apply(ctx: Context, host: ProviderHost, config: Any) -> None:
    del config  # the child has no configuration of its own
    host.install(ctx, ProviderDefinition(manifest=MANIFEST, create=HolographicAdapter))


provider: Final = ProviderModule(id=TYPE_ID, apply=_apply)
"""The Provider module; its child takes no configuration."""
