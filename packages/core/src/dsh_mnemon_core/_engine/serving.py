"""Serving, draining and leasing generations (spec/core.md §7)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Literal, Self, TypeAlias

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

Disposal: TypeAlias = Callable[[], Awaitable[list[Exception]]]
"""Disposes Source runtimes and returns what failed."""


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


@attrs.define(eq=False)
class _Record:
    generation: Generation
    leases: int = 0
    disposing: bool = False


class Lease:
    """A hold on one generation; release is idempotent, also as a context manager."""

    def __init__(self, generation: Generation, release: Callable[[], None]) -> None:
        self.generation = generation
        self._release: Callable[[], None] | None = release

    @property
    def id(self) -> str:
        """The generation id."""
        return self.generation.id

    def release(self) -> None:
        """Give the hold back."""
        release, self._release = self._release, None
        if release is not None:
            release()

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
            diagnostics=(_diagnostic("not-composed", "nothing has been composed yet"),),
        )
        self._tasks = tasks
        self._records: dict[str, _Record] = {}
        self._serving: _Record | None = None
        self._pending = 0
        self._progress = anyio.Event()
        self._failures: list[Exception] = []
        self._disposed = False

    @property
    def serving_id(self) -> str | None:
        """Id of the serving generation."""
        return self._serving.generation.id if self._serving else None

    @property
    def draining_ids(self) -> tuple[str, ...]:
        """Ids of retired generations that are not drained yet, oldest first."""
        return tuple(key for key, item in self._records.items() if item is not self._serving)

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
            candidate = build_candidate(snapshot, self.options)
        except CandidateFailed as failed:
            self._discard(failed.created)
            note = _diagnostic("composition-rejected", failed.cause.message, failed.cause.code)
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
        record = self._records.get(generation_id) if generation_id else self._serving
        if record is None or record.disposing:
            raise CompositionUnavailable(self.evaluation)
        record.leases += 1

        def release() -> None:
            record.leases -= 1
            self._drain(record)

        return Lease(record.generation, release)

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
            while self._records or self._pending:
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
        known = self._records.get(candidate.id)
        if known is not None and not known.disposing:
            self._discard(candidate.sources)
            record = known
        else:
            record = self._records[candidate.id] = _Record(candidate)
        self._retire(record)

    def _apply_removals(self, snapshot: Snapshot) -> None:
        """Fail closed: what was removed must not serve new turns (§7, removal rule)."""
        installed = {item.instance_key for item in snapshot.contributors}
        if self._serving and not self._serving.generation.used_keys() <= installed:
            self._retire()

    def _retire(self, successor: _Record | None = None) -> None:
        """Let the successor, or nobody, serve; the generation that served drains."""
        retired, self._serving = self._serving, successor
        if retired is not None:
            self._drain(retired)

    def _drain(self, record: _Record) -> None:
        if record is self._serving or record.leases or record.disposing:
            return
        record.disposing = True
        self._start(record.generation.dispose, record)

    def _discard(self, sources: tuple[LiveSource, ...]) -> None:
        if sources:
            self._start(partial(dispose_sources, sources))

    def _start(self, dispose: Disposal, record: _Record | None = None) -> None:
        self._pending += 1
        self._tasks.start_soon(self._run, dispose, record)

    async def _run(self, dispose: Disposal, record: _Record | None) -> None:
        with anyio.CancelScope(shield=True):
            self._failures += await dispose()
        if record is not None and self._records.get(record.generation.id) is record:
            del self._records[record.generation.id]
        self._pending -= 1
        self._progress.set()
        self._progress = anyio.Event()


def _diagnostic(code: str, message: str, cause: str | None = None) -> Diagnostic:
    return Diagnostic(code=code, message=message, cause=cause)


def _missing(snapshot: Snapshot) -> tuple[Diagnostic, ...]:
    missing: list[Diagnostic] = []
    if not snapshot.sources:
        missing.append(_diagnostic("missing-source", "no Source is installed"))
    if not snapshot.strategies:
        missing.append(_diagnostic("missing-strategy", "no main Strategy is installed"))
    return tuple(missing)
