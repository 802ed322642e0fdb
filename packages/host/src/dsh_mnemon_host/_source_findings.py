"""What ``status`` and ``doctor`` say about the Sources (D25; pure)."""

from __future__ import annotations

from collections.abc import Sequence

from dsh_mnemon_core.values import JsonObject

from dsh_mnemon_host._finding import Finding
from dsh_mnemon_host._store_findings import unreadable_store

__all__ = ("shortcoming", "source_finding")

_NO_SPACE = (
    "no Memory Space is active yet",
    "Make one with `dsh-mnemon spaces create NAME`, or use one that there is with "
    "`dsh-mnemon spaces activate NAME`.",
)
_UNTOLD = (
    "it does not say why",
    "The turn goes on with what it has; `dsh-mnemon status --json` shows all that it tells.",
)


def shortcoming(source: JsonObject) -> tuple[str, str] | None:
    """Say why a Source is less than ready, and what to do about it.

    Args:
        source: One Source of the catalogue, with the ``diagnostic`` of one that did not answer.

    Returns:
        Reason and remedy; nothing for one that is ready.
    """
    hints: JsonObject = source.get("hints", {})
    outage: JsonObject = source.get("diagnostic", {})
    if source["availability"] == "ready":
        return None
    if source["availability"] == "unavailable":
        reason: str = hints.get("reason") or outage.get("message") or "it cannot be read"
        return reason, str(hints.get("remedy") or "Look at the log, then start again.")
    if "reason" in hints:
        return str(hints["reason"]), str(hints.get("remedy") or _UNTOLD[1])
    return _NO_SPACE if hints.get("activeCount") == 0 else _UNTOLD


def source_finding(source: JsonObject, stores: Sequence[JsonObject]) -> Finding:
    """Judge one Source; what is amiss in a file of its own is an error.

    Args:
        source: As for `shortcoming`.
        stores: What the Runtime Source says of its files.
    """
    key: str = source["sourceInstanceKey"]
    hints: JsonObject = source.get("hints", {})
    file: str | None = hints.get("file")
    amiss = shortcoming(source)
    if amiss is None and file is None:
        return Finding(level="ok", check="source", subject=key, message="ready")
    reason, remedy = amiss or _UNTOLD
    where = f" at entry {hints['firstBadIndex']}" if "firstBadIndex" in hints else ""
    texts = [text for store in stores if store["file"] == file for text in store.get("texts", ())]
    harmless = source["availability"] != "unavailable" and file is None
    told: JsonObject = source.get("diagnostic", {})
    return Finding(
        level="warning" if harmless else "error",
        check="source",
        subject=str(file or key),
        message=f"{key} is {source['availability']}: {reason}{where}",
        code=told.get("code", f"source-{source['availability']}"),
        remedy=unreadable_store(reason, texts) if file else remedy,
    )
