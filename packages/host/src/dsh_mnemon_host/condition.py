"""How a Host stands: what is mounted, where data lies, what is wrong (``status``, ``doctor``)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeAlias

import attrs
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.profile import RowReport
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.agent_host import FEATURES, AgentHost
from dsh_mnemon_host.memory_host import MemoryHost
from dsh_mnemon_host.workspace import is_worktree

__all__ = ("Finding", "Level", "diagnose", "opening_failed", "read_condition")

Level: TypeAlias = Literal["ok", "warning", "error"]
"""An ``error`` makes ``doctor`` exit with 1."""


@attrs.frozen(kw_only=True)
class Finding:
    """One thing ``doctor`` looked at.

    Attributes:
        level: How bad it is.
        check: What was looked at, such as ``profile`` or ``source``.
        subject: The row, Source, file or key concerned.
        message: What was found, one sentence.
        code: Stable code, when there is one.
        remedy: What to do, when there is something to do.
    """

    level: Level
    check: str
    subject: str
    message: str
    code: str | None = None
    remedy: str | None = None


async def read_condition(host: MemoryHost) -> dict[str, Any]:
    """Return the condition of a Host as JSON.

    Returns:
        ``{version, workspace {path, isWorktree}, storage {scope, root, userRoot}, writeEnabled,
        composition {servingGenerationId?, drainingGenerationIds, evaluation}, rows, sources,
        runtime?, settings {path, writable, problem?, unknown}, harnesses}``. ``sources`` is the
        management catalogue; ``runtime`` holds use and hand edits of the default Runtime Source.
    """
    graph = await host.graph()
    config, layout = graph.config.config, graph.layout
    condition: dict[str, Any] = {
        "version": version("dsh-mnemon-host"),
        "workspace": {
            "path": host.workspace,
            "isWorktree": is_worktree(Path(host.workspace)),
        },
        "storage": {
            "scope": layout.storage,
            "root": str(layout.root),
            "userRoot": str(layout.user_root),
        },
        "writeEnabled": config.write_enabled,
        "composition": graph.attachment.host.inspect(),
        "rows": [to_wire(row) for row in host.profile.report()],
        "sources": await _sources(host),
        "settings": _settings(host),
        "harnesses": [_harness(harness) for harness in host.harnesses],
    }
    runtime = await _runtime(host)
    return condition if runtime is None else {**condition, "runtime": runtime}


async def _sources(host: MemoryHost) -> list[dict[str, Any]]:
    graph = await host.graph()
    if graph.attachment.host.serving_id is None:
        return []
    catalog = await graph.attachment.management_catalog(graph.scope(host.workspace))
    sources: list[dict[str, Any]] = catalog["sources"]
    return sources


async def _runtime(host: MemoryHost) -> dict[str, Any] | None:
    """Return ``{targets, edits}``; nothing when the Source is absent or its store is damaged."""
    try:
        session = await host.source("runtime")
        snapshot = await session.read("snapshot")
        edits = await session.read("edits")
    except MnemonError:
        return None
    return {"targets": to_wire(snapshot["targets"]), "edits": to_wire(edits)}


def _settings(host: MemoryHost) -> dict[str, Any]:
    settings = host.settings
    problem = {"problem": str(settings.problem)} if settings.problem else {}
    return {
        "path": str(settings.path),
        "writable": settings.writable,
        **problem,
        "unknown": [{"key": item.key, "nearest": item.nearest} for item in settings.unknown],
    }


def _harness(harness: AgentHost) -> dict[str, Any]:
    """Name the features a harness leaves off, and what each of them lacks (host.md §23.3)."""
    capabilities = harness.capabilities
    missing = {
        feature: [need for need in needs if not getattr(capabilities, need)]
        for feature, needs in FEATURES.items()
    }
    return {
        "name": harness.name,
        "disabled": [
            {"feature": feature, "needs": needs} for feature, needs in missing.items() if needs
        ],
    }


def diagnose(condition: Mapping[str, Any]) -> list[Finding]:
    """Judge a condition, worst first within each check; pure."""
    findings = [
        *(_row_finding(RowReport(**row)) for row in condition["rows"]),
        *_composition_findings(condition["composition"]["evaluation"]),
        *(_source_finding(source) for source in condition["sources"]),
        *_settings_findings(condition["settings"]),
        *(_edit_finding(edit) for edit in (condition.get("runtime") or {}).get("edits", [])),
        _storage_finding(condition["storage"]),
    ]
    return findings


def opening_failed(error: MnemonError) -> Finding:
    """Report why a Host could not even be opened."""
    where = error.details.get("file") or error.details.get("key") or "the Host"
    return Finding(
        level="error",
        check="start",
        subject=str(where),
        message=error.message,
        code=error.code,
        remedy="Correct what is named here; nothing was overwritten.",
    )


_ROW_REMEDIES: Mapping[str, str] = {
    "absent": "Install the package that provides the module, or remove the row.",
    "failed": "Correct the row's configuration or reinstall its package; the others go on.",
    "pending": "Enable the row that provides what it waits for (usually `mnemon`).",
}


def _row_finding(row: RowReport) -> Finding:
    level: Level = {"absent": "warning", "failed": "error", "pending": "warning"}.get(
        row.state, "ok"
    )  # type: ignore[assignment]
    return Finding(
        level=level,
        check="profile",
        subject=row.id,
        message=row.message or f"{row.module} is {row.state}",
        code=row.code,
        remedy=_ROW_REMEDIES.get(row.state),
    )


def _composition_findings(evaluation: Mapping[str, Any]) -> list[Finding]:
    state = evaluation["state"]
    if state == "ready" and not evaluation["diagnostics"]:
        return [Finding(level="ok", check="composition", subject="generation", message="serving")]
    level: Level = "warning" if state == "ready" else "error"
    return [
        Finding(
            level=level,
            check="composition",
            subject=item.get("contributionInstanceKey", "generation"),
            message=item["message"],
            code=item.get("cause", item["code"]),
            remedy=None if state == "ready" else "Change the profile or the main Strategy.",
        )
        for item in evaluation["diagnostics"]
    ]


def _source_finding(source: Mapping[str, Any]) -> Finding:
    key, hints = source["sourceInstanceKey"], source.get("hints") or {}
    if source["availability"] != "unavailable":
        return Finding(level="ok", check="source", subject=key, message=f"{source['availability']}")
    file, reason = hints.get("file"), hints.get("reason", "it cannot be read")
    return Finding(
        level="error",
        check="source",
        subject=str(file or key),
        message=f"{key} is unavailable: {reason}",
        code="source-unavailable",
        remedy=(
            "The file was left as found. Repair it by hand, or move it away to start empty; "
            "MEMORY.md and USER.md beside it still hold the last good text."
            if file
            else "Look at the log, then start again."
        ),
    )


def _settings_findings(settings: Mapping[str, Any]) -> list[Finding]:
    path = settings["path"]
    findings = [
        Finding(
            level="warning",
            check="settings",
            subject=item["key"],
            message=f"{path} has a key that no setting has; it is kept and ignored",
            code="key-unknown",
            remedy=f"Did you mean {item['nearest']}?" if item["nearest"] else "Remove the key.",
        )
        for item in settings["unknown"]
    ]
    if "problem" in settings:
        findings.insert(
            0,
            Finding(
                level="error",
                check="settings",
                subject=path,
                message=settings["problem"],
                code="settings-not-in-force",
                remedy="Correct the file; the former values stay in force until then.",
            ),
        )
    return findings


def _edit_finding(edit: Mapping[str, Any]) -> Finding:
    file = edit["file"]
    kept = " (kept before it was rewritten)" if edit["copied"] else ""
    return Finding(
        level="warning",
        check="edits",
        subject=str(file),
        message=f"holds words written by hand{kept} that the store does not know",
        code="hand-edit",
        remedy=f"Run `dsh-mnemon runtime adopt {file}` to look at the differences and apply them.",
    )


def _storage_finding(storage: Mapping[str, Any]) -> Finding:
    root = Path(storage["root"])
    if root.exists() and not root.is_dir():
        return Finding(
            level="error",
            check="storage",
            subject=str(root),
            message="the storage root is not a directory",
            code="storage-invalid",
            remedy="Move the file away, or choose another dataDir.",
        )
    state = "exists" if root.exists() else "will be created at the first write"
    return Finding(
        level="ok", check="storage", subject=str(root), message=f"{storage['scope']}: {state}"
    )
