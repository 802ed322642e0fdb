"""What the routes answer: passages, suggestions, pages (spec/sources.md §3.2, D56; pure)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.sdk import EvidenceItem, truncate

from dsh_mnemon_source_documents._format import excerpt
from dsh_mnemon_source_documents._window import window
from dsh_mnemon_source_documents.contracts import DocumentRecord, Unhealthy

if TYPE_CHECKING:
    from dsh_mnemon_source_documents._search import Result, Results

PASSAGE: Final = 2600
"""Characters shown of one document at most."""

SUGGESTION: Final = 1000
SUGGESTIONS: Final = 3
_SOURCE_PATHS: Final = 8
_NAMED: Final = 20


@attrs.frozen(kw_only=True)
class Answer:
    """The items of an Evidence, whether anything is left out, and what it is about."""

    items: tuple[EvidenceItem, ...]
    truncated: bool
    metadata: dict[str, Any]
    unavailable: str | None = None


def passages(results: Results, query: str, *, characters: int, include_archived: bool) -> Answer:
    """Return the passage of every document that was found, as far as the characters reach."""
    items: list[EvidenceItem] = []
    left, cut = characters, False
    for result in results.found:
        text = window(result.body, query, min(PASSAGE, left))
        is_cut = text != result.body
        cut |= is_cut
        if not text and result.body:
            break
        left -= len(text)
        items.append(_match(result, text, is_cut))
    return Answer(
        items=tuple(items),
        truncated=cut,
        metadata=_metadata(results, query, include_archived),
        unavailable=_unavailable(results.unhealthy),
    )


def suggestions(
    results: Results,
    latest: Sequence[Result],
    query: str,
    *,
    characters: int,
    include_archived: bool,
) -> Answer:
    """Return the beginnings of the documents updated last, where nothing matched."""
    items: list[EvidenceItem] = []
    left = characters
    for result in latest[:SUGGESTIONS]:
        text = truncate(excerpt(result.body), min(SUGGESTION, left))
        if not text and result.body:
            break
        left -= len(text)
        record = result.record
        provenance = {"kind": "suggestion", **_identity(record)}
        items.append(
            EvidenceItem(
                id=record.id,
                text=text,
                score=0,
                revision=str(record.revision),
                provenance=provenance,
            )
        )
    return Answer(
        items=tuple(items),
        truncated=False,
        metadata=_metadata(results, query, include_archived),
        unavailable=_unavailable(results.unhealthy),
    )


def page(record: DocumentRecord, body: str, offset: int, characters: int) -> Answer:
    """Return one page of a body.

    Args:
        record: The document.
        body: Its body.
        offset: First character.
        characters: How many at most.

    Raises:
        InputError: ``offset-out-of-range``.
    """
    if offset and offset >= len(body):
        raise InputError(
            "offset-out-of-range",
            f"{record.title!r} has {len(body)} characters; offset {offset} lies behind them",
            details={"offset": offset, "totalCharacters": len(body)},
        )
    text = body[offset : offset + characters]
    end = offset + len(text)
    place: dict[str, Any] = {"offset": offset, "totalCharacters": len(body)}
    if end < len(body):
        place["nextOffset"] = end
    item = EvidenceItem(
        id=record.id,
        text=text,
        revision=str(record.revision),
        provenance={"kind": "document", **_origin(record), **place},
    )
    return Answer(
        items=(item,),
        truncated=end < len(body),
        metadata={"documentId": record.id, "revision": record.revision, **place},
    )


def _match(result: Result, text: str, is_cut: bool) -> EvidenceItem:
    record = result.record
    provenance: dict[str, Any] = {"kind": "match", **_origin(record)}
    if is_cut:
        # The route that has the rest (D56).
        provenance |= {"truncated": True, "readRoute": "read"}
    return EvidenceItem(
        id=record.id,
        text=text,
        score=result.score,
        revision=str(record.revision),
        provenance=provenance,
    )


def _identity(record: DocumentRecord) -> dict[str, Any]:
    return {
        "documentId": record.id,
        "title": record.title,
        "description": record.description,
        "status": record.status,
    }


def _origin(record: DocumentRecord) -> dict[str, Any]:
    return {
        **_identity(record),
        "relativePath": record.relative_path,
        "sourcePaths": list(record.source_paths[:_SOURCE_PATHS]),
    }


def _metadata(results: Results, query: str, include_archived: bool) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "query": query,
        "includeArchived": include_archived,
        "total": len(results.found),
    }
    if results.unhealthy:
        metadata["unhealthy"] = [item.id for item in results.unhealthy[:_NAMED]]
    if results.unindexed:
        metadata["unindexed"] = results.unindexed
    return metadata


def _unavailable(unhealthy: Sequence[Unhealthy]) -> str | None:
    if not unhealthy:
        return None
    named = "; ".join(f"{truncate(item.title, 60)} ({item.reason})" for item in unhealthy[:5])
    more = f" and {len(unhealthy) - 5} more" if len(unhealthy) > 5 else ""
    return f"Documents whose text cannot be read were left out: {named}{more}."
