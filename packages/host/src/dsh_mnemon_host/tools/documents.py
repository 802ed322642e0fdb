"""``mnemon_document_search``, ``_read`` and ``_create`` (host.md §8.4, §8.5, D56)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeAlias

from dsh_mnemon_core.checks import record
from dsh_mnemon_core.evidence import Evidence, EvidenceItem
from dsh_mnemon_core.values import FrozenDict
from dsh_mnemon_core.wire import to_wire
from pydantic import BaseModel, ConfigDict, Field

from dsh_mnemon_host.bindings import DOCUMENTS_CREATE, DOCUMENTS_READ, DOCUMENTS_SEARCH
from dsh_mnemon_host.executions import Execution
from dsh_mnemon_host.tools.operation import act, read, receipt_result, row, shown_or
from dsh_mnemon_host.work.actions import Actions

__all__ = (
    "CREATE_DESCRIPTION",
    "READ_DESCRIPTION",
    "SEARCH_DESCRIPTION",
    "CreateInput",
    "ReadInput",
    "SearchInput",
    "create_document",
    "for_model",
    "read_document",
    "search_documents",
)

SEARCH_DESCRIPTION: Final = (
    "Search the working documents: plans, designs, findings, how-tos of this project. An empty "
    "query lists the most recent ones. Rows are excerpts around the words of the query; truncated "
    "marks a body that is longer, to be read whole with mnemon_document_read. Once a turn."
)
READ_DESCRIPTION: Final = (
    "Read one document whole, in pages of at most 12000 characters; nextOffset names the next "
    "page. Do this before you rewrite a document: an update replaces all of its content and needs "
    "the revision given here."
)
CREATE_DESCRIPTION: Final = (
    "Create a working document in Markdown for lasting, reusable material that is too long for an "
    "entry of hot memory. Search first: an existing document is updated, not doubled. It never "
    "changes or archives another document."
)
_FIGURES: Final = (
    "generatedAt",
    "revision",
    "limitBytes",
    "activeBytes",
    "activeCount",
    "archivedCount",
    "total",
)
Title: TypeAlias = Annotated[str, Field(min_length=1, max_length=160)]
Summary: TypeAlias = Annotated[str, Field(min_length=1, max_length=600)]
Body: TypeAlias = Annotated[str, Field(min_length=1, max_length=1_000_000)]
Id: TypeAlias = Annotated[str, Field(min_length=1, max_length=300)]
Paths: TypeAlias = Annotated[
    tuple[str, ...] | None,
    Field(
        alias="sourcePaths",
        max_length=50,
        description="Files of the workspace it is about, relative paths.",
    ),
]


class SearchInput(BaseModel):
    """Arguments of ``mnemon_document_search``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    query: Annotated[
        str, Field(max_length=2000, description="Words of the question; empty lists recent ones.")
    ]
    include_archived: Annotated[
        bool | None,
        Field(alias="includeArchived", description="Search archived documents as well."),
    ] = None
    limit: Annotated[int | None, Field(ge=1, description="At most this many rows.")] = None


class ReadInput(BaseModel):
    """Arguments of ``mnemon_document_read``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    id: Annotated[Id, Field(description="Id of the document.")]
    offset: Annotated[
        int | None, Field(ge=0, description="Character to start at: nextOffset of the page before.")
    ] = None


class CreateInput(BaseModel):
    """Arguments of ``mnemon_document_create``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    title: Annotated[Title, Field(description="What it is about.")]
    content: Annotated[Body, Field(description="The body, Markdown.")]
    description: Annotated[Summary | None, Field(description="One or two sentences on it.")] = None
    source_paths: Paths = None


async def search_documents(execution: Execution, arguments: SearchInput) -> dict[str, Any]:
    """Search through the View's route (host.md §8.4)."""
    input = arguments.model_dump(mode="json", by_alias=True, exclude_none=True)
    evidence = await read(execution, DOCUMENTS_SEARCH, input)
    return shown_or(evidence, _found(evidence, arguments))


def _found(evidence: Evidence, arguments: SearchInput) -> dict[str, Any]:
    """Show a search where the Strategy has no form of its own."""
    matches = [item for item in evidence.items if _kind(item) != "suggestion"]
    suggested = [item for item in evidence.items if _kind(item) == "suggestion"]
    total = record(evidence.metadata or FrozenDict()).get("total")
    shown: dict[str, Any] = {
        "query": arguments.query,
        "includeArchived": arguments.include_archived is True,
        "total": len(matches) if total is None else total,
        "results": [_row(item) for item in matches],
    }
    if suggested:
        shown["suggestions"] = [_row(item) for item in suggested]
    if evidence.unavailable is not None:
        shown["unavailable"] = evidence.unavailable
    return shown


def _kind(item: EvidenceItem) -> Any:
    return row(item).get("kind")


def _row(item: EvidenceItem) -> dict[str, Any]:
    shown = row(item)
    revision = str(shown.get("revision", ""))
    # An update gives it back as the number it is (D42).
    return {**shown, "revision": int(revision)} if revision.isdecimal() else shown


async def read_document(execution: Execution, arguments: ReadInput) -> dict[str, Any]:
    """Read one page of a document: ``{id, content, revision, nextOffset?, …}`` (D56)."""
    input = arguments.model_dump(mode="json", by_alias=True, exclude_none=True)
    evidence = await read(execution, DOCUMENTS_READ, input)
    page = {key: value for item in evidence.items[:1] for key, value in row(item).items()}
    known = record(to_wire(evidence.metadata or FrozenDict()))
    missing = {} if evidence.unavailable is None else {"unavailable": evidence.unavailable}
    return shown_or(evidence, {**page, **known, **missing})


async def create_document(
    actions: Actions, execution: Execution, arguments: CreateInput
) -> dict[str, Any]:
    """Create a document through the View's ``create`` offer; never makes room for it."""
    input = arguments.model_dump(mode="json", by_alias=True, exclude_none=True)
    session = {"sessionIds": [execution.agent_id]}
    receipt = await act(actions, execution, DOCUMENTS_CREATE, {**input, **session})
    return for_model(receipt_result(receipt))


def for_model(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a change with the figures of its snapshot alone.

    A model has no use for paths of this machine, and would pay for the list of every document.
    """
    snapshot: Mapping[str, Any] = answer.get("snapshot", {})
    shown = {key: snapshot[key] for key in _FIGURES if key in snapshot}
    return {**answer, "snapshot": shown} if shown else dict(answer)
