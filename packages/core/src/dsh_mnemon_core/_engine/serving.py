"""Serving, draining and leasing generations (spec/core.md §7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import anyio
import attrs
from anyio.abc import TaskGroup

from dsh_mnemon_core._engine.activation import GenerationOptions
from dsh_mnemon_core._engine.generation import (
    CandidateFailed,
    Generation,
    LiveSource,
    build_candidate,
    dispose_sources,
)
from dsh_mnemon_core._engine.registry import Snapshot
from dsh_mnemon_core.errors import CompositionUnavailable, LifecycleError
from dsh_mnemon_core.view import Diagnostic
from dsh_mnemon_core.wire import to_wire


@attrs.frozen(kw_only=True)
class EvaluationReport:
    """What became of the latest snapshot (spec/core.md §4.9)."""

    state: Literal["ready", "incomplete", "rejected"]
    contribution_revision: int
    generation_id: str | None = None
    strategy_instance_key: str | None = None
    strategy_extension_instance_keys: tuple[str, ...] | None = None
    source_instance_keys: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


class Lease:
    """A hold on one generation; release is idempotent, also as a context manager."""

    def __init__(self, generation: Generation, drain: Callable[[Generation], None]) -> None:
        self.generation = generation
        self._drain: Callable[[Generation], None] | None = drain
        generation.leases += 1

    @property
    def id(self) -> str:
        """The generation id."""
        return self.generation.id

    def release(self) -> None:
        """Give the hold back."""
        drain, self._drain = self._drain, None
        if drain is not None:
            self.generation.leases -= 1
            drain(self.generation)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.release()


class GenerationHost:
    """At most one serving generation and any number of draining ones (§7).

    Args:
        options: How to compose.
        tasks: Task group in which disposals run; it must outlive this host.
    """

    def __init__(self, options: GenerationOptions, tasks: TaskGroup) -> None:
        self.options = options
        self.evaluation = EvaluationReport(
            state="incomplete",
            contribution_revision=0,
            diagnostics=(Diagnostic(code="not-composed", message="nothing has been composed yet"),),
        )
        self._tasks = tasks
        self._generations: dict[str, Generation] = {}
        self._serving: Generation | None = None
        self._pending = 0
        self._progress = anyio.Event()
        self._failures: list[Exception] = []
        self._disposed = False

    @property
    def serving_id(self) -> str | None:
        """Id of the serving generation."""
        return self._serving.id if self._serving else None

    @property
    def draining_ids(self) -> tuple[str, ...]:
        """Ids of retired generations that are not drained yet, oldest first."""
        return tuple(key for key, item in self._generations.items() if item is not self._serving)

    def inspect(self) -> dict[str, Any]:
        """Return ``{servingGenerationId?, drainingGenerationIds, evaluation}`` as JSON."""
        report = {
            "drainingGenerationIds": list(self.draining_ids),
            "evaluation": to_wire(self.evaluation),
        }
        return {"servingGenerationId": self.serving_id, **report} if self.serving_id else report

    def reconcile(self, snapshot: Snapshot) -> EvaluationReport:
        """Evaluate a snapshot and serve it if it composes; never raises for a bad one."""
        if self._disposed:
            return self.evaluation
        missing = _missing(snapshot)
        if missing:
            self._report(snapshot, "incomplete", missing)
            self._apply_removals(snapshot)
            return self.evaluation
        try:
            candidate = build_candidate(snapshot, self.options, self._serving)
        except CandidateFailed as failed:
            self._discard(failed.created)
            note = Diagnostic(
                code="composition-rejected", message=failed.cause.message, cause=failed.cause.code
            )
            self._report(snapshot, "rejected", (note,))
            self._apply_removals(snapshot)
            return self.evaluation
        self._serve(candidate)
        selection = candidate.selection
        self._report(
            snapshot,
            "ready",
            selection.diagnostics,
            generation_id=candidate.id,
            strategy_instance_key=selection.strategy.instance_key,
            strategy_extension_instance_keys=selection.extension_keys or None,
        )
        return self.evaluation

    def acquire(self, generation_id: str | None = None) -> Lease:
        """Lease the serving generation, or one by id while it serves or drains.

        Raises:
            CompositionUnavailable: There is no such generation.
            LifecycleError: ``host-disposed``.
        """
        if self._disposed:
            raise LifecycleError("host-disposed", "this generation host has been disposed")
        generation = self._generations.get(generation_id) if generation_id else self._serving
        if generation is None or not generation.open:
            raise CompositionUnavailable(self.evaluation)
        return Lease(generation, self._drain)

    async def idle(self) -> None:
        """Wait until no disposal runs."""
        while self._pending:
            await self._progress.wait()

    async def dispose(self) -> None:
        """Retire everything and wait for the last lease and disposal, whatever the caller's fate.

        Calling it again waits for the same end.

        Raises:
            ExceptionGroup: What could not be disposed since this host exists.
        """
        self._disposed = True
        self._retire()
        with anyio.CancelScope(shield=True):
            while self._generations or self._pending:
                await self._progress.wait()
        if self._failures:
            raise ExceptionGroup("disposing generations failed", self._failures)

    def _report(
        self,
        snapshot: Snapshot,
        state: Literal["ready", "incomplete", "rejected"],
        diagnostics: tuple[Diagnostic, ...],
        **fields: Any,
    ) -> None:
        self.evaluation = EvaluationReport(
            state=state,
            contribution_revision=snapshot.revision,
            source_instance_keys=tuple(item.instance_key for item in snapshot.sources),
            diagnostics=diagnostics,
            **fields,
        )

    def _serve(self, candidate: Generation) -> None:
        known = self._generations.get(candidate.id)
        if known is not None and known.open:
            self._discard(candidate.sources)
            candidate = known
        self._generations[candidate.id] = candidate
        self._retire(candidate)

    def _apply_removals(self, snapshot: Snapshot) -> None:
        """Fail closed: what was removed must not serve new turns (§7, removal rule)."""
        installed = {item.instance_key for item in snapshot.contributors}
        if self._serving and not self._serving.used_keys() <= installed:
            self._retire()

    def _retire(self, successor: Generation | None = None) -> None:
        """Let the successor, or nobody, serve; the generation that served drains."""
        retired, self._serving = self._serving, successor
        if retired is not None:
            self._drain(retired)

    def _drain(self, generation: Generation) -> None:
        if generation is not self._serving and not generation.leases and generation.open:
            generation.open = False
            self._discard(generation.sources, generation)

    def _discard(self, sources: tuple[LiveSource, ...], owner: Generation | None = None) -> None:
        """Start disposing of runtimes, after which the generation that had them is forgotten."""
        self._pending += 1
        self._tasks.start_soon(self._dispose, sources, owner)

    async def _dispose(self, sources: tuple[LiveSource, ...], owner: Generation | None) -> None:
        with anyio.CancelScope(shield=True):
            self._failures += await dispose_sources(sources)
        if owner is not None and self._generations.get(owner.id) is owner:
            del self._generations[owner.id]
        self._pending -= 1
        self._progress.set()
        self._progress = anyio.Event()


def _missing(snapshot: Snapshot) -> tuple[Diagnostic, ...]:
    needed = (
        ("missing-source", "no Source is installed", snapshot.sources),
        ("missing-strategy", "no main Strategy is installed", snapshot.strategies),
    )
    return tuple(Diagnostic(code=code, message=text) for code, text, there in needed if not there)
