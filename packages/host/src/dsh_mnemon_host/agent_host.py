"""The harness protocol: what an agent harness gives, and what it gets (host.md §23.1).

The Host knows no harness. An adapter implements `AgentHost`, attaches it to a `MemoryHost`, and
calls the `HostEvents` in order, awaiting each; a failure of memory never breaks a user's turn.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol, TypeAlias
from uuid import uuid4

import attrs
from dsh_mnemon_core.errors import MnemonError

__all__ = (
    "FEATURES",
    "AgentHost",
    "AgentRef",
    "Disposer",
    "Form",
    "HostCapabilities",
    "HostEvents",
    "Message",
    "MessageSource",
    "Origin",
    "Section",
    "SessionStart",
    "ToolContext",
    "ToolHints",
    "ToolSpec",
)

PLUGIN_NAME: Final = "dsh-mnemon"
"""Names this product as the source of its own messages."""

Origin: TypeAlias = Literal["root", "child", "task"]
"""A conversation agent, an agent it started, or a fresh one made for one job."""

SessionStart: TypeAlias = Literal["startup", "resume", "clear", "compact", "adopted"]
"""Why a session begins or begins anew."""

Form: TypeAlias = Literal["recall", "instructions"]
"""The Wake, or a cue."""

Disposer: TypeAlias = Callable[[], None]
"""Undoes a registration; may be called twice."""


@attrs.frozen(kw_only=True)
class HostCapabilities:
    """What a harness can do; the Host switches off exactly what needs more (§23.3).

    Attributes:
        sections: The system prompt takes named sections.
        pre_step: Messages can be appended before a model step.
        surface: The visible own messages of a session are known.
        children: Agents can start agents, and the harness says so.
        fork: A child can inherit its parent's messages.
        worker_tools: A worker's tool list can be restricted.
        guard: A tool call can be refused before it runs.
        conclude_turn: A tool can end the turn.
        idle: The harness tells when an Agent is idle.
        usage: Token usage is reported.
        control_plane: People can reach the control plane.
    """

    sections: bool = False
    pre_step: bool = False
    surface: bool = False
    children: bool = False
    fork: bool = False
    worker_tools: bool = False
    guard: bool = False
    conclude_turn: bool = False
    idle: bool = False
    usage: bool = False
    control_plane: bool = False


FEATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "system sections": ("sections",),
    "wake messages": ("pre_step",),
    "cues": ("pre_step",),
    "child delegation": ("children",),
    "idle review": ("pre_step", "idle", "worker_tools", "guard"),
}
"""What each feature needs; ``status`` lists the missing ones."""


@attrs.frozen(kw_only=True)
class MessageSource:
    """Who wrote a message: this plugin, in one of two forms."""

    plugin: str = PLUGIN_NAME
    form: Form


@attrs.frozen(kw_only=True)
class Message:
    """A user-role message of this plugin. The text is final and is never templated."""

    text: str
    source: MessageSource
    id: str = attrs.field(factory=lambda: str(uuid4()))
    role: Literal["user"] = "user"


@attrs.frozen(kw_only=True)
class Section:
    """A named part of the system prompt; lower ``order`` stands earlier."""

    name: str
    text: str
    order: int


class AgentRef(Protocol):
    """Identity of one Agent; cheap to hold."""

    @property
    def id(self) -> str:
        """The Agent's id, which is also its session's."""
        ...

    @property
    def parent_id(self) -> str | None:
        """The Agent that started it; children only."""
        ...

    @property
    def origin(self) -> Origin:
        """Whether it is a root, a child or a task Agent."""
        ...

    @property
    def cwd(self) -> str | None:
        """Absolute working directory of its session."""
        ...

    def visible(self) -> Sequence[Message] | None:
        """Return this plugin's messages on the session's surface, oldest first; None: unknown."""
        ...


@attrs.frozen(kw_only=True)
class ToolHints:
    """What a client may assume about a tool before calling it."""

    read_only: bool
    destructive: bool = False
    idempotent: bool = False


@attrs.frozen(kw_only=True)
class ToolContext:
    """Who calls a tool: the executing Agent and, where the harness knows them, the call ids."""

    agent: AgentRef
    call_id: str | None = None
    parent_call_id: str | None = None


@attrs.frozen(kw_only=True)
class ToolSpec:
    """A model-facing tool.

    Attributes:
        name: Name the model calls it by.
        description: What the model reads.
        input_schema: JSON Schema (Draft 2020-12) of the arguments.
        handler: Takes the arguments as the client sent them and answers a JSON object.
        hints: Safety hints for clients.
        writes: Whether ``writeEnabled=false`` removes it (D49).
        source_type: Type of the Source it serves; where none is installed, it is not published.
            ``None`` when it serves them all.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    handler: Callable[[Mapping[str, Any], ToolContext], Awaitable[dict[str, Any]]]
    hints: ToolHints
    writes: bool = False
    source_type: str | None = None


class HostEvents(Protocol):
    """What a harness tells the Host; every call is awaited, in order."""

    async def agent_created(self, agent: AgentRef, start: SessionStart) -> None:
        """Take an Agent over; a child captures its parent's View before its first step."""
        ...

    async def agent_disposed(self, agent: AgentRef) -> None:
        """Let an Agent go, with everything held for it."""
        ...

    async def session_started(self, agent: AgentRef, start: SessionStart) -> None:
        """Begin a session anew: forget what was said in the old one."""
        ...

    async def assemble_prompt(
        self, agent: AgentRef, turn: int, sections: Sequence[Section]
    ) -> list[Section]:
        """Pin the turn's View, and return the sections with the Host's own ones at the end.

        Args:
            agent: Whose prompt it is.
            turn: Number of the open turn, ascending; the same number again changes nothing.
            sections: The sections so far, those of other plugins included.
        """
        ...

    async def before_step(
        self, agent: AgentRef, turn: int, step: int, batch: Sequence[object]
    ) -> list[Message]:
        """Return the messages to append at the very end of a step's batch.

        Args:
            agent: Whose step it is.
            turn: Number of the open turn.
            step: Number of the step in it, from 1 on.
            batch: What the step sends so far; an own message in it is given as a `Message`.
        """
        ...

    async def step_rejected(self, agent: AgentRef, turn: int) -> None:
        """Release the pin of a turn whose step does not run."""
        ...

    async def turn_ended(self, agent: AgentRef, turn: int) -> None:
        """Release the pin of a turn; exactly once per started turn, also after crashes."""
        ...

    def problem(self, agent_id: str) -> MnemonError | None:
        """Return why the latest turn of an Agent has no memory, if it has none."""
        ...


class AgentHost(Protocol):
    """What an adapter gives the Host."""

    @property
    def name(self) -> str:
        """Name of the harness, for status."""
        ...

    @property
    def capabilities(self) -> HostCapabilities:
        """What the harness can do; read once."""
        ...

    def agent(self, agent_id: str) -> AgentRef | None:
        """Return a live Agent."""
        ...

    def roots(self) -> Sequence[AgentRef]:
        """Return the live conversation Agents."""
        ...

    def subscribe(self, sink: HostEvents) -> Disposer:
        """Send events to ``sink`` from now on."""
        ...

    def register_tools(self, tools: Sequence[ToolSpec]) -> Disposer:
        """Publish the tools, replacing those published before."""
        ...
