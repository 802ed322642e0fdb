"""Pure rules of archiving: proof of a commit, lineage ends, routing text (sources.md §5.3, §5.4).

An entry leaves MEMORY.md, and a document its active folder, only after its content has a proven
destination. What a router model sees is an excerpt; what is written is the original.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, cast
from urllib.parse import quote

import attrs
from dsh_mnemon_core.errors import ConflictError
from dsh_mnemon_core.instant import parse_utc
from dsh_mnemon_core.lineage import LineageEnd

__all__ = (
    "RoutedEntry",
    "RoutingBatch",
    "cold_paths",
    "destination",
    "document_source",
    "is_committed",
    "routing_batches",
    "routing_excerpt",
)

_SEPARATOR: Final = "\n§\n"
_BATCH_CHARACTERS: Final = 1024
_EXCERPT_CHARACTERS: Final = 384
_HEAD, _TAIL = 240, 102
# With head and tail exactly as long as the longest entry that is shown whole.
_GAP: Final = "\n[… cut here; the archive gets all of it]\n"

_TERMINAL: Final = frozenset(
    (
        "added", "committed", "completed", "created", "deleted", "forgotten", "imported",
        "invalidated", "linked", "merged", "removed", "replaced", "stored", "succeeded", "success",
        "updated",
    )
)  # fmt: skip
_COUNTERS: Final = (
    "created", "deleted", "edges_inserted", "imported", "removed", "stored", "updated",
)  # fmt: skip
_IDS: Final = ("id", "eventId", "operationId", "taskId", "resourceId", "documentId")


# -- proof ----------------------------------------------------------------------------------------


def is_committed(result: object) -> bool:
    """Tell whether a mutation result proves that the content is durable.

    A Mnemon receipt, in ``memoryReceipt`` or as the result itself, decides alone: ``committed``,
    ``succeeded`` and a valid commit time. Otherwise every state the Provider names must be a
    terminal success, or a counter must show a change, and nothing may speak against it.

    Args:
        result: Result of ``remember`` or one receipt of ``remember-many``; what is no object
            proves nothing.
    """
    if not isinstance(result, Mapping):
        return False
    fields = cast("Mapping[str, Any]", result)
    if "memoryReceipt" in fields or "completion" in fields:
        return _proves(fields.get("memoryReceipt", fields))
    if _contradicted(fields):
        return False
    states = [fields.get(key) for key in ("action", "status", "state")]
    named = [state.strip().lower() for state in states if isinstance(state, str)]
    if any(state not in _TERMINAL for state in named):
        return False
    changed = any(_count(fields.get(key)) > 0 for key in _COUNTERS)
    claimed = any(fields.get(key) is True for key in ("committed", "durable"))
    return bool(named) or changed or claimed


def _proves(receipt: object) -> bool:
    if not isinstance(receipt, Mapping):
        return False
    fields = cast("Mapping[str, Any]", receipt)
    return (
        fields.get("completion") == "committed"
        and fields.get("status") == "succeeded"
        and parse_utc(fields.get("committedAt")) is not None
    )


def _contradicted(result: Mapping[str, Any]) -> bool:
    errors = result.get("errors")
    failed = len(errors) > 0 if isinstance(errors, (list, tuple)) else _count(errors) > 0  # pyright: ignore[reportUnknownArgumentType]
    return failed or any(
        result.get(key) is False for key in ("success", "ok", "committed", "durable")
    )


def _count(value: object) -> float:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0


# -- lineage --------------------------------------------------------------------------------------


def document_source(document_id: str, revision: int, content_hash: str) -> LineageEnd:
    """Name a document, at one revision, as the source of lineage."""
    return LineageEnd(
        layer_id="documents", reference=f"document:{document_id}:{revision}", digest=content_hash
    )


def destination(result: Mapping[str, Any], memory_body_id: str, content: str) -> LineageEnd | None:
    """Name the place where content became durable.

    Args:
        result: What the Memory Space answered for this content.
        memory_body_id: The Space it was written to.
        content: Exactly what was written.

    Returns:
        The destination, or ``None`` when the result proves no commit.

    Raises:
        ConflictError: ``archive-receipt-foreign``: the result is about another Space.
    """
    named = result.get("memoryBodyId")
    if named is not None and named != memory_body_id:
        raise ConflictError(
            "archive-receipt-foreign", "the receipt of an archived entry names another Memory Space"
        )
    if not is_committed(result):
        return None
    digest = hashlib.sha256(content.encode("utf-8")).hexdigest()
    ids = (result.get(key) for key in _IDS)
    item = next((value for value in ids if isinstance(value, str) and value), None)
    place = f"sha256:{digest}" if item is None else f"item:{_escape(item)}"
    return LineageEnd(
        layer_id="memory-spaces",
        reference=f"memory-space:{_escape(memory_body_id)}/{place}",
        digest=digest,
    )


def _escape(text: str) -> str:
    return quote(text, safe="!~*'()")


def cold_paths(filename: str) -> tuple[str, str]:
    """Return how a cold reference names an archived file: our spelling, then the original's."""
    path = f"documents/archived/{filename}"
    return path, f".mnemon/{path}"


# -- routing --------------------------------------------------------------------------------------


class RoutedEntry(Protocol):
    """What routing needs of a MEMORY.md entry."""

    @property
    def content(self) -> str:
        """Its text."""
        ...

    @property
    def importance(self) -> str:
        """Its rank."""
        ...

    @property
    def branches(self) -> Sequence[str] | None:
        """Its git branches, if any."""
        ...


@attrs.frozen(kw_only=True)
class RoutingBatch:
    """Some entries as a router model sees them.

    Attributes:
        indexes: One-based indexes into the plan's entries, ascending.
        text: One line an entry, joined by the entry separator; at most 1 024 characters unless one
            entry alone is longer.
    """

    indexes: tuple[int, ...]
    text: str


def routing_excerpt(content: str) -> str:
    """Return content of at most 384 characters whole, else its beginning and end around a gap."""
    if len(content) <= _EXCERPT_CHARACTERS:
        return content
    return content[:_HEAD] + _GAP + content[-_TAIL:]


def routing_batches(entries: Sequence[RoutedEntry]) -> tuple[RoutingBatch, ...]:
    """Deal entries into batches for a router model, in order and each exactly once."""
    batches: list[list[tuple[int, str]]] = []
    room = 0
    for index, entry in enumerate(entries, 1):
        line = _routing_line(index, entry)
        if len(_SEPARATOR) + len(line) > room or not batches:
            batches.append([])
            room = _BATCH_CHARACTERS + len(_SEPARATOR)
        batches[-1].append((index, line))
        room -= len(_SEPARATOR) + len(line)
    return tuple(
        RoutingBatch(
            indexes=tuple(index for index, _ in batch),
            text=_SEPARATOR.join(line for _, line in batch),
        )
        for batch in batches
    )


def _routing_line(index: int, entry: RoutedEntry) -> str:
    branches = f" branches={','.join(entry.branches)}" if entry.branches else ""
    return f"{index}. [importance={entry.importance}{branches}] {routing_excerpt(entry.content)}"
