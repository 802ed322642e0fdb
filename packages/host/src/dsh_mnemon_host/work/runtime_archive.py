"""MEMORY.md entries move to Memory Spaces when they no longer fit (sources.md §5.3, host.md §15.2).

Every entry is written first and proven second; only then does Runtime compact. What fails later
leaves the hot entries and the copies alone: a copy is a safe duplicate (D11).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import uuid4

from dsh_mnemon_core.errors import ConflictError, SourceFault
from dsh_mnemon_core.lineage import Lineage, LineageEnd
from dsh_mnemon_core.source import ManagementResult
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.source_session import SourceSession
from dsh_mnemon_host.work.archive import destination
from dsh_mnemon_host.work.destinations import Destination, Destinations
from dsh_mnemon_host.work.telling import Telling

__all__ = ("archive_entries", "entry_source", "remember_exactly")

_IMPORTANCE: Final = {"critical": 5, "normal": 3, "low": 1}
_QUERY_CHARACTERS: Final = 500
_ROWS: Final = 20
_PAGE: Final = 1000
_BATCH: Final = 1000
_TAG_CHARACTERS: Final = 100
"""As many as every Provider keeps of a tag; names of branches are ASCII, and lineage has them."""


async def archive_entries(
    session: SourceSession,
    mutation: Any,
    plan: Mapping[str, Any],
    budget: int,
    destinations: Destinations,
) -> ManagementResult:
    """Write every compactable entry to a Memory Space, then compact and commit the mutation.

    Args:
        session: Management of the Runtime Source.
        mutation: The pending mutation.
        plan: What ``maintenance-plan`` answered.
        budget: Bytes that may stay hot.
        destinations: Where entries may go.

    Returns:
        The result of ``compact-and-mutate``, with ``maintenance`` in its value.

    Raises:
        ConflictError: ``revision-conflict``: MEMORY.md changed since the plan; nothing was
            written.
        SourceFault: ``archive-unproven``: an entry has no proven destination; the hot entries
            are all there.
    """
    spaces, space = destinations.chosen()
    again = await session.read("maintenance-plan", mutation)
    if again["revision"] != plan["revision"]:
        raise ConflictError(
            "revision-conflict",
            "MEMORY.md changed while its archive was prepared; no archive writes were attempted",
            retryable=True,
        )
    entries: Sequence[Mapping[str, Any]] = to_wire(plan["entries"])
    ends = await _written(spaces, space, entries)
    lineage = [
        Lineage(source=entry_source(plan["revision"], place, entry), destination=end)
        for place, (entry, end) in enumerate(zip(entries, ends, strict=True), 1)
    ]
    request = {
        "revision": plan["revision"],
        "mutation": mutation,
        "compacted": [_kept(entry) for entry in entries],
        "maxBytes": budget,
        "lineage": [to_wire(item) for item in lineage],
    }
    # Every entry has a copy by now; a copy is a safe duplicate, and stays (D11).
    with Telling(lambda: {"copies": [end.reference for end in ends]}):
        result = await session.mutate("compact-and-mutate", request, plan["viewRevision"])
    return ManagementResult(
        revision=result.revision,
        value={**to_wire(result.value), "maintenance": _maintenance(space, len(entries))},
    )


async def _written(
    spaces: SourceSession, space: Destination, entries: Sequence[Mapping[str, Any]]
) -> list[LineageEnd]:
    """Write every entry, and return where each is proven to be.

    Raises:
        ConflictError: ``archive-receipt-foreign``.
        SourceFault: ``archive-unproven``.
    """
    requests = [_request(space, entry) for entry in entries]
    contents = [str(entry["content"]) for entry in entries]
    ends: list[LineageEnd] = []
    for start in range(0, len(requests), _BATCH):
        batch = slice(start, start + _BATCH)
        ends += await remember_exactly(spaces, space, requests[batch], contents[batch])
    return ends


async def remember_exactly(
    spaces: SourceSession,
    space: Destination,
    requests: Sequence[Mapping[str, Any]],
    contents: Sequence[str],
) -> list[LineageEnd]:
    """Write at most a thousand texts to one Space, and return where each is proven to be.

    Raises:
        ConflictError: ``archive-receipt-foreign``: a receipt names another Space.
        SourceFault: ``archive-unproven``: one of them is not proven durable.
    """
    result = await spaces.mutate("remember-many", {"requests": list(requests)})
    answers: Sequence[Mapping[str, Any]] = to_wire(result.value).get("results", ())
    if len(answers) != len(contents):
        raise SourceFault(
            "archive-unproven",
            f"{space.name} did not answer for every text; what it took is a safe duplicate",
            details={"memoryBodyId": space.id},
        )
    ends: list[LineageEnd] = []
    for content, answer in zip(contents, answers, strict=True):
        end = await _proven(spaces, space, content, answer)
        if end is None:
            raise SourceFault(
                "archive-unproven",
                f"{space.name} did not prove that a text is durable, so nothing was moved; what it "
                "took is a safe duplicate",
                details={"memoryBodyId": space.id, "content": content},
            )
        ends.append(end)
    return ends


async def _proven(
    spaces: SourceSession, space: Destination, content: str, answer: Mapping[str, Any]
) -> LineageEnd | None:
    """Return where a text is: by its receipt, or because it was there before."""
    end = destination(answer, space.id, content)
    if end is None and await _stored_before(spaces, space.id, content, answer):
        known = {"id": answer.get("id") or answer.get("replaced_id")}
        end = destination({"action": "stored", **known}, space.id, content)
    return end


def _request(space: Destination, entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "memoryBodyId": space.id,
        "content": entry["content"],
        "category": "context",
        "importance": _IMPORTANCE[entry["importance"]],
        "source": "agent",
        "tags": [f"branch:{name}"[:_TAG_CHARACTERS] for name in entry.get("branches", ())],
    }


async def _stored_before(
    spaces: SourceSession, space_id: str, content: str, answer: Mapping[str, Any]
) -> bool:
    """Tell whether a skipped write is there all the same: a read returns exactly its content.

    No search finds words that it leaves out, such as a lone exclamation mark, so the Space is
    leafed through as well.
    """
    states = {str(answer.get(key, "")).strip().lower() for key in ("action", "status", "state")}
    if "skipped" not in states:
        return False
    asked = {"query": content[:_QUERY_CHARACTERS], "memoryBodyIds": [space_id]}
    search = {**asked, "mode": "keyword", "limit": _ROWS}
    found = to_wire(await spaces.read("search", search))["results"]
    if _holds(found, space_id, content):
        return True
    async for page in spaces.pages("list", {**asked, "limit": _PAGE}):
        if _holds(page["items"], space_id, content):
            return True
    return False


def _holds(rows: Sequence[Mapping[str, Any]], space_id: str, content: str) -> bool:
    return any(
        row.get("memoryBodyId") == space_id and row["content"].strip() == content.strip()
        for row in rows
    )


def _kept(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry as ``compact-and-mutate`` takes it."""
    return {key: entry[key] for key in ("content", "importance", "branches") if key in entry}


def entry_source(revision: str, place: int, entry: Mapping[str, Any]) -> LineageEnd:
    """Name an entry of MEMORY.md, by its one-based place in a plan, as the source of lineage."""
    shown = json.dumps(_kept(entry), ensure_ascii=False, separators=(",", ":"))
    return LineageEnd(
        layer_id="runtime",
        reference=f"runtime:{revision}:memory:{place}",
        digest=hashlib.sha256(shown.encode("utf-8")).hexdigest(),
    )


def _maintenance(space: Destination, count: int) -> dict[str, Any]:
    return {
        "kind": "mnemon-archive",
        "runId": f"host-{uuid4()}",
        "provider": "host",
        "summary": f"MEMORY.md was full: {count} entries were copied to {space.name!r}, and those "
        "that no longer fit left MEMORY.md.",
        "memoryBodyIds": [space.id],
    }
