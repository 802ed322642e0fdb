"""Which Sources take part: one a role, or the ones a selection names (spec/core.md §15.1–15.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dsh_mnemon_core.errors import ViewRejected
from dsh_mnemon_core.slots import Selection
from dsh_mnemon_core.source import AvailableSource

__all__ = ("CLASSIC_TYPES", "ROLES", "by_role", "by_selection", "projects")

ROLES: Final = ("working-context", "narrative", "durable-evidence")
"""The three tiers, hottest first."""

CLASSIC_TYPES: Final = ("runtime", "documents", "memory-spaces")
"""Types of the default Sources, in the order of `ROLES`."""


def projects(source: AvailableSource) -> bool:
    """Tell whether a Source can project at all."""
    return "project" in source.capabilities


def by_role(sources: Sequence[AvailableSource]) -> tuple[AvailableSource, ...]:
    """Take the available Source of each role, in the order of `ROLES`; other roles are left out.

    Raises:
        ViewRejected: ``layered-ambiguous-role`` when two available Sources share a role, because
            the order in which they were loaded must not decide.
    """
    chosen: list[AvailableSource] = []
    for role in ROLES:
        fits = [
            item for item in sources if item.role == role and item.availability != "unavailable"
        ]
        if len(fits) > 1:
            keys = ", ".join(sorted(item.source_instance_key for item in fits))
            raise ViewRejected(
                "layered-ambiguous-role",
                f"Layered needs one Source of role {role}; select among {keys}",
            )
        chosen += fits
    return tuple(chosen)


def by_selection(
    sources: Sequence[AvailableSource], selection: Selection
) -> tuple[AvailableSource, ...]:
    """Take the selected Sources in the order of the selection; unavailable ones are dropped.

    Raises:
        ViewRejected: ``selection-source-not-installed`` or ``selection-role-unsupported``.
    """
    installed = {source.source_instance_key: source for source in sources}
    for key in selection.source_keys:
        if key not in installed:
            raise ViewRejected("selection-source-not-installed", f"{key} is not installed")
        if installed[key].role not in ROLES:
            raise ViewRejected(
                "selection-role-unsupported",
                f"{key} has role {installed[key].role!r}; Layered knows {', '.join(ROLES)}",
            )
    named = (installed[key] for key in selection.source_keys)
    return tuple(source for source in named if source.availability != "unavailable")
