"""What an enhancement made for the Layered Strategy alone may import from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dsh_mnemon_core.scope import ViewRequest
from dsh_mnemon_core.slots import SlotValue, define_memory_view_extension
from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_core.strategy import ExtensionDefinition, Slot

from dsh_mnemon_strategy_default_three_tier.workflow import TYPE_ID

__all__ = ("TYPE_ID", "define_three_tier_extension")


def define_three_tier_extension(
    *,
    type_id: str,
    package_name: str,
    slot: Slot,
    contribute: Callable[[ViewRequest, Sequence[AvailableSource]], SlotValue | Mapping[str, Any]],
) -> ExtensionDefinition:
    """Define an extension of a standard slot that only Layered hears.

    Args:
        type_id: Id of the extension type.
        package_name: Distribution that provides it.
        slot: ``selection``, ``projection`` or ``capture``.
        contribute: Pure function that returns the slot's value; it is checked on every call.

    Source: spec/core.md §14.
    """
    return define_memory_view_extension(
        type_id=type_id,
        package_name=package_name,
        slot=slot,
        contribute=contribute,
        strategy_type_id=TYPE_ID,
    )
