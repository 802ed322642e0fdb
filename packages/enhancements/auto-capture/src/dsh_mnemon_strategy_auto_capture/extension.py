"""The Auto capture enhancement: an invitation to keep one fact, within the turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dsh_mnemon_core.scope import ViewRequest
from dsh_mnemon_core.slots import Capture, define_memory_view_extension
from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_core.strategy import ExtensionDefinition

from dsh_mnemon_strategy_auto_capture._config import AutoCaptureConfig

__all__ = ("PACKAGE_NAME", "auto_capture_extension")

PACKAGE_NAME: Final = "dsh-mnemon-strategy-auto-capture"
"""Distribution name of this package."""

_ROLE: Final = "durable-evidence"
_MOST: Final = 32


def auto_capture_extension(config: AutoCaptureConfig | None = None) -> ExtensionDefinition:
    """Return the definition of the enhancement, which fills ``capture`` of any main Strategy.

    It only adds words for the model: there is no background agent, no timer, no write while a View
    is composed, and no authority. Without configured keys the targets are, anew for every View,
    the Sources of role ``durable-evidence`` in the order of their keys; beyond 32 the last ones are
    left out.

    Args:
        config: Instruction, actions and Sources.

    Source: spec/core.md §17.
    """
    given = config or AutoCaptureConfig()

    def contribute(_request: ViewRequest, sources: Sequence[AvailableSource]) -> Capture:
        durable = (s.source_instance_key for s in sources if s.role == _ROLE)
        keys = tuple(sorted(durable)[:_MOST]) if given.source_keys is None else given.source_keys
        return Capture(instruction=given.instruction, action_ids=given.action_ids, source_keys=keys)

    return define_memory_view_extension(
        type_id="auto-capture", package_name=PACKAGE_NAME, slot="capture", contribute=contribute
    )
