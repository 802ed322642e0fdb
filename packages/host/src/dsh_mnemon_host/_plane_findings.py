"""What ``doctor`` says about Memory Spaces, their Providers, and documents (D18, D27; pure)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from dsh_mnemon_core.values import JsonObject

from dsh_mnemon_host._finding import Finding

__all__ = ("document_findings", "silent_findings", "space_findings")


_HARMLESS: Final = frozenset(("answer-unexpected", "source-ambiguous"))
"""What keeps a Source from telling its condition, and from nothing else."""


def space_findings(spaces: JsonObject) -> Iterator[Finding]:
    """Judge the Providers and the Spaces; a Provider that is not installed is no fault."""
    providers: Sequence[JsonObject] = spaces.get("providers", ())
    absent = [provider for provider in providers if provider["state"] == "absent"]
    if absent:
        yield _absent(absent)
    for provider in (item for item in providers if item not in absent):
        failed = provider["state"] == "failed"
        yield Finding(
            level="error" if failed else "ok",
            check="provider",
            subject=provider["providerId"],
            message=provider.get("reason", provider["state"]),
            code=provider.get("code") if failed else None,
            remedy="Correct its configuration or reinstall its package; the others go on.",
        )
    for space in spaces.get("bodies", ()):
        if space["status"] == "unhealthy" and space["active"]:
            yield Finding(
                level="error",
                check="space",
                subject=f"{space['name']} [{space['id']}]",
                message=space.get("error", "does not answer"),
                code="space-unhealthy",
                remedy="Recall goes on without it. Mend what is named here, or run "
                f"`dsh-mnemon spaces deactivate {space['id']}`.",
            )
        elif "note" in space:
            yield Finding(
                level="warning",
                check="space",
                subject=f"{space['name']} [{space['id']}]",
                message=space["note"],
                code="space-damaged",
                remedy="All else in it is used; an export exits with 1 until this is mended. "
                "Nothing here changes the file: put a copy of it aside, then correct the values in "
                "it, or take it from a backup.",
            )
    for place in spaces.get("exposed", ()):
        yield Finding(
            level="warning",
            check="storage",
            subject=place["path"],
            message=f"others may use it (mode {place['mode']}); keys of Providers are kept there",
            code="storage-exposed",
            remedy=f"Run `chmod {place['wanted']} {shlex.quote(place['path'])}`; if others could "
            "read the keys, change them.",
        )


def document_findings(documents: JsonObject) -> Iterator[Finding]:
    """Judge the bodies of documents, and files in their folder that no record names."""
    for document in documents.get("unhealthy", ()):
        yield Finding(
            level="error",
            check="documents",
            subject=f"{document['title']} [{document['id']}]",
            message=f"its text cannot be read: {document['reason']}",
            code="document-unreadable",
            remedy="Put its file right by hand; `dsh-mnemon documents history` lists former "
            "bodies. Other documents are not concerned.",
        )
    for file in documents.get("unindexed", ()):
        yield Finding(
            level="warning",
            check="documents",
            subject=str(file),
            message="is no document: the index does not name it",
            code="document-unindexed",
            remedy="Take it back with `dsh-mnemon documents adopt`, or move it away.",
        )
    for document in documents.get("changed", ()):
        yield Finding(
            level="warning",
            check="documents",
            subject=f"{document['title']} [{document['id']}]",
            message=f"its text was changed by hand ({document['reason']}); it is used as it is",
            code=document["code"],
            remedy="Update it with `dsh-mnemon documents update`, or put the former text back with "
            "`dsh-mnemon documents restore`.",
        )
    if "pending" in documents:
        yield Finding(
            level="error",
            check="documents",
            subject=str(documents["pending"]["file"]),
            message=f"an unfinished change blocks the others: {documents['pending']['reason']}",
            code="document-change-pending",
            remedy=documents["pending"]["remedy"],
        )


def silent_findings(
    silent: Sequence[JsonObject], sources: Sequence[JsonObject]
) -> Iterator[Finding]:
    """Judge what a Source would not tell; where its file is damaged, that is said already."""
    files = {source.get("hints", {}).get("file") for source in sources}
    for item in silent:
        file = item.get("details", {}).get("file")
        if file is None or file not in files:
            yield Finding(
                level="warning" if item["code"] in _HARMLESS else "error",
                check=item["area"],
                subject=str(file or item["area"]),
                message=f"its condition cannot be told: {item['message']}",
                code=item["code"],
                remedy="Mend what is named here, or look at the log; then run this again.",
            )


def _absent(providers: Sequence[JsonObject]) -> Finding:
    """Name what is not installed on one line."""
    names = ", ".join(provider["providerId"] for provider in providers)
    return Finding(
        level="ok",
        check="provider",
        subject="not installed",
        message=f"{names}; each has a package of its own, such as {providers[0]['packageName']}, "
        "that adds it",
    )
