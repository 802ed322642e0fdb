"""Archiving a document: index first, move second (sources.md §5.4, host.md §16.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
from dsh_mnemon_core.errors import ConflictError
from dsh_mnemon_core.lineage import Lineage, LineageEnd
from dsh_mnemon_core.source import ManagementResult
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.source_session import SourceSession
from dsh_mnemon_host.work.archive import cold_paths, destination, document_source
from dsh_mnemon_host.work.destinations import Destination, Destinations
from dsh_mnemon_host.work.runtime_archive import remember_exactly

__all__ = ("ArchivedDocument", "archive_document")

_SUMMARY_CHARACTERS: Final = 1000
_ROWS: Final = 50


@attrs.frozen(kw_only=True)
class ArchivedDocument:
    """What became of one archived document.

    Attributes:
        id: Its id.
        memory_body_ids: Spaces that hold its index; none when it was archived locally.
        result: What the Source answered.
    """

    id: str
    memory_body_ids: tuple[str, ...]
    result: ManagementResult


async def archive_document(
    session: SourceSession,
    document_id: str,
    destinations: Destinations,
    revision: int | None = None,
) -> ArchivedDocument:
    """Index a document in a Memory Space, then move it; without an index where there is none.

    Without a model its description, else the beginning of its body, is the summary (D39).

    Args:
        session: Management of the Documents Source.
        document_id: The document.
        destinations: Where its index may go.
        revision: The revision the caller has seen, when it has to be that one.

    Raises:
        AuthorityError: ``document-archive-out-of-scope``.
        ConflictError: ``revision-conflict``; the document stays active.
        SourceFault: ``archive-unproven``: the index is not proven durable; nothing was moved.
        MnemonError: What either Source refuses.
    """
    document = to_wire(await session.read("document", {"id": document_id}))
    if revision is not None and document["revision"] != revision:
        raise ConflictError(
            "revision-conflict",
            f"document {document_id} is at revision {document['revision']}, not {revision}",
            details={"id": document_id, "revision": document["revision"]},
        )
    if document["status"] != "active":
        raise ConflictError(
            "document-archived",
            f"document {document_id} is archived already",
            details={"id": document_id},
        )
    destinations.require_scope("document-archive-out-of-scope", f"document {document_id}")
    request: dict[str, Any] = {"id": document_id, "documentRevision": document["revision"]}
    if not destinations.anywhere:
        return ArchivedDocument(
            id=document_id,
            memory_body_ids=(),
            result=await session.mutate("archive", {**request, "memoryBodyIds": []}),
        )
    spaces, space = destinations.chosen()
    summary = _summary(document)
    end = await _indexed(spaces, space, document, summary)
    if end is None:
        await _check_unchanged(session, document)
        end = await _index(spaces, space, document, summary)
    source = document_source(document_id, document["revision"], document["contentHash"])
    lineage = to_wire(Lineage(source=source, destination=end))
    indexed = {"summary": summary, "memoryBodyIds": [space.id], "lineage": [lineage]}
    return ArchivedDocument(
        id=document_id,
        memory_body_ids=(space.id,),
        result=await session.mutate("archive", {**request, **indexed}),
    )


def _summary(document: Mapping[str, Any]) -> str:
    text = str(document.get("description") or "").strip() or str(document["content"]).strip()
    return text[:_SUMMARY_CHARACTERS]


async def _check_unchanged(session: SourceSession, document: Mapping[str, Any]) -> None:
    now = to_wire(await session.read("document", {"id": document["id"]}))
    for key in ("status", "revision", "contentHash"):
        if now[key] != document[key]:
            raise ConflictError(
                "revision-conflict",
                "the document changed before it was indexed; it stays active, nothing was written",
                details={"id": document["id"], "revision": now["revision"]},
            )


def _filename(document: Mapping[str, Any]) -> str:
    return str(document["relativePath"]).rsplit("/", 1)[-1]


def _reference(document: Mapping[str, Any], summary: str) -> str:
    """Return the exact text of the index entry."""
    return "\n".join(
        (
            f"Document: {document['title']}",
            summary,
            f"Document ID: {document['id']}",
            f"Cold path: {cold_paths(_filename(document))[0]}",
            f"Content SHA-256: {document['contentHash']}",
        )
    )


async def _indexed(
    spaces: SourceSession, space: Destination, document: Mapping[str, Any], summary: str
) -> LineageEnd | None:
    """Return an index entry that is there already, ours or the original's."""
    found = to_wire(
        await spaces.read(
            "search",
            {
                "query": document["contentHash"],
                "memoryBodyIds": [space.id],
                "mode": "keyword",
                "limit": _ROWS,
            },
        )
    )
    paths = cold_paths(_filename(document))
    for item in found["results"]:
        content = item["content"]
        if document["contentHash"] in content and any(path in content for path in paths):
            return destination({"action": "stored", "id": item["id"]}, space.id, content)
    return None


async def _index(
    spaces: SourceSession, space: Destination, document: Mapping[str, Any], summary: str
) -> LineageEnd:
    content = _reference(document, summary)
    request = {
        "memoryBodyId": space.id,
        "content": content,
        "category": "context",
        "source": "agent",
    }
    (end,) = await remember_exactly(spaces, space, [request], [content])
    return end
