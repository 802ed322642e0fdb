"""Documents: one search a turn, shown as compact rows (spec/core.md §15.4)."""

from __future__ import annotations

from typing import Any, Final

import attrs
from dsh_mnemon_core.checks import record
from dsh_mnemon_core.evidence import Evidence, EvidenceItem
from dsh_mnemon_core.strategy import ReadLimits
from dsh_mnemon_core.values import FrozenDict, json_clone

from dsh_mnemon_strategy_default_three_tier._call import Call
from dsh_mnemon_strategy_default_three_tier._envelope import bounded, provenance_of

__all__ = ("Documents",)

RESULTS: Final = 4
LIMITS: Final = ReadLimits(max_results=RESULTS, max_characters=6_000)

_NOT_RUN: Final = (
    "The one Documents search of this turn was already used, so this one was not run. Use what it "
    "returned; recall long-term history only for an exact detail that is still missing."
)
_FOUND: Final = (
    "These are excerpts. Use them and do not search Documents again in this turn; recall long-term "
    "history only for an exact detail that is still missing."
)
_NOTHING: Final = (
    "No document matched, and Documents cannot be searched again in this turn. Recall long-term "
    "history only for an exact detail, or say what is not known."
)
_SUGGESTED: Final = (
    "None of these matched the query; they are merely the most recent documents. Treat one as "
    "evidence only if it plainly concerns the question."
)

_MATCH_FIELDS: Final = (
    ("title", 200),
    ("description", 500),
    ("status", 300),
    ("relativePath", 500),
    ("sourcePaths", 500),
)
_SUGGESTION_FIELDS: Final = _MATCH_FIELDS[:3]


def _shown(item: EvidenceItem, fields: tuple[tuple[str, int], ...]) -> dict[str, Any]:
    given = provenance_of(item)
    present = {key: bounded(given[key], size) for key, size in fields if given.get(key) is not None}
    return {"id": item.id, **present}


def _match(item: EvidenceItem) -> dict[str, Any]:
    row = _shown(item, _MATCH_FIELDS)
    if item.score is not None:
        row["score"] = item.score
    if item.revision is not None and item.revision.isdecimal():
        # An update gives it back as the number it is (D42).
        row["revision"] = int(item.revision)
    if provenance_of(item).get("truncated") is True:
        row["truncated"] = True
    return {**row, "content": item.text}


def _output(evidence: Evidence, query: str, archived: bool) -> Any:
    suggested = [item for item in evidence.items if _is_suggestion(item)]
    rows = [_match(item) for item in evidence.items if not _is_suggestion(item)]
    total = record(evidence.metadata or FrozenDict()).get("total")
    shown: dict[str, Any] = {
        "query": query,
        "includeArchived": archived,
        "total": len(rows) if total is None else total,
        "results": rows,
        "hint": _FOUND if rows else _NOTHING,
    }
    if suggested:
        shown["suggestions"] = [
            {**_shown(item, _SUGGESTION_FIELDS), "excerpt": item.text} for item in suggested
        ]
        shown["suggestionHint"] = _SUGGESTED
    if evidence.unavailable is not None:
        shown["unavailable"] = evidence.unavailable
    return json_clone(shown)


def _is_suggestion(item: EvidenceItem) -> bool:
    return provenance_of(item).get("kind") == "suggestion"


class Documents:
    """The single Documents search of one executing turn."""

    def __init__(self) -> None:
        self._used = False

    async def __call__(self, call: Call) -> Evidence:
        """Search once; every later call, even after a failure, is answered without a read."""
        query = str(call.input.get("query", "")).strip()
        archived = call.input.get("includeArchived") is True
        asked = {"query": query, "includeArchived": archived}
        if self._used:
            return call.unread({**asked, "notRun": True, "results": (), "hint": _NOT_RUN})
        self._used = True
        limit = max(1, call.limit(RESULTS))
        evidence = await call.read({**asked, "limit": limit}, LIMITS)
        return attrs.evolve(evidence, output=_output(evidence, query, archived))
