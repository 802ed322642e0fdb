"""How documents, their former bodies and their changes are told to a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ("document_row", "former_row", "found_row", "told_change", "told_unindexed")


def document_row(document: Mapping[str, Any]) -> str:
    """Return a document of a list, its description on a line of its own."""
    status = document.get("status")
    state = "" if status == "active" else f" ({status})"
    ill = "" if document.get("healthy", True) else " - cannot be read; see `dsh-mnemon doctor`"
    about = f"\n    {document['description']}" if document.get("description") else ""
    return f"- {document['title']}{state} [{document['id']}] r{document['revision']}{ill}{about}"


def found_row(document: Mapping[str, Any]) -> str:
    """Return a document that was found, and the passage that it was found for."""
    passage = document.get("passage") or document["excerpt"]
    return f"{document_row(document)}\n    {passage}"


def former_row(kept: Mapping[str, Any]) -> str:
    """Return a former body; of one that cannot be read, why, and which file it is."""
    until = f"r{kept['revision']}  until {kept['replacedAt']}"
    if "unreadable" in kept:
        return f"{until}  cannot be read ({kept['unreadable']}): {kept['file']}"
    return f"{until}  {kept['characters']} characters"


def told_unindexed(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line where files have no record."""
    count = answer.get("unindexed", 0)
    if count:
        yield f"! {count} file(s) no record names; see `dsh-mnemon documents adopt --help`"


def told_change(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield what was done, and what a person may not have meant by it."""
    document: Mapping[str, Any] = answer["document"]
    yield f"{answer['action']}: {document['title']} [{document['id']}]"
    if "replacedUnreadable" in answer:
        lost = answer["replacedUnreadable"]
        yield f"! the text before could not be read ({lost['reason']}); it is kept: {lost['file']}"
    if "sameTitle" in answer:
        others: Sequence[str] = answer["sameTitle"]
        yield f"! there is another document of this title: {', '.join(others)}"
    if "maintenance" in answer:
        yield answer["maintenance"]["summary"]
