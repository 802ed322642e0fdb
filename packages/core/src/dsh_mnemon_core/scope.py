"""Scope, scenario, budget and capabilities of one request (spec/core.md §4.1, §4.2)."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, get_args

import attrs

from dsh_mnemon_core.checks import integer, optional_text, text
from dsh_mnemon_core.errors import InputError

__all__ = (
    "CAPABILITIES",
    "ROOT_TURN",
    "Capability",
    "OperationScope",
    "Storage",
    "ViewBudget",
    "ViewRequest",
)

Capability: TypeAlias = Literal[
    "status", "project", "recall", "search", "read", "browse", "write", "archive", "graph",
    "related", "link", "forget", "maintain", "export", "import",
]  # fmt: skip
"""What a Source may be able to do; a closed set."""

CAPABILITIES: Final[tuple[Capability, ...]] = get_args(Capability)
"""All capabilities in their canonical order."""

Storage: TypeAlias = Literal["global", "workspace", "custom", "workspaces"]
"""Storage layouts; Core compares them and never resolves a path."""

ROOT_TURN: Final = "agent.root-turn"
"""The scenario of a turn unless its Host says otherwise."""


def _storage(_instance: object, _attribute: object, value: object) -> None:
    if value not in get_args(Storage):
        known = ", ".join(get_args(Storage))
        raise InputError("storage-unsupported", f"storage must be one of {known}")


def _scope_id(value: object) -> str | None:
    return optional_text(value, "scope id", 4000)


@attrs.frozen(kw_only=True)
class OperationScope:
    """Whose memory an operation is about.

    Attributes:
        storage: Storage layout in force.
        workspace_id: Absolute workspace path, when there is one.
        session_id: Session of the executing Agent.
        agent_id: The executing Agent.
    """

    storage: Storage = attrs.field(validator=_storage)
    workspace_id: str | None = attrs.field(default=None, converter=_scope_id)
    session_id: str | None = attrs.field(default=None, converter=_scope_id)
    agent_id: str | None = attrs.field(default=None, converter=_scope_id)


def _limit(maximum: int, default: int) -> Any:
    def convert(value: object) -> int:
        return integer(value, "View budget", 1, maximum)

    return attrs.field(default=default, converter=convert)


@attrs.frozen(kw_only=True)
class ViewBudget:
    """Ceilings of one View; every one at least 1 (spec/core.md §4.2).

    Attributes:
        max_projection_characters: Characters of all fragments together.
        max_routes: Routes offered.
        max_actions: Actions offered.
        max_evidence_results: Items of one read.
        max_evidence_characters: Characters of one read's items together.
    """

    max_projection_characters: int = _limit(10_000_000, 65_536)
    max_routes: int = _limit(10_000, 16)
    max_actions: int = _limit(10_000, 16)
    max_evidence_results: int = _limit(10_000, 16)
    max_evidence_characters: int = _limit(10_000_000, 16_384)


def _scenario(value: object) -> str:
    return text(value, "scenario", 300)


@attrs.frozen(kw_only=True)
class ViewRequest:
    """What a composition is asked for: a scope, a scenario (Text(300)) and a budget."""

    scope: OperationScope
    scenario: str = attrs.field(default=ROOT_TURN, converter=_scenario)
    budget: ViewBudget = attrs.field(factory=ViewBudget)
