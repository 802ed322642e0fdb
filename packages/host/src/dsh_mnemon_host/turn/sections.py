"""The Host's own sections of the system prompt (host.md §6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dsh_mnemon_core.view import View
from dsh_mnemon_core.wake import create_wake

from dsh_mnemon_host.agent_host import Section

__all__ = ("OWN_NAMES", "PROTOCOL", "ROUTING", "STRATEGY", "own_sections", "replace_own")

PROTOCOL: Final = "mnemon:runtime-memory-protocol"
STRATEGY: Final = "mnemon:strategy"
ROUTING: Final = "mnemon:routing"

OWN_NAMES: Final = frozenset({PROTOCOL, STRATEGY, ROUTING, "mnemon:runtime-memory"})
"""Names the Host owns; the last is an old one and is only ever removed."""

_ORDER: Final = 150

FALLBACK_ROUTING: Final = (
    "Use memory only when the request needs it. Follow the memory View of this turn: read with "
    "mnemon_view_route and change with mnemon_view_action, and only by ids that the View offers. "
    "That a tool exists does not mean that its Source is available now. If history is missing, "
    "say so; never make it up. An offered action is not yet permission, and nothing has been "
    "written before its receipt says so."
)
"""Routing text for a Strategy that gives none."""


def own_sections(view: View | None, *, routing: bool) -> list[Section]:
    """Return the sections of a View in their order: protocol, strategy, routing.

    Args:
        view: The pinned View; without one only the fallback routing remains.
        routing: Whether the routing section is wanted (``routingGuidance``).

    The protocol stands only while an eager Runtime Source takes part, so that it never explains a
    snapshot that is not there.
    """
    guidance = view.guidance if view is not None else None
    texts = {
        PROTOCOL: guidance.protocol if guidance and view and _projects_runtime(view) else None,
        STRATEGY: guidance.system if guidance else None,
        ROUTING: ((guidance.routing if guidance else None) or FALLBACK_ROUTING)
        if routing
        else None,
    }
    return [Section(name=name, text=text, order=_ORDER) for name, text in texts.items() if text]


def _projects_runtime(view: View) -> bool:
    sections = create_wake(view).sections
    return any(item.mode == "eager" and item.layer_id == "runtime" for item in sections)


def replace_own(sections: Sequence[Section], own: Sequence[Section]) -> list[Section]:
    """Remove stale own sections and add the given ones at the end."""
    return [*(section for section in sections if section.name not in OWN_NAMES), *own]
