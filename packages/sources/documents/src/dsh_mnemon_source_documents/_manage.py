"""Management operations of the Documents Source (spec/sources.md §3.8)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

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
from dsh_mnemon_source_documents._inputs import read_mutation, read_query
from dsh_mnemon_source_documents._library import Library
from dsh_mnemon_source_documents._search import MAX_RESULTS, Request

_MAX_REVISION: Final = 2**53 - 1
_DEFAULT_LIMIT: Final = 20

Operation = TypeVar("Operation")


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
    step = operation(library.steps(workspace), request.input)
    return await library.change(workspace, step, fence=request.expected_revision)


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
    return await library.plan(workspace, read_mutation(value))


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
            }
            for item in results.found
        ],
    }
    if results.unhealthy:
        answer["unhealthy"] = [attrs.asdict(item) for item in results.unhealthy]
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
    given = record(value, "input")
    return steps.restore(
        text(given.get("id"), "id", 300),
        _revision(given.get("documentRevision"), "documentRevision"),
    )


def _revision(value: object, label: str) -> int | None:
    return None if value is None else integer(value, label, 1, _MAX_REVISION)


_READS: Final[Mapping[str, Callable[[Library, str, Any], Awaitable[Any]]]] = {
    "snapshot": _snapshot,
    "document": _document,
    "capacity-plan": _plan,
    "search": _search,
    "history": _history,
    "diagnose": _diagnose,
}
_MUTATIONS: Final[Mapping[str, Callable[[Steps, Any], Step]]] = {
    "mutate": _mutate,
    "archive": _archive,
    "restore": _restore,
}
