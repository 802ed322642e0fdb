"""What ``doctor`` says about Memory Spaces, their Providers, and documents (D18, D27; pure)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dsh_mnemon_core.values import JsonObject

from dsh_mnemon_host._finding import Finding

__all__ = ("document_findings", "silent_findings", "space_findings")


_HARMLESS: Final = frozenset(("answer-unexpected", "source-ambiguous"))
"""What keeps a Source from telling its condition, and from nothing else."""


def space_findings(spaces: JsonObject) -> Iterator[Finding]:
    """Judge the Providers and the Spaces; a Provider that is not installed is no fault."""
    for provider in spaces.get("providers", ()):
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
