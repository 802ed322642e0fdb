"""How a Host stands: what is mounted, where data lies, what is wrong (``status``, ``doctor``)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import attrs
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.profile import RowReport
from dsh_mnemon_core.values import JsonObject
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host._composition_findings import MISSED, composition_findings
from dsh_mnemon_host._finding import Finding, Level
from dsh_mnemon_host._plane_findings import document_findings, silent_findings, space_findings
from dsh_mnemon_host._reports import read_reports
from dsh_mnemon_host._source_findings import source_finding
from dsh_mnemon_host._store_findings import over_limit, store_findings
from dsh_mnemon_host.agent_host import FEATURES, AgentHost
from dsh_mnemon_host.composition.entries import Entry, read_entries
from dsh_mnemon_host.graph import RuntimeGraph
from dsh_mnemon_host.memory_host import MemoryHost
from dsh_mnemon_host.storage import Layout
from dsh_mnemon_host.workspace import is_worktree

__all__ = (
    "Finding",
    "Level",
    "Place",
    "diagnose",
    "look_at",
    "opening_failed",
    "read_condition",
)

Place: TypeAlias = Literal["ready", "missing", "read-only", "unreadable", "blocked"]
"""How a folder of the storage stands; ``missing`` ones are created at the first write."""


async def read_condition(host: MemoryHost, *, thorough: bool = False) -> dict[str, Any]:
    """Return the condition of a Host as JSON.

    Args:
        host: The Host.
        thorough: Whether Providers are asked and every document is read.

    Returns:
        ``{version, workspace {path, isWorktree}, storage {scope, root, userRoot, places},
        writeEnabled, composition {servingGenerationId?, drainingGenerationIds, evaluation,
        problem?, outages?, choicesProblem?, chosenStrategy?}, rows, sources,
        settings {path, writable, problem?, unknown}, harnesses, runtime?, stores?, spaces?,
        documents?, silent?}``; the last five as `read_reports` returns them. ``places`` are the
        folders of the storage as ``{path, state}``, where the state is a `Place`; ``sources`` is
        the catalogue, with the ``diagnostic`` of a Source that did not answer; ``problem`` says why
        there is no catalogue, ``outages`` are those of Sources without a place in it;
        ``chosenStrategy`` is ``{strategyTypeId, label?, entryId?, packageName?, state?}`` of a main
        Strategy that is chosen and does not run.
    """
    graph = await host.graph()
    config, layout = graph.config.config, graph.layout
    sources, problem = await _sources(host)
    saved = host.choices_problem
    choices = {} if saved is None else {"choicesProblem": saved.to_wire()}
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
            "places": [{"path": str(path), "state": look_at(path)} for path in _places(layout)],
        },
        "writeEnabled": config.write_enabled,
        "composition": {
            **graph.attachment.host.inspect(),
            **problem,
            **choices,
            **await _chosen_strategy(host, graph),
        },
        "rows": [to_wire(row) for row in host.profile.report()],
        "sources": sources,
        "settings": _settings(host),
        "harnesses": [_harness(harness) for harness in host.harnesses],
    }
    return {**condition, **await read_reports(host.people, thorough=thorough)}


def _places(layout: Layout) -> list[Path]:
    """Return the roots, and the areas in them that exist already."""
    roots = dict.fromkeys((layout.root, layout.user_root))
    areas = (root / layout.runtime.name for root in roots)
    return [*roots, *(area for area in areas if os.path.lexists(area))]


def look_at(path: Path) -> Place:
    """Tell whether memory can be kept in a folder, as far as permissions tell; creates nothing."""
    if os.path.isdir(path):
        if not os.access(path, os.R_OK | os.X_OK):
            return "unreadable"
        return "ready" if os.access(path, os.W_OK) else "read-only"
    nearest = next(folder for folder in (path, *path.parents) if os.path.lexists(folder))
    if not os.path.isdir(nearest):
        return "blocked"
    return "missing" if os.access(nearest, os.W_OK | os.X_OK) else "read-only"


async def _sources(host: MemoryHost) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the catalogue, and ``{problem?, outages?}`` of what is not in it.

    ``problem`` says where Sources break their contract; ``outages`` are the diagnostics of Sources
    that did not answer and have no management plane.
    """
    graph = await host.graph()
    if graph.attachment.host.serving_id is None:
        return [], {}
    try:
        catalog = await graph.attachment.management_catalog(graph.scope(host.workspace))
    except MnemonError as error:
        return [], {"problem": error.to_wire()}
    outages = {item.get("contributionInstanceKey"): item for item in catalog["diagnostics"]}
    sources = [
        {**source, "diagnostic": outages.pop(key)} if key in outages else source
        for source in catalog["sources"]
        for key in (source["sourceInstanceKey"],)
    ]
    return sources, {"outages": list(outages.values())} if outages else {}


async def _chosen_strategy(host: MemoryHost, graph: RuntimeGraph) -> dict[str, Any]:
    """Return ``{chosenStrategy}`` where the chosen main Strategy does not run."""
    chosen = graph.config.strategy_type_id
    codes = {item.cause or item.code for item in graph.evaluation.diagnostics}
    if MISSED.isdisjoint(codes):
        return {}
    told: dict[str, Any] = {"strategyTypeId": chosen}
    for entry in await read_entries(host.rows.current, host.profile.report()):
        if _provides(entry, chosen):
            label = {"label": entry.label["en"]} if entry.label else {}
            place = {"entryId": entry.id, "packageName": entry.package, "state": entry.state}
            told |= {**label, **place}
    return {"chosenStrategy": told}


def _provides(entry: Entry, type_id: str) -> bool:
    """Tell whether an entry provides a main Strategy; one not installed goes by its name."""
    if entry.state == "absent":
        return entry.package == f"dsh-mnemon-strategy-{type_id}"
    return entry.strategy_type_id == type_id


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


def diagnose(condition: JsonObject) -> list[Finding]:
    """Judge a condition; pure."""
    runtime: JsonObject = condition.get("runtime", {})
    return [
        *(_row_finding(RowReport(**row)) for row in condition["rows"]),
        *composition_findings(condition["composition"]),
        *(source_finding(source, condition.get("stores", ())) for source in condition["sources"]),
        *_settings_findings(condition["settings"]),
        *(_edit_finding(edit) for edit in runtime.get("edits", ())),
        *silent_findings(condition.get("silent", ()), condition["sources"]),
        *_store_findings(condition),
        *space_findings(condition.get("spaces", {})),
        *document_findings(condition.get("documents", {})),
        *(_place_finding(condition, place) for place in condition["storage"]["places"]),
    ]


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


_ROW_LEVELS: Final[Mapping[str, Level]] = {
    "absent": "warning",
    "failed": "error",
    "pending": "warning",
}
_ROW_REMEDIES: Final[Mapping[str, str]] = {
    "absent": "Install the package that provides the module, or remove the row.",
    "failed": "Correct the row's configuration or reinstall its package; the others go on.",
    "pending": "Enable the row that provides what it waits for (usually `mnemon`).",
}


def _row_finding(row: RowReport) -> Finding:
    return Finding(
        level=_ROW_LEVELS.get(row.state, "ok"),
        check="profile",
        subject=row.id,
        message=row.message or f"{row.module} is {row.state}",
        code=row.code,
        remedy=_ROW_REMEDIES.get(row.state),
    )


def _store_findings(condition: JsonObject) -> list[Finding]:
    stores: Sequence[JsonObject] = condition.get("stores", ())
    targets: JsonObject = condition.get("runtime", {}).get("targets", {})
    found = [*(item for store in stores for item in store_findings(store)), *over_limit(targets)]
    if condition["writeEnabled"]:
        return found
    return [attrs.evolve(item, level="warning") for item in found]


def _settings_findings(settings: JsonObject) -> list[Finding]:
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


def _edit_finding(edit: JsonObject) -> Finding:
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


_PLACES: Final[Mapping[Place, tuple[str, str | None]]] = {
    "ready": ("exists", None),
    "missing": ("will be created at the first write", None),
    "read-only": ("cannot be written", "storage-read-only"),
    "unreadable": ("cannot be read", "storage-unreadable"),
    "blocked": ("is no folder, or lies in something that is none", "storage-invalid"),
}


def _place_finding(condition: JsonObject, place: JsonObject) -> Finding:
    state: Place = place["state"]
    words, code = _PLACES[state]
    harmless = state == "read-only" and not condition["writeEnabled"]
    return Finding(
        level="ok" if code is None else "warning" if harmless else "error",
        check="storage",
        subject=place["path"],
        message=f"{condition['storage']['scope']}: {words}",
        code=code,
        remedy="Correct its permissions, move what is in the way, or choose another `dataDir`.",
    )
