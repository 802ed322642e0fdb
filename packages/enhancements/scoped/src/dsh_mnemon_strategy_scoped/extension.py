"""The Scoped enhancement: which Sources take part, in which order, and which may be written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dsh_mnemon_core.scope import ViewRequest
from dsh_mnemon_core.slots import Selection, define_memory_view_extension
from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_core.strategy import ExtensionDefinition

from dsh_mnemon_strategy_scoped._config import ScopedConfig

__all__ = ("PACKAGE_NAME", "scoped_extension")

PACKAGE_NAME: Final = "dsh-mnemon-strategy-scoped"
"""Distribution name of this package."""

_ROLES: Final = ("working-context", "narrative", "durable-evidence")
_MOST: Final = 32


def scoped_extension(config: ScopedConfig | None = None) -> ExtensionDefinition:
    """Return the definition of the enhancement, which fills ``selection`` of any main Strategy.

    Without configured keys it selects, anew for every View, all Sources of the product's roles,
    unavailable ones too, ordered by role and then by key; beyond 32 the last ones are left out.
    A writable key that is not among the selected ones fails the turn (``writable-not-selected``).

    Args:
        config: Sources and the writable ones among them.

    Source: spec/core.md §17.
    """
    given = config or ScopedConfig()

    def contribute(_request: ViewRequest, sources: Sequence[AvailableSource]) -> Selection:
        keys = given.source_keys
        return given.selection(_by_role(sources) if keys is None else keys)

    return define_memory_view_extension(
        type_id="scoped", package_name=PACKAGE_NAME, slot="selection", contribute=contribute
    )


def _by_role(sources: Sequence[AvailableSource]) -> tuple[str, ...]:
    known = [source for source in sources if source.role in _ROLES]
    known.sort(key=lambda source: (_ROLES.index(source.role), source.source_instance_key))
    return tuple(source.source_instance_key for source in known[:_MOST])
