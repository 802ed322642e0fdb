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

__all__ = ("archive_entries", "entry_source", "stored_exactly")

_IMPORTANCE: Final = {"critical": 5, "normal": 3, "low": 1}
_QUERY_CHARACTERS: Final = 500
_ROWS: Final = 20


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
    ends = await _write(spaces, space, entries)
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
    result = await session.mutate("compact-and-mutate", request, plan["viewRevision"])
    return ManagementResult(
        revision=result.revision,
        value={**to_wire(result.value), "maintenance": _maintenance(space, len(entries))},
    )


async def _write(
    spaces: SourceSession, space: Destination, entries: Sequence[Mapping[str, Any]]
) -> list[LineageEnd]:
    requests = [_request(space, entry) for entry in entries]
    result = await spaces.mutate("remember-many", {"requests": requests})
    answers: Sequence[Mapping[str, Any]] = to_wire(result.value)["results"]
    if len(answers) != len(entries):
        raise SourceFault(
            "archive-unproven", f"{space.name} did not answer for every archived entry"
        )
    ends: list[LineageEnd] = []
    for entry, answer in zip(entries, answers, strict=True):
        end = destination(answer, space.id, entry["content"])
        if end is None and await stored_exactly(spaces, space.id, entry["content"], answer):
            end = _by_digest(space.id, entry["content"], answer)
        if end is None:
            raise SourceFault(
                "archive-unproven",
                f"{space.name} did not prove that an archived entry is durable; MEMORY.md was not "
                "changed, and copies already written are safe duplicates",
                details={"memoryBodyId": space.id, "content": entry["content"]},
            )
        ends.append(end)
    return ends


def _request(space: Destination, entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "memoryBodyId": space.id,
        "content": entry["content"],
        "category": "context",
        "importance": _IMPORTANCE[entry["importance"]],
        "source": "agent",
        "tags": [f"branch:{name}" for name in entry.get("branches", ())],
    }


async def stored_exactly(
    spaces: SourceSession, space_id: str, content: str, answer: Mapping[str, Any]
) -> bool:
    """Tell whether a skipped write is there all the same: recall returns exactly its content."""
    states = {str(answer.get(key, "")).strip().lower() for key in ("action", "status", "state")}
    if "skipped" not in states:
        return False
    found = to_wire(
        await spaces.read(
            "search",
            {
                "query": content[:_QUERY_CHARACTERS],
                "memoryBodyIds": [space_id],
                "mode": "keyword",
                "limit": _ROWS,
            },
        )
    )
    return any(
        item.get("memoryBodyId") == space_id and item["content"].strip() == content.strip()
        for item in found["results"]
    )


def _by_digest(space_id: str, content: str, answer: Mapping[str, Any]) -> LineageEnd | None:
    known = answer.get("replaced_id") or answer.get("id")
    committed = {"action": "stored", **({"id": known} if known else {})}
    return destination(committed, space_id, content)


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
