"""Scope, scenario, budget and capabilities of one request (spec/core.md §4.1, §4.2)."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

import attrs

from dsh_mnemon_core.checks import defaulted, integer, one_of, optional_text, text

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


def _storage(value: object) -> Storage:
    return one_of(value, get_args(Storage), "storage", "storage-unsupported")


@attrs.frozen(kw_only=True)
class OperationScope:
    """Whose memory an operation is about.

    Attributes:
        storage: Storage layout in force.
        workspace_id: Absolute workspace path, when there is one.
        session_id: Session of the executing Agent.
        agent_id: The executing Agent.
    """

    storage: Storage = attrs.field(converter=_storage)
    workspace_id: str | None = defaulted(optional_text, "workspaceId", 4000)
    session_id: str | None = defaulted(optional_text, "sessionId", 4000)
    agent_id: str | None = defaulted(optional_text, "agentId", 4000)


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

    max_projection_characters: int = defaulted(
        integer, "maxProjectionCharacters", 1, 10_000_000, default=65_536
    )
    max_routes: int = defaulted(integer, "maxRoutes", 1, 10_000, default=16)
    max_actions: int = defaulted(integer, "maxActions", 1, 10_000, default=16)
    max_evidence_results: int = defaulted(integer, "maxEvidenceResults", 1, 10_000, default=16)
    max_evidence_characters: int = defaulted(
        integer, "maxEvidenceCharacters", 1, 10_000_000, default=16_384
    )


@attrs.frozen(kw_only=True)
class ViewRequest:
    """What a composition is asked for: a scope, a scenario (Text(300)) and a budget."""

    scope: OperationScope
    scenario: str = defaulted(text, "scenario", 300, default=ROOT_TURN)
    budget: ViewBudget = attrs.field(factory=ViewBudget)
