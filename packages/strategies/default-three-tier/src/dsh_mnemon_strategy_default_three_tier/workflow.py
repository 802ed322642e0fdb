"""Which action of which Source needs a workflow before it commits (spec/core.md §15.5)."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

__all__ = ("TYPE_ID", "Workflow", "action_workflow")

TYPE_ID: Final = "default-three-tier"
"""Type id of the Layered Strategy."""

Workflow: TypeAlias = Literal["runtime-capacity"]
"""A Host workflow around one action."""


def action_workflow(strategy_type_id: str, source_type_id: str, action_id: str) -> Workflow | None:
    """Name the workflow of an action, or ``None`` when it commits directly.

    Only a Runtime write under Layered has one: capacity maintenance. The rule holds alike for the
    named tool, the generic tool, children and management mutations.
    """
    if (strategy_type_id, source_type_id, action_id) == (TYPE_ID, "runtime", "mutate"):
        return "runtime-capacity"
    return None
