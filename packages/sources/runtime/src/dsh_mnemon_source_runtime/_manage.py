"""Management operations of the Runtime Source (spec/sources.md §2.7)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar, cast
from uuid import uuid4

from dsh_mnemon_core.errors import InputError, ManagementError
from dsh_mnemon_core.instant import parse_utc
from dsh_mnemon_core.sdk import ManagementRequest, integer, migration_lineage, record, text

from dsh_mnemon_source_runtime._capacity import Candidate
from dsh_mnemon_source_runtime._changes import Change
from dsh_mnemon_source_runtime._memory import RuntimeMemory
from dsh_mnemon_source_runtime.actions import read_mutation
from dsh_mnemon_source_runtime.contracts import IMPORTANCES, TARGETS

_MAX_COMPACTED: Final = 10_000
_MAX_EDITED: Final = 4_000_000


Operation = TypeVar("Operation")


async def read(memory: RuntimeMemory, request: ManagementRequest) -> Any:
    """Perform a management read.

    Raises:
        InputError: ``operation-unsupported`` or a malformed input.
    """
    return await _chosen(_READS, request)(memory, request.input)


async def mutate(memory: RuntimeMemory, request: ManagementRequest) -> Change:
    """Perform a confirmed management mutation; its revision is compared under the lock.

    Raises:
        ManagementError: ``management-unconfirmed`` or ``management-revision-conflict``.
        InputError: ``operation-unsupported`` or a malformed input.
    """
    operation = _chosen(_MUTATIONS, request)
    if request.confirmed is not True or not request.expected_revision:
        raise ManagementError(
            "management-unconfirmed",
            "this change needs a confirmation and the revision it was prepared for",
        )
    return await operation(memory, request.input, request.expected_revision)


def _chosen(operations: Mapping[str, Operation], request: ManagementRequest) -> Operation:
    try:
        return operations[request.operation]
    except KeyError:
        raise InputError(
            "operation-unsupported",
            f"Runtime has no management {request.mode} {request.operation!r}; it has"
            f" {', '.join(operations)}",
        ) from None


async def _snapshot(memory: RuntimeMemory, _input: Any) -> Any:
    return await memory.describe()


async def _plan(memory: RuntimeMemory, value: Any) -> Any:
    return await memory.plan(read_mutation(value))


async def _diagnose(memory: RuntimeMemory, _input: Any) -> Any:
    return await memory.diagnose()


async def _archived(memory: RuntimeMemory, value: Any) -> Any:
    page = record({} if value is None else value, "input")
    return await memory.archived(
        limit=integer(page.get("limit"), "limit", 1, 1000, fallback=200),
        offset=integer(page.get("offset"), "offset", 0, 1_000_000_000, fallback=0),
    )


async def _edits(memory: RuntimeMemory, _input: Any) -> Any:
    return await memory.hand_edits()


async def _compare(memory: RuntimeMemory, value: Any) -> Any:
    edited = record(value, "input")
    target = edited.get("target")
    if target not in TARGETS:
        raise InputError("target-unsupported", "target must be memory or user")
    content = edited.get("text")
    if not isinstance(content, str):
        raise InputError("text-not-string", "text must be a string")
    if len(content) > _MAX_EDITED:
        raise InputError("text-too-long", f"text is too long (max {_MAX_EDITED} characters)")
    return await memory.compare(target, content, parse_utc(edited.get("editedAt")))


async def _mutate(memory: RuntimeMemory, value: Any, fence: str) -> Change:
    mutation = read_mutation(value)
    return await memory.change(mutation.target, memory.steps().mutate(mutation), fence=fence)


async def _compact(memory: RuntimeMemory, value: Any, fence: str) -> Change:
    request = record(value, "input")
    mutation = read_mutation(request.get("mutation"))
    step = memory.steps().compact(
        mutation,
        _candidates(request.get("compacted")),
        revision=text(request.get("revision"), "revision", 500),
        max_bytes=request.get("maxBytes"),
        lineage=migration_lineage(request.get("lineage")),
    )
    return await memory.change(mutation.target, step, fence=fence)


async def _archive(memory: RuntimeMemory, value: Any, fence: str) -> Change:
    request = record(value, "input")
    mutation = read_mutation(request.get("mutation"))
    step = memory.steps().archive(
        mutation,
        revision=text(request.get("revision"), "revision", 500),
        run_id=f"host-{uuid4()}",
        max_bytes=request.get("maxBytes"),
    )
    return await memory.change(mutation.target, step, fence=fence)


def _candidates(value: Any) -> tuple[Candidate, ...]:
    if not isinstance(value, (list, tuple)) or len(cast("Sequence[Any]", value)) > _MAX_COMPACTED:
        raise InputError("compacted-invalid", "compacted must be an array of entries")
    return tuple(_candidate(item) for item in cast("Sequence[Any]", value))


def _candidate(value: Any) -> Candidate:
    entry = record(value, "compacted entry")
    content, importance, branches = (
        entry.get(key) for key in ("content", "importance", "branches")
    )
    if not isinstance(content, str):
        raise InputError("text-not-string", "compacted content must be a string")
    if importance not in IMPORTANCES:
        raise InputError(
            "importance-unsupported", f"compacted importance is one of {', '.join(IMPORTANCES)}"
        )
    if branches is not None and not isinstance(branches, (list, tuple)):
        raise InputError("branches-invalid", "compacted branches must be an array")
    return Candidate(
        content=content,
        importance=importance,
        branches=None if branches is None else tuple(cast("Sequence[Any]", branches)),
    )


_READS: Final[Mapping[str, Callable[[RuntimeMemory, Any], Awaitable[Any]]]] = {
    "snapshot": _snapshot,
    "maintenance-plan": _plan,
    "diagnose": _diagnose,
    "archived": _archived,
    "edits": _edits,
    "compare-edit": _compare,
}
_MUTATIONS: Final[Mapping[str, Callable[[RuntimeMemory, Any, str], Awaitable[Change]]]] = {
    "mutate": _mutate,
    "compact-and-mutate": _compact,
    "archive-and-mutate": _archive,
}
