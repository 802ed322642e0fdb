"""What an Agent receives for its turn, once for every face that shows it (host.md §6, 23.2 B)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
from anyio import to_thread
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.scope import Storage, ViewBudget
from dsh_mnemon_core.view import Diagnostic, View
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.agent_host import AgentRef, Section
from dsh_mnemon_host.executions import Execution
from dsh_mnemon_host.graph import RuntimeGraph
from dsh_mnemon_host.source_session import open_source
from dsh_mnemon_host.turn.agent_memory import wake_text
from dsh_mnemon_host.turn.sections import own_sections
from dsh_mnemon_host.workspace import is_worktree

if TYPE_CHECKING:
    from dsh_mnemon_host.memory_host import MemoryHost

__all__ = (
    "ContextReport",
    "ReportedBudgets",
    "ReportedStorage",
    "ReportedTool",
    "ReportedView",
    "SourceShare",
    "Usage",
    "context_report",
)

_HEADING: Final = "MNEMON CONTEXT"


@attrs.frozen(kw_only=True)
class Usage:
    """How much of a budget is in use; the unit is that of the budget."""

    used: int
    limit: int


@attrs.frozen(kw_only=True)
class SourceShare:
    """What one Source takes of the projection, in characters."""

    source: str
    characters: int


@attrs.frozen(kw_only=True)
class ReportedView:
    """Which View it is; ``digest`` changes with everything a model can see."""

    id: str
    digest: str
    created_at: str


@attrs.frozen(kw_only=True)
class ReportedTool:
    """One tool as a model is told of it."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


@attrs.frozen(kw_only=True)
class ReportedStorage:
    """Where the memory lies: the storage scope and its absolute root."""

    scope: Storage
    root: str


@attrs.frozen(kw_only=True)
class ReportedBudgets:
    """What the View uses of its budgets.

    Attributes:
        projection: Characters of all fragments together.
        sources: The share of each Source, View order.
        routes: Offered routes.
        actions: Offered actions.
        files: Bytes of each Runtime file; ``None`` when they are not known for this View, because
            there is no Runtime Source or the store has moved on since it was pinned.
    """

    projection: Usage
    sources: tuple[SourceShare, ...]
    routes: Usage
    actions: Usage
    files: Mapping[str, Usage] | None = None


@attrs.frozen(kw_only=True)
class ContextReport:
    """One turn's context.

    Attributes:
        workspace: Absolute path of the Agent's workspace.
        is_worktree: Whether it lies in a linked git worktree, a workspace of its own (D61).
        sections: The Host's sections of the system prompt, in order.
        wake: The whole Wake, whether or not it was sent before; empty without a View.
        tools: What can be called now.
        view: The pinned View; ``None`` when there is none, and ``problem`` says why.
        storage: Where the memory lies; ``None`` when that cannot be told.
        budgets: What is used; ``None`` without a View.
        diagnostics: Of the View, or of the composition when there is no View.
        problem: Why the turn has no memory.
    """

    workspace: str
    is_worktree: bool
    sections: tuple[Section, ...]
    wake: str
    tools: tuple[ReportedTool, ...]
    view: ReportedView | None
    storage: ReportedStorage | None
    budgets: ReportedBudgets | None
    diagnostics: tuple[Diagnostic, ...]
    problem: MnemonError | None

    def text(self) -> str:
        """Return the text a model gets: a heading, the sections, the Wake, one blank line between.

        Sections and Wake stand in it literally.
        """
        return "\n\n".join(
            part for part in (self._head(), *(s.text for s in self.sections), self.wake) if part
        )

    def _head(self) -> str:
        kind = " (linked git worktree, a workspace of its own)" if self.is_worktree else ""
        lines = [
            _HEADING,
            f"Workspace: {json.dumps(self.workspace, ensure_ascii=False)}{kind}",
            f"View: {self.view.digest if self.view else 'none, continue without memory'}",
        ]
        if self.problem is not None:
            lines.append(f"Problem: {self.problem.message} ({self.problem.code})")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON, camelCase.

        Returns:
            ``{workspace, isWorktree, view?: {id, digest, createdAt}, sections: [{name, text,
            order}], wake, tools: [{name, description, inputSchema}], storage?: {scope, root},
            budgets?: {projection: {used, limit}, sources: [{source, characters}], routes, actions,
            files?: {user, memory}}, diagnostics: [{code, message, …}], problem?: {code, message,
            details?, retryable?}}``; what does not exist is absent.
        """
        wire = {
            "workspace": self.workspace,
            "isWorktree": self.is_worktree,
            "view": self.view,
            "sections": self.sections,
            "wake": self.wake,
            "tools": self.tools,
            "storage": self.storage,
            "budgets": self.budgets,
            "diagnostics": self.diagnostics,
            "problem": None if self.problem is None else self.problem.to_wire(),
        }
        return {key: to_wire(item) for key, item in wire.items() if item is not None}


async def context_report(host: MemoryHost, agent: AgentRef) -> ContextReport:
    """Describe the context of an Agent's open turn; opens, ends and changes nothing.

    Args:
        host: The Host the Agent's harness is attached to.
        agent: The Agent; without an open turn the report has no View.
    """
    memory = host.lifecycle.memory(agent.id)
    execution = memory.execution if memory else None
    view = execution.context.view if execution else None
    workspace = agent.cwd or host.workspace
    graph = execution.graph if execution else await _graph(host, agent)
    routing = (graph.config if graph else host.live.config).config.routing_guidance
    return ContextReport(
        workspace=workspace,
        is_worktree=await to_thread.run_sync(is_worktree, Path(workspace)),
        sections=tuple(own_sections(view, routing=routing)),
        wake=wake_text(execution) if execution else "",
        tools=tuple(
            ReportedTool(name=t.name, description=t.description, input_schema=t.input_schema)
            for t in host.tools()
        ),
        view=_identity(view) if view else None,
        storage=_storage(graph) if graph else None,
        budgets=await _budgets(execution) if execution else None,
        diagnostics=_diagnostics(view, graph),
        problem=host.lifecycle.problem(agent.id),
    )


async def _graph(host: MemoryHost, agent: AgentRef) -> RuntimeGraph | None:
    try:
        return await host.live.for_agent(agent)
    except MnemonError:
        return None  # the turn's problem says what is wrong


def _identity(view: View) -> ReportedView:
    return ReportedView(id=view.id, digest=view.digest, created_at=view.created_at)


def _storage(graph: RuntimeGraph) -> ReportedStorage:
    return ReportedStorage(scope=graph.layout.storage, root=str(graph.layout.root))


def _diagnostics(view: View | None, graph: RuntimeGraph | None) -> tuple[Diagnostic, ...]:
    if view is not None:
        return view.diagnostics or ()
    return graph.evaluation.diagnostics if graph else ()


async def _budgets(execution: Execution) -> ReportedBudgets:
    view, limits = execution.context.view, ViewBudget()
    shares: dict[str, int] = {}
    for fragment in view.projection:
        key = fragment.source_instance_key
        shares[key] = shares.get(key, 0) + len(fragment.text)
    return ReportedBudgets(
        projection=Usage(used=sum(shares.values()), limit=limits.max_projection_characters),
        sources=tuple(SourceShare(source=key, characters=n) for key, n in shares.items()),
        routes=Usage(used=len(view.routes), limit=limits.max_routes),
        actions=Usage(used=len(view.action_offers), limit=limits.max_actions),
        files=await _files(execution),
    )


async def _files(execution: Execution) -> dict[str, Usage] | None:
    """Read the sizes of the Runtime files, if they still are what the View shows."""
    try:
        source = open_source(execution.graph, "runtime", execution.context.scope)
        pinned = execution.context.view.consistency.source_revisions.get(source.key)
        if await source.revision() != pinned:
            return None
        targets: Mapping[str, Any] = (await source.read("snapshot"))["targets"]
    except MnemonError:
        return None
    return {
        target: Usage(used=size["used"], limit=size["limit"]) for target, size in targets.items()
    }
