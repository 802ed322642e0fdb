"""The Light context enhancement: a ceiling on what a View shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dsh_mnemon_core.scope import ViewRequest
from dsh_mnemon_core.slots import Projection, define_memory_view_extension
from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_core.strategy import ExtensionDefinition

from dsh_mnemon_strategy_light_context._config import LightContextConfig

__all__ = ("PACKAGE_NAME", "light_context_extension")

PACKAGE_NAME: Final = "dsh-mnemon-strategy-light-context"
"""Distribution name of this package."""


def light_context_extension(config: LightContextConfig | None = None) -> ExtensionDefinition:
    """Return the definition of the enhancement, which fills ``projection`` of any main Strategy.

    Only the shared projection budget gets narrower, never wider: routes, actions and the ceilings
    of evidence stay as they are.

    Args:
        config: The ceiling in characters; 4 096 by default.

    Source: spec/core.md §17.
    """
    characters = (config or LightContextConfig()).max_projection_characters

    def contribute(_request: ViewRequest, _sources: Sequence[AvailableSource]) -> Projection:
        return Projection(max_projection_characters=characters)

    return define_memory_view_extension(
        type_id="light-context",
        package_name=PACKAGE_NAME,
        slot="projection",
        contribute=contribute,
    )
