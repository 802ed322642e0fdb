"""The Runtime Source: working context from USER.md and MEMORY.md (spec/sources.md §2)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import attrs
from dsh_mnemon_core.errors import ConflictError, InputError, StorageError
from dsh_mnemon_core.files import LockTiming
from dsh_mnemon_core.instant import utc_now
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.sdk import (
    Contribution,
    FactsRequest,
    Fragment,
    ManagementRequest,
    ManagementResult,
    MutateRequest,
    ProjectRequest,
    Receipt,
    SourceContext,
    SourceDefinition,
    SourceFacts,
    create_receipt,
    truncate,
)

from dsh_mnemon_source_runtime import _manage, _render
from dsh_mnemon_source_runtime._branch import current_branch
from dsh_mnemon_source_runtime._changes import State
from dsh_mnemon_source_runtime._config import Config, settings
from dsh_mnemon_source_runtime._memory import RuntimeMemory
from dsh_mnemon_source_runtime.actions import MANIFEST, read_mutation

__all__ = ("RuntimeSource", "runtime_source")

_UNAVAILABLE: Final = "unavailable"
_MANAGEMENT: Final = "management."
_HINTS: Final = ("reason", "file", "firstBadIndex", "problem")
_CAPTURES: Final = 64


@attrs.frozen(kw_only=True)
class _Capture:
    """What one facts call saw, and when: its projection shows exactly this (D26)."""

    state: State
    branch: str
    at: datetime


class RuntimeSource:
    """One mounted Runtime Source.

    Facts and projections only read; the first of them may bring an existing store into normal
    form (D25). Every projection answers from the capture of its facts.

    Args:
        instance_key: Instance key of the mount.
        memory: The effective memory.
        git: Command that names the branch.
    """

    def __init__(self, instance_key: str, memory: RuntimeMemory, *, git: str = "git") -> None:
        self._key = instance_key
        self._memory = memory
        self._git = git
        self._captures: OrderedDict[tuple[OperationScope, str], _Capture] = OrderedDict()

    async def facts(self, request: FactsRequest) -> SourceFacts:
        """Tell the view revision; a damaged store is ``unavailable``; its hints say why.

        The hints are ``{reason, file, firstBadIndex?, problem?}``.
        """
        try:
            state = await self._memory.current()
        except StorageError as error:
            return self._unavailable(error)
        if not request.scenario.startswith(_MANAGEMENT):
            await self._capture(request.scope, state)
        return SourceFacts(
            **self._identity(),
            availability="ready",
            revision=state.revision,
            capabilities=MANIFEST.capabilities,
            action_ids=tuple(action.id for action in MANIFEST.actions),
        )

    def _identity(self) -> dict[str, Any]:
        return {
            "source_instance_key": self._key,
            "source_type_id": MANIFEST.type_id,
            "role": MANIFEST.role,
        }

    def _unavailable(self, error: StorageError) -> SourceFacts:
        return SourceFacts(
            **self._identity(),
            availability="unavailable",
            revision=_UNAVAILABLE,
            hints={key: error.details[key] for key in _HINTS if key in error.details},
        )

    async def _capture(self, scope: OperationScope, state: State) -> _Capture:
        branch = await current_branch(scope.workspace_id, git=self._git)
        capture = _Capture(state=state, branch=branch, at=self._memory.clock())
        self._captures[scope, state.revision] = capture
        self._captures.move_to_end((scope, state.revision))
        while len(self._captures) > _CAPTURES:
            self._captures.popitem(last=False)
        return capture

    async def project(self, request: ProjectRequest) -> Contribution:
        """Return the snapshot of the expected revision, cut to the allotted characters.

        Raises:
            ConflictError: ``projection-revision-changed``.
            StorageError: The store is damaged or unreadable.
        """
        capture = self._captures.get((request.scope, request.expected_revision))
        if capture is None:
            capture = await self._capture(request.scope, await self._memory.current())
        state = capture.state
        if state.revision != request.expected_revision:
            raise ConflictError(
                "projection-revision-changed", "runtime memory changed while a View was composed"
            )
        if not request.include_projection:
            return Contribution()
        text = _render.snapshot(state, capture.branch, limits=self._memory.limits, now=capture.at)
        fragment = Fragment(
            id=f"{self._key}/projection",
            source_instance_key=self._key,
            mode=request.mode,
            text=truncate(text, request.max_characters),
            revision=state.revision,
            provenance={"sourceTypeId": MANIFEST.type_id},
        )
        shown = _render.presentation(state, capture.branch)
        return Contribution(fragments=(fragment,), presentation=shown)

    async def mutate(self, request: MutateRequest) -> Receipt:
        """Execute ``mutate`` and return a committed Receipt with the details of §2.2.

        Raises:
            InputError: The input is malformed or names no entry.
            ConflictError: ``entry-ambiguous``.
            RuntimeCapacityError: ``runtime-capacity``; what follows is the Host's decision.
            StorageError: The store cannot be locked, read or written.
        """
        if request.offer.source_action_id not in {action.id for action in MANIFEST.actions}:
            raise InputError("action-unsupported", "Runtime offers the action mutate only")
        mutation = read_mutation(request.input)
        step = self._memory.steps().mutate(mutation)
        change = await self._memory.change(mutation.target, step)
        return create_receipt(
            request,
            completion="committed",
            revision=change.view_revision,
            details=change.answer,
            now=self._memory.clock,
        )

    async def manage(self, request: ManagementRequest) -> ManagementResult:
        """Perform one operation of §2.7; ``revision`` is the view revision after it.

        Raises:
            MnemonError: The operation is unknown, refused or fails.
        """
        if request.mode == "mutate":
            change = await _manage.mutate(self._memory, request)
            return ManagementResult(revision=change.view_revision, value=change.answer)
        value = await _manage.read(self._memory, request)
        try:
            revision = (await self._memory.current()).revision
        except StorageError:
            revision = _UNAVAILABLE
        return ManagementResult(revision=revision, value=value)


def runtime_source(
    config: Config | None = None,
    *,
    clock: Callable[[], datetime] = utc_now,
    timing: LockTiming | None = None,
    git: str = "git",
) -> SourceDefinition:
    """Define the Runtime Source.

    Args:
        config: Configuration of the row; what it sets explicitly wins over the Host's values.
        clock: The time, aware.
        timing: Waiting times of the store locks.
        git: Command that names the branch of a workspace.
    """

    def create(context: SourceContext) -> RuntimeSource:
        key = context.source_instance_key
        chosen = settings(config or Config(), context.configuration, key)
        memory = RuntimeMemory(
            chosen.root, chosen.user_root, limits=chosen.limits, clock=clock, timing=timing
        )
        return RuntimeSource(key, memory, git=git)

    return SourceDefinition(manifest=MANIFEST, create=create)
