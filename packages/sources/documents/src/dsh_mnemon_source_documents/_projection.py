"""What a View gets of Documents: its workspace, a cover, a grant (spec/sources.md §3.1, §3.4)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from anyio import to_thread
from dsh_mnemon_core.errors import AuthorityError, StorageError
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.sdk import (
    Fragment,
    Presentation,
    PresentationItem,
    ProjectRequest,
    ReadGrant,
    truncate,
)

from dsh_mnemon_source_documents.actions import MANIFEST
from dsh_mnemon_source_documents.contracts import GRANT_SCHEMA

if TYPE_CHECKING:
    from dsh_mnemon_source_documents._library import Overview

NO_WORKSPACE: Final = "no-workspace"
"""Reason why a scope is refused."""

_GRANTED: Final = 10_000
_PRESENTED: Final = 24


async def workspace_of(scope: OperationScope, what: str) -> str:
    """Return the workspace of a scope.

    Raises:
        AuthorityError: ``workspace-required``.
        StorageError: ``workspace-unavailable``.
    """
    if scope.workspace_id is None:
        raise AuthorityError(
            "workspace-required",
            f"{what} needs a workspace, and this scope has none",
            details={"reason": NO_WORKSPACE},
        )
    path = Path(scope.workspace_id)
    if not path.is_absolute() or not await to_thread.run_sync(os.path.isdir, path):
        raise StorageError(
            "workspace-unavailable",
            "the workspace of this scope is no folder that exists",
            details={"reason": "workspace-unavailable", "file": scope.workspace_id},
        )
    return scope.workspace_id


def granted_ids(grant: ReadGrant) -> tuple[Sequence[str], Sequence[str]]:
    """Return the ids of active and archived documents that a grant names.

    Raises:
        AuthorityError: ``grant-invalid``.
    """
    value = grant.value
    if grant.schema != GRANT_SCHEMA or "documentIds" not in value:
        raise AuthorityError("grant-invalid", "this grant is not one of Documents")
    return value["documentIds"], value.get("archivedDocumentIds", ())


def _granted(overview: Overview, ids: Sequence[str]) -> list[str]:
    """Return the ids a grant names: sorted, of too many those updated last."""
    if len(ids) > _GRANTED:
        by_id = overview.state.by_id
        ids = sorted(ids, key=lambda item: by_id[item].updated_at)[-_GRANTED:]
    return sorted(ids)


def grant(key: str, overview: Overview, workspace: str) -> ReadGrant:
    """Return the grant of a Source for what an overview names."""
    return ReadGrant(
        id=f"{key}/grant/{overview.state.revision}",
        source_instance_key=key,
        schema=GRANT_SCHEMA,
        value={
            "workspaceRoot": workspace,
            "documentIds": _granted(overview, overview.active),
            "archivedDocumentIds": _granted(overview, overview.archived),
        },
        revision=overview.state.revision,
        consistency=MANIFEST.consistency,
    )


def cover(overview: Overview, request: ProjectRequest) -> Fragment:
    """Return the one line that says how many documents there are."""
    count = len(overview.active)
    noun = "Document" if count == 1 else "Documents"
    text = f"{count} active project {noun} available through the documents/search route."
    return Fragment(
        id=f"{request.source_instance_key}/projection",
        source_instance_key=request.source_instance_key,
        mode=request.mode,
        text=truncate(text, request.max_characters),
        revision=overview.state.revision,
        provenance={"sourceTypeId": MANIFEST.type_id},
    )


def presentation(overview: Overview) -> Presentation:
    """Return what a person is shown: the documents updated last."""
    by_id = overview.state.by_id
    latest = sorted((by_id[item] for item in overview.active), key=lambda r: r.updated_at)
    return Presentation(
        visible_items=len(overview.active),
        total_items=len(overview.state.records),
        items=tuple(
            PresentationItem(
                id=truncate(record.id, 300),
                title=truncate(record.title, 160),
                excerpt=truncate(record.description, 600) or None,
            )
            for record in latest[: -_PRESENTED - 1 : -1]
        ),
    )
