"""What the Host keeps for one Agent, and does at each step of its turns (host.md §6, §7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio
from dsh_mnemon_core.errors import TurnError
from dsh_mnemon_core.view import View
from dsh_mnemon_core.wake import create_wake

from dsh_mnemon_host.agent_host import AgentRef, Form, Message, MessageSource, Section
from dsh_mnemon_host.bindings import bind, source_types
from dsh_mnemon_host.executions import Delegation, Execution, MemoryExecutions
from dsh_mnemon_host.turn.cues import choose_cue
from dsh_mnemon_host.turn.sections import own_sections, replace_own

__all__ = ("AgentMemory", "wake_text")


def wake_text(execution: Execution) -> str:
    """Render the Wake of a pinned turn with the named tools of its generation."""
    context = execution.context
    with execution.graph.attachment.host.acquire(context.view.runtime_generation) as lease:
        types = source_types(lease.generation)
    return create_wake(context.view, bind(context.view, types)).text


class AgentMemory:
    """Turns of one Agent.

    Args:
        agent: The Agent.
        executions: Where its slots are opened.
        delegation: What a child captured from its parent; ``None`` for a root.
        release: Undoes the retention of the delegation.
    """

    def __init__(
        self,
        agent: AgentRef,
        executions: MemoryExecutions,
        delegation: Delegation | None = None,
        release: Callable[[], None] | None = None,
    ) -> None:
        self.agent = agent
        self.delegation = delegation
        self._executions = executions
        self._release = release
        self._gate = anyio.Lock()
        self._turn: int | None = None
        self._preparing: anyio.CancelScope | None = None
        self._execution: Execution | None = None
        self._cued = False
        self._last_wake: str | None = None
        self._said_before: tuple[bool, str | None] = (False, None)

    @property
    def execution(self) -> Execution | None:
        """The open execution of the current turn."""
        return self._execution

    @property
    def view(self) -> View | None:
        """The pinned View of the current turn."""
        return self._execution.context.view if self._execution else None

    async def begin(self, turn: int) -> Execution:
        """Pin the View of a turn; the same number again returns it, another ends the former.

        Raises:
            TurnError: ``turn-ended`` when the turn ended while its View was prepared.
            MnemonError: As `MemoryExecutions.turn`.
        """
        if turn != self._turn:
            self.end()
            self._turn = turn
        async with self._gate:
            if self._turn != turn:
                raise _ended(turn)
            if self._execution is None or self._execution.closed:
                self._said_before = (self._cued, self._last_wake)
                self._execution = await self._prepare(turn)
            return self._execution

    async def _prepare(self, turn: int) -> Execution:
        execution: Execution | None = None
        try:
            with anyio.CancelScope() as self._preparing:
                execution = await self._executions.turn(self.agent, turn, self.delegation)
            if execution is not None and not self._preparing.cancel_called:
                return execution
        finally:
            self._preparing = None
        if execution is not None:
            self._executions.close(execution)
        raise _ended(turn)

    def sections(self, present: Sequence[Section]) -> list[Section]:
        """Replace the Host's own sections by those of the pinned View, or of none."""
        graph = self._execution.graph if self._execution else None
        routing = graph.config.config.routing_guidance if graph else True
        return replace_own(present, own_sections(self.view, routing=routing))

    def messages(self, turn: int, step: int, batch: Sequence[object]) -> list[Message]:
        """Return what to append to a step's batch: at the first step the cue if due, the Wake.

        Nothing is appended to an empty batch, or to one that already carries an own message.
        """
        execution = self._execution
        if execution is None or execution.closed or turn != self._turn:
            return []
        self._said_before = (self._cued, self._last_wake)
        if step != 1 or not batch or any(isinstance(item, Message) for item in batch):
            return []
        visible = self.agent.visible()
        return [*self._cue(execution, visible), *self._wake(execution, visible)]

    def _cue(self, execution: Execution, visible: Sequence[Message] | None) -> list[Message]:
        said = self._cued if visible is None else bool(visible)
        if self.agent.origin != "root" or said:
            return []
        text = choose_cue(execution.context.view, execution.graph.config.config)
        if text is None:
            return []
        self._cued = True
        return [_message(text, "instructions")]

    def _wake(self, execution: Execution, visible: Sequence[Message] | None) -> list[Message]:
        text = wake_text(execution)
        last = self._last_wake
        if visible is not None:
            shown = [message.text for message in visible if message.source.form == "recall"]
            last = shown[-1] if shown else None
        if not text.strip() or text == last:
            return []
        self._last_wake = text
        return [_message(text, "recall")]

    def restart(self) -> None:
        """Forget the session: pin, cue and Wake (session start, clear, compact, resume)."""
        self.end()
        self._cued, self._last_wake = self._said_before = (False, None)

    def reject(self, turn: int) -> None:
        """End a turn whose latest step does not run: what that step was given is not said."""
        if turn == self._turn:
            self._cued, self._last_wake = self._said_before
        self.end(turn)

    def end(self, turn: int | None = None) -> None:
        """Release the pin, or abort its preparation; idempotent.

        Args:
            turn: Only if this turn is the current one; whichever it is when absent.
        """
        if turn not in (None, self._turn):
            return
        execution, self._execution = self._execution, None
        self._turn = None
        if self._preparing is not None:
            self._preparing.cancel()
        if execution is not None:
            self._executions.close(execution)

    def dispose(self) -> None:
        """End the turn and let the delegation go."""
        self.end()
        release, self._release = self._release, None
        if release is not None:
            release()


def _ended(turn: int) -> TurnError:
    return TurnError("turn-ended", f"turn {turn} ended while its View was prepared")


def _message(text: str, form: Form) -> Message:
    return Message(text=text, source=MessageSource(form=form))
