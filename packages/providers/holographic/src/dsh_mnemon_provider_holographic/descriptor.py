"""What the Holographic Provider says of itself (providers specification §1.1, §6.1)."""

from __future__ import annotations

from typing import Final

from dsh_mnemon_source_memory_spaces.provider_sdk import (
    Icon,
    ProviderCapabilities,
    ProviderField,
    ProviderManifest,
)

__all__ = ("DEFAULT_DIM", "DEFAULT_MIN_TRUST", "DEFAULT_TRUST", "MANIFEST", "TYPE_ID")

TYPE_ID: Final = "holographic"

DEFAULT_TRUST: Final = 0.5
"""Trust of a new fact of middling importance."""

DEFAULT_MIN_TRUST: Final = 0.3
"""Facts of less trust are not shown."""

DEFAULT_DIM: Final = 1024
"""Phases of a vector in a new file."""

MANIFEST: Final = ProviderManifest(
    type_id=TYPE_ID,
    package_name="dsh-mnemon-provider-holographic",
    version="0.1.0",
    label="Holographic",
    icon=Icon(kind="glyph", value="◎"),
    summary=(
        "Facts in one SQLite file on this machine, shared with the Hermes Agent: full-text search, "
        "entities, trust, and vectors that hold the structure of a fact. No service, no model."
    ),
    origin="third-party",
    locality="local",
    workspace_binding="optional-override",
    capabilities=ProviderCapabilities(
        search=True,
        browse=True,
        graph=True,
        entities=True,
        related=True,
        remember=True,
        forget=True,
        write_mode="exact",
        deletion_mode="hard",
    ),
    fields=(
        ProviderField(
            key="dataPath",
            label="Database file",
            scope="service",
            role="global-location",
            input="path",
            placeholder="$HERMES_HOME/memory_store.db",
            help=(
                "Relative to the data directory; ~ and $HERMES_HOME are expanded. Empty means "
                "state/holographic/memory_store.db in the data directory. A .json file of the "
                "TypeScript dsh-mnemon is taken over into a .db file beside it."
            ),
        ),
        ProviderField(
            key="hrrDim",
            label="Vector dimension",
            scope="service",
            input="number",
            default_value=DEFAULT_DIM,
            min=16,
            max=8192,
            help="For a new file; a multiple of 16. A file that has vectors keeps its dimension.",
        ),
        ProviderField(
            key="defaultTrust",
            label="Trust in new facts",
            scope="memory",
            input="number",
            required=True,
            default_value=DEFAULT_TRUST,
            min=0,
            max=1,
            help="Of importance 3; others get up to 0.2 more or less.",
        ),
        ProviderField(
            key="minTrust",
            label="Least trust shown",
            scope="memory",
            input="number",
            required=True,
            default_value=DEFAULT_MIN_TRUST,
            min=0,
            max=1,
        ),
        ProviderField(
            key="halfLifeDays",
            label="Half-life in days",
            scope="memory",
            input="number",
            default_value=0,
            min=0,
            help="Age at which a search counts a fact half; 0 turns this off.",
        ),
    ),
    score_semantics="normalized-relevance",
)
"""The frozen manifest."""
