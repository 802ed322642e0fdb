"""What is the matter with one store, for whoever is to put it right (D25; blocking)."""

from __future__ import annotations

from typing import Any

from dsh_mnemon_core.errors import StorageError

from dsh_mnemon_source_documents._folder import Found
from dsh_mnemon_source_documents._index import State
from dsh_mnemon_source_documents._store import DocumentStore
from dsh_mnemon_source_documents._text import sha256
from dsh_mnemon_source_documents.contracts import DocumentRecord


def diagnose(store: DocumentStore) -> dict[str, Any]:
    """Look at everything; never fails, writes nothing.

    Returns:
        ``{file, readable, unhealthy, changed, unindexed, pending?}``. ``unhealthy`` lists ``{id,
        title, reason}`` of documents whose body cannot be read; ``changed`` lists ``{id, title,
        file, code, reason}`` of those whose body was not written here, which is no fault: the
        reason is ``empty``, ``no-front-matter`` or ``other-text``. ``unindexed`` names the Markdown
        files without a record, and ``pending`` is ``{file, former, reason, remedy}`` of a change
        that can neither be finished nor undone, so that every other one is refused.

        Where index.json cannot be read, ``readable`` is false and what the error tells is added:
        ``{code, message, reason, firstBadIndex?, problem?, remedy?, id?, title?, field?, value?}``.
    """
    report: dict[str, Any] = {"file": str(store.path), "readable": True}
    try:
        state = store.read()
    except StorageError as error:
        told = {"code": error.code, "message": error.message, **error.details}
        return {
            **report,
            "readable": False,
            **told,
            "unhealthy": [],
            "changed": [],
            "unindexed": [],
        }
    unindexed = store.unindexed(state)
    return {**report, **_bodies(store, state), "unindexed": unindexed, **_pending(store, state)}


def _bodies(store: DocumentStore, state: State) -> dict[str, Any]:
    unhealthy: list[dict[str, Any]] = []
    changed: list[dict[str, Any]] = []
    for record in state.records:
        found = store.look(record)
        named = {"id": record.id, "title": record.title}
        if found.text is None:
            unhealthy.append({**named, "reason": found.reason})
        elif reason := _change(record, found, found.text):
            file = record.relative_path
            told = {"file": file, "code": "document-body-changed", "reason": reason}
            changed.append({**named, **told})
    return {"unhealthy": unhealthy, "changed": changed}


def _change(record: DocumentRecord, found: Found, text: str) -> str | None:
    """Say how a file differs from what was written here; other line ends are no difference."""
    if not text:
        return "empty"
    if not found.front:
        return "no-front-matter"
    hashes = {sha256(text), sha256(text.replace("\r\n", "\n"))}
    return None if record.content_hash in hashes else "other-text"


def _pending(store: DocumentStore, state: State) -> dict[str, Any]:
    error = store.blocked(state)
    if error is None:
        return {}
    file, former = str(store.pending), error.details["file"]
    remedy = f"put {former} back, or remove {file} to keep the new text"
    reason = error.details["reason"]
    return {"pending": {"file": file, "former": former, "reason": reason, "remedy": remedy}}
