"""What lies in each storage scope, read without touching anything (host.md §3.6)."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path

import attrs
from anyio import to_thread
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.instant import iso_utc
from dsh_mnemon_core.scope import Storage

from dsh_mnemon_host._areas import Area, read_areas
from dsh_mnemon_host.config import ResolvedConfig
from dsh_mnemon_host.storage import STORAGES, scope_root

__all__ = ("Area", "Catalog", "ScopeEntry", "catalog")


@attrs.frozen(kw_only=True)
class ScopeEntry:
    """One storage scope.

    Attributes:
        kind: The scope.
        root: Absolute root, when there is one.
        configured: Whether the scope could be chosen as things stand.
        active: Whether it is the scope in force.
        available: Whether the root is an existing directory.
        total_bytes: Sum over the areas.
        areas: All four in order, or none without a root.
        issue: Why it is not configured.
    """

    kind: Storage
    root: str | None = None
    configured: bool = False
    active: bool = False
    available: bool = False
    total_bytes: int = 0
    areas: tuple[Area, ...] = ()
    issue: str | None = None


@attrs.frozen(kw_only=True)
class Catalog:
    """All four storage scopes at one moment (ISO-8601, UTC)."""

    active_kind: Storage
    active_root: str | None = None
    scopes: tuple[ScopeEntry, ...]
    generated_at: str


def _root(kind: Storage, config: ResolvedConfig, workspace: str | None) -> Path | str:
    """Return the root of a scope, or why it has none."""
    if kind in {"workspace", "workspaces"} and workspace is None:
        return "no workspace is selected"
    if kind == "custom" and config.data_dir is None:
        return "no dataDir is set"
    try:
        return scope_root(kind, config, workspace or "")
    except MnemonError as error:
        return error.message


def _entry(kind: Storage, config: ResolvedConfig, workspace: str | None) -> ScopeEntry:
    root, active = _root(kind, config, workspace), kind == config.storage_scope
    if isinstance(root, str):
        return ScopeEntry(kind=kind, active=active, issue=root)
    others = (_root("global", config, workspace), _root("workspace", config, workspace))
    if kind == "custom" and root in others:
        issue = "dataDir is the root of another scope"
        return ScopeEntry(kind=kind, active=active, issue=issue)
    areas = read_areas(root)
    return ScopeEntry(
        kind=kind,
        root=str(root),
        configured=True,
        active=active,
        available=os.path.isdir(root),
        total_bytes=sum(area.bytes for area in areas),
        areas=areas,
    )


def _catalog(config: ResolvedConfig, workspace: str | None, now: datetime) -> Catalog:
    scopes = tuple(_entry(kind, config, workspace) for kind in STORAGES)
    root = _root(config.storage_scope, config, workspace)
    return Catalog(
        active_kind=config.storage_scope,
        active_root=None if isinstance(root, str) else str(root),
        scopes=scopes,
        generated_at=iso_utc(now),
    )


async def catalog(
    config: ResolvedConfig, workspace: str | None, *, now: Callable[[], datetime]
) -> Catalog:
    """Look at all four storage scopes; creates, moves and repairs nothing.

    Args:
        config: Resolved configuration.
        workspace: Absolute path of the selected workspace, if any.
        now: Clock, aware.

    Returns:
        Scopes in the order global, workspace, custom, workspaces; a scope that cannot be chosen
        says why. ``to_wire`` gives the JSON of §3.6.

    Source: spec/host.md §3.6.
    """
    return await to_thread.run_sync(partial(_catalog, config, workspace, now()))
