"""Management operations of the Documents Source (spec/sources.md §3.8)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

import attrs
from dsh_mnemon_core.errors import InputError, ManagementError
from dsh_mnemon_core.instant import iso_utc
from dsh_mnemon_core.sdk import (
    ManagementRequest,
    integer,
    migration_lineage,
    optional_text,
    record,
    string_array,
    text,
)

from dsh_mnemon_source_documents._changes import ARCHIVED_LOCALLY, Step, Steps
from dsh_mnemon_source_documents._format import excerpt
from dsh_mnemon_source_documents._inputs import read_import, read_mutation, read_query
from dsh_mnemon_source_documents._library import Library
from dsh_mnemon_source_documents._search import MAX_RESULTS, Request
from dsh_mnemon_source_documents._window import passage

_MAX_REVISION: Final = 2**53 - 1
_DEFAULT_LIMIT: Final = 20

_MAX_PATH: Final = 4096

Operation = TypeVar("Operation")
_Mutation: TypeAlias = Callable[[Library, str, Any, str], Awaitable[tuple[str, dict[str, Any]]]]


async def read(library: Library, workspace: str, request: ManagementRequest) -> Any:
    """Perform a management read.

    Raises:
        InputError: ``operation-unsupported`` or a malformed input.
    """
    return await _chosen(_READS, request)(library, workspace, request.input)


async def mutate(
    library: Library, workspace: str, request: ManagementRequest
) -> tuple[str, dict[str, Any]]:
    """Perform a confirmed management mutation; its revision is compared under the lock.

    Returns:
        The index revision after it, and the answer.

    Raises:
        ManagementError: ``management-unconfirmed``.
        DocumentConflictError: ``revision-conflict``.
        InputError: ``operation-unsupported`` or a malformed input.
    """
    operation = _chosen(_MUTATIONS, request)
    if request.confirmed is not True or not request.expected_revision:
        raise ManagementError(
            "management-unconfirmed",
            "this change needs a confirmation and the revision it was prepared for",
        )
    return await operation(library, workspace, request.input, request.expected_revision)


def _chosen(operations: Mapping[str, Operation], request: ManagementRequest) -> Operation:
    try:
        return operations[request.operation]
    except KeyError:
        raise InputError(
            "operation-unsupported",
            f"Documents has no management {request.mode} {request.operation!r}; it has"
            f" {', '.join(operations)}",
        ) from None


async def _snapshot(library: Library, workspace: str, _input: Any) -> Any:
    return await library.describe(workspace)


async def _document(library: Library, _workspace: str, value: Any) -> Any:
    document_id = text(record(value, "input").get("id"), "id", 300)
    found, body = await library.read(document_id)
    return {**found.to_json(), "content": body}


async def _plan(library: Library, workspace: str, value: Any) -> Any:
    steps = library.steps(workspace)
    given = record(value, "input")
    if given.get("action") == "restore":
        return await library.plan(steps, steps.prepare_restore(*_restored(given)))
    return await library.plan(steps, steps.prepare(read_mutation(given)))


async def _import_plan(library: Library, workspace: str, value: Any) -> Any:
    return await library.plan_intake(workspace, read_import(value))


async def _import(
    library: Library, workspace: str, value: Any, fence: str
) -> tuple[str, dict[str, Any]]:
    return await library.take_in(workspace, read_import(value), fence=fence)


async def _search(library: Library, _workspace: str, value: Any) -> Any:
    given = record({} if value is None else value, "input")
    request = Request(
        query=read_query(given.get("query")),
        limit=_limit(given.get("limit")),
        include_archived=given.get("includeArchived") is True,
    )
    results = await library.search(request)
    answer: dict[str, Any] = {
        "query": request.query,
        "includeArchived": request.include_archived,
        "total": len(results.found),
        "generatedAt": iso_utc(library.clock()),
        "results": [
            {
                **item.record.to_json(),
                "content": item.body,
                "score": item.score,
                "excerpt": excerpt(item.body),
                "passage": passage(item.body, request.query),
            }
            for item in results.found
        ],
    }
    if results.unhealthy:
        answer["unhealthy"] = [attrs.asdict(item) for item in results.unhealthy]
    if results.unindexed:
        answer["unindexed"] = results.unindexed
    return answer


def _limit(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return _DEFAULT_LIMIT
    return int(min(max(value, 1), MAX_RESULTS))


async def _history(library: Library, _workspace: str, value: Any) -> Any:
    given = record(value, "input")
    return await library.history(
        text(given.get("id"), "id", 300), _revision(given.get("revision"), "revision")
    )


async def _diagnose(library: Library, _workspace: str, _input: Any) -> Any:
    return await library.diagnose()


def _mutate(steps: Steps, value: Any) -> Step:
    return steps.mutate(read_mutation(value))


def _archive(steps: Steps, value: Any) -> Step:
    given = record(value, "input")
    spaces = given.get("memoryBodyIds")
    return steps.archive(
        text(given.get("id"), "id", 300),
        expected=_revision(given.get("documentRevision"), "documentRevision"),
        summary=optional_text(given.get("summary"), "summary", 10_000) or ARCHIVED_LOCALLY,
        memory_bodies=() if spaces is None else string_array(spaces, "memoryBodyIds", 1000),
        lineage=migration_lineage(given.get("lineage")),
    )


def _restore(steps: Steps, value: Any) -> Step:
    return steps.restore(*_restored(value))


def _restored(value: Any) -> tuple[str, int | None]:
    given = record(value, "input")
    return (
        text(given.get("id"), "id", 300),
        _revision(given.get("documentRevision"), "documentRevision"),
    )


async def _adopt(
    library: Library, workspace: str, value: Any, fence: str
) -> tuple[str, dict[str, Any]]:
    given = record({} if value is None else value, "input")
    file = given.get("file")
    wanted = None if file is None else text(file, "file", _MAX_PATH)
    return await library.adopt(workspace, wanted, fence=fence)


def _step(make: Callable[[Steps, Any], Step]) -> _Mutation:
    """Return the operation that takes one step."""

    async def take(
        library: Library, workspace: str, value: Any, fence: str
    ) -> tuple[str, dict[str, Any]]:
        step = make(library.steps(workspace), value)
        return await library.change(workspace, step, fence=fence)

    return take


def _revision(value: object, label: str) -> int | None:
    return None if value is None else integer(value, label, 1, _MAX_REVISION)


_READS: Final[Mapping[str, Callable[[Library, str, Any], Awaitable[Any]]]] = {
    "snapshot": _snapshot,
    "document": _document,
    "capacity-plan": _plan,
    "import-plan": _import_plan,
    "search": _search,
    "history": _history,
    "diagnose": _diagnose,
}
_MUTATIONS: Final[Mapping[str, _Mutation]] = {
    "mutate": _step(_mutate),
    "archive": _step(_archive),
    "restore": _step(_restore),
    "adopt": _adopt,
    "import": _import,
}
