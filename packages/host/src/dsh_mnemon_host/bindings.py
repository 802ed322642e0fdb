"""Which offered operations the named tools serve (core.md §11, host.md §6.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs
from dsh_mnemon_core.runtime import Generation
from dsh_mnemon_core.view import ActionOffer, View

from dsh_mnemon_host.source_session import chosen_instance

__all__ = ("RUNTIME_MUTATE", "NamedAction", "bind", "named_offer", "source_types")


@attrs.frozen
class NamedAction:
    """An action of a Source type that a named tool serves."""

    type_id: str
    action_id: str
    tool: str


RUNTIME_MUTATE: Final = NamedAction("runtime", "mutate", "mnemon_runtime_memory")

ACTIONS: Final = (RUNTIME_MUTATE,)
"""Every named action; a tool that does not exist binds nothing."""


def source_types(generation: Generation) -> Mapping[str, str]:
    """Return the type id of every Source of a generation by instance key."""
    return {source.key: source.record.definition.manifest.type_id for source in generation.sources}


def named_offer(view: View, types: Mapping[str, str], named: NamedAction) -> ActionOffer | None:
    """Return the offer a named tool serves in this View: that of the default or only instance."""
    present = [key for key, type_id in types.items() if type_id == named.type_id]
    key = chosen_instance(present, named.type_id)
    for offer in view.action_offers:
        if offer.source_instance_key == key and offer.source_action_id == named.action_id:
            return offer
    return None


def bind(view: View, types: Mapping[str, str]) -> dict[str, str]:
    """Map the View's offer ids to the named tools that serve them."""
    found = ((named_offer(view, types, named), named.tool) for named in ACTIONS)
    return {offer.id: tool for offer, tool in found if offer is not None}
