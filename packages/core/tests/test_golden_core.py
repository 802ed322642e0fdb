"""The recorded cases of the composition engine (golden/core), read by D2, D19 and D20."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import attrs
import pytest
from dsh_mnemon_core._engine.compose import compose
from dsh_mnemon_core._engine.execute import execute_action, execute_route
from dsh_mnemon_core._engine.generation import (
    CandidateFailed,
    Generation,
    build_candidate,
    generation_input,
)
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.plugin import MemoryPlugin, ProvidedCapability
from dsh_mnemon_core.runtime import GenerationHost, Snapshot
from dsh_mnemon_core.scope import OperationScope, ViewBudget, ViewRequest
from dsh_mnemon_core.source import ActionManifest, RouteManifest, SourceManifest
from dsh_mnemon_core.strategy import ExtensionManifest, StrategyManifest
from dsh_mnemon_core.values import (
    FrozenDict,
    assert_json,
    canonical,
    configuration_digest,
    digest,
    json_clone,
)
from dsh_mnemon_core.view import (
    ActionOffer,
    Diagnostic,
    Fragment,
    View,
    ViewConsistency,
    ViewRoute,
)
from dsh_mnemon_core.wake import create_wake
from dsh_mnemon_core.wire import from_wire, to_wire, wire_name
from dsh_mnemon_testing.fakes import raw
from dsh_mnemon_testing.golden import Golden, golden, options_from, snapshot_from

FOLDER = Path(__file__).parent / "golden"
NOW = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
Case = dict[str, Any]


def load(name: str) -> Golden:
    return golden(FOLDER, name)


def cases(name: str) -> pytest.MarkDecorator:
    file = load(name)
    return pytest.mark.parametrize("case", file.cases, ids=file.ids())


def doubles(value: Any) -> Any:
    """Read integers that a double does not hold exactly as JSON of ECMAScript does: as doubles."""
    if isinstance(value, dict):
        return {key: doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [doubles(item) for item in value]
    wide = isinstance(value, int) and abs(value) > 2**53 - 1
    return float(value) if wide else value


def now() -> datetime:
    return NOW


@pytest.mark.requirement("core:golden:canonical-json")
@cases("canonical-json")
def test_canonical_json(case: Case) -> None:
    value = doubles(case["value"])
    assert canonical(value) == case["canonical"]
    assert digest(value) == case["sha256"]
    assert configuration_digest(value) == case["configDigest"]


@pytest.mark.parametrize(("what", "expected"), load("canonical-json").data["depth"].items())
def test_canonical_json_depth(what: str, expected: str) -> None:
    [depth] = re.findall(r"\d+", what)
    value: Any = 1
    for _ in range(int(depth)):
        value = {"a": value} if "object" in what else [value]
    if expected == "accepted":
        assert_json(value)
    else:
        with pytest.raises(MnemonError) as caught:
            assert_json(value)
        assert caught.value.code == expected


MANIFESTS = {
    "source": SourceManifest,
    "strategy": StrategyManifest,
    "strategy-extension": ExtensionManifest,
    "plugin": MemoryPlugin,
}
PARTS = {"routes": RouteManifest, "actions": ActionManifest, "provides": ProvidedCapability}


def foreign_keys(cls: type[Any], manifest: Mapping[str, Any]) -> set[str]:
    """Return the keys that the original keeps or drops and that are refused here (§4.3)."""
    known = {wire_name(field.name) for field in attrs.fields(cls)}
    inner: set[str] = set()
    for key, part in PARTS.items():
        rows = manifest.get(key)
        for row in rows if key in known and isinstance(rows, list) else ():
            inner |= foreign_keys(part, row) if isinstance(row, dict) else set()
    return {*manifest} - known | inner


@pytest.mark.requirement("core:golden:definitions")
@cases("definitions")
def test_definitions(case: Case) -> None:
    expect, cls = case["expect"], MANIFESTS[case["kind"]]
    typo = foreign_keys(cls, case["manifest"])
    if "raises" in expect or typo:
        with pytest.raises(MnemonError) as caught:
            from_wire(cls, case["manifest"])
        assert caught.value.code in ({"key-unknown"} if typo else {expect["raises"]})
    else:
        manifest = from_wire(cls, case["manifest"])
        assert to_wire(manifest) == expect["normalized"]


def without_messages(diagnostics: Any) -> list[dict[str, Any]]:
    return [{k: v for k, v in item.items() if k != "message"} for item in diagnostics]


def refusals(expect: Mapping[str, Any]) -> list[str]:
    """Return the codes with which a case is refused, raised or reported."""
    reported = [item["cause"] for item in expect.get("diagnostics", ()) if "cause" in item]
    return [*reported, *([expect["raises"]] if "raises" in expect else [])]


def attempted(case: Case, trace: list[str]) -> tuple[Snapshot | None, str | None]:
    """Build the snapshot of a case, or return the code of the refusal."""
    try:
        return snapshot_from(case["input"], trace), None
    except MnemonError as error:
        return None, error.code


@pytest.mark.requirement("core:golden:compile")
@cases("compile")
async def test_compile(case: Case) -> None:
    trace: list[str] = []
    expect = case["expect"]
    async with anyio.create_task_group() as tasks:
        host = GenerationHost(options_from(case["input"].get("options"), now=now), tasks)
        snapshot, refused = attempted(case, trace)
        if snapshot is None:
            # A malformed record cannot be made at all, so no evaluation is reached (§19.1).
            assert refused in refusals(expect)
            return
        report = to_wire(host.reconcile(snapshot))
        await host.idle()
    if "raises" in expect:
        assert [item["cause"] for item in report["diagnostics"]] == [expect["raises"]]
        return
    got = {
        key: report[key]
        for key in (
            "state",
            "sourceInstanceKeys",
            "strategyInstanceKey",
            "strategyExtensionInstanceKeys",
        )
        if key in report
    }
    got["diagnostics"] = without_messages(report["diagnostics"])
    got["factoryTrace"] = trace
    assert got == expect


def candidate(case: Case, trace: list[str]) -> Generation:
    inputs = case["input"]
    return build_candidate(
        snapshot_from(inputs, trace), options_from(inputs.get("options"), now=now)
    )


def request_of(value: Mapping[str, Any]) -> ViewRequest:
    return ViewRequest(
        scope=from_wire(OperationScope, value["scope"]),
        scenario=value["scenario"],
        budget=from_wire(ViewBudget, value["budget"]),
    )


DOCUMENTATION = "REFERENCE ONLY"


@pytest.mark.requirement("core:golden:compose")
@cases("compose")
async def test_compose(case: Case) -> None:
    if case.get("note", "").startswith(DOCUMENTATION):
        # The original counts UTF-16 units; here this projection fits (D1).
        view = await compose(candidate(case, []), request_of(case["input"]["request"]))
        assert view.projection
        return
    trace: list[str] = []
    expect = case["expect"]
    if "raises" in expect:
        await refuse_to_compose(case, trace)
    else:
        generation = candidate(case, trace)
        view = await compose(generation, request_of(case["input"]["request"]))
        check_view(view, generation, expect)
    if "trace" in expect:
        assert trace == expect["trace"]


async def refuse_to_compose(case: Case, trace: list[str]) -> None:
    expect = case["expect"]
    with pytest.raises((MnemonError, CandidateFailed)) as caught:
        await compose(candidate(case, trace), request_of(case["input"]["request"]))
    error = caught.value
    code = error.cause.code if isinstance(error, CandidateFailed) else error.code
    assert code == expect["raises"]
    if "alsoReports" in expect:
        reported = [item["code"] for item in error.details["diagnostics"]]
        assert reported == expect["alsoReports"]


def check_view(view: View, generation: Generation, expect: Mapping[str, Any]) -> None:
    wire = to_wire(view)
    for key in ("id", "digest", "runtimeGeneration"):
        wire.pop(key)
    if "diagnostics" in wire:
        wire["diagnostics"] = without_messages(wire["diagnostics"])
    assert wire == expect["view"]
    assert view.id == f"view:{view.digest}"
    if "viewDigest" in expect:
        assert view.digest == expect["viewDigest"]
    if "generationInput" in expect:
        sources = list(generation.sources)
        value = generation_input(
            generation.snapshot, generation.options, generation.selection, sources
        )
        assert to_wire(value) == expect["generationInput"]
    if "generationId" in expect:
        assert generation.id == expect["generationId"]
    if expect.get("frozen"):
        with pytest.raises(AttributeError):
            view.explanation = "changed"  # type: ignore[misc]
        assert isinstance(view.consistency.source_revisions, FrozenDict)


class Execution:
    """The identity of one executing turn."""


@pytest.mark.requirement("core:golden:execution")
@cases("execution")
async def test_execution(case: Case) -> None:
    trace: list[str] = []
    generation = candidate(case, trace)
    view = await compose(generation, request_of(case["input"]["request"]))
    trace.clear()
    turns: dict[str, Execution] = {}
    results = [await run_step(generation, view, step, turns) for step in case["input"]["steps"]]
    assert results == case["expect"]["results"]
    assert trace == case["expect"]["trace"]


async def run_step(
    generation: Generation, view: View, step: Mapping[str, Any], turns: dict[str, Execution]
) -> dict[str, Any]:
    async def authorize(_offer: ActionOffer) -> bool:
        return bool(step.get("authorize", True))

    try:
        if "action" in step:
            receipt = await execute_action(
                generation, view, step["action"], step.get("input"), authorize=authorize
            )
            wire = to_wire(receipt)
            assert wire.pop("viewId") == view.id
            return {"receipt": wire}
        evidence = await execute_route(
            generation,
            view,
            step["route"],
            step.get("input"),
            execution=turns.setdefault(step.get("turn", "main"), Execution()),
            budget=from_wire(ViewBudget, step.get("budget", {})),
        )
    except MnemonError as error:
        return {"raises": error.code}
    assert evidence.consistency in {grant.consistency for grant in view.read_grants}
    return {
        "evidence": {
            "itemIds": [item.id for item in evidence.items],
            "truncated": evidence.truncated,
            "observedAt": evidence.observed_at,
        }
    }


@pytest.mark.requirement("core:golden:generations")
@cases("generations")
async def test_generations(case: Case) -> None:
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            script = Script(tasks, case.get("options"))
            try:
                got = [await script.run(step) for step in case["script"]]
                assert got == case["expect"]
            finally:
                script.finish()


class Script:
    """Runs the steps of one generation script."""

    def __init__(
        self, tasks: anyio.abc.TaskGroup, options: Mapping[str, Any] | None = None
    ) -> None:
        self.trace: list[str] = []
        self.tasks = tasks
        self.host = GenerationHost(options_from(options, now=now), tasks)
        self.labels: dict[str, str] = {}
        self.leases: dict[str, Any] = {}
        self.settled = anyio.Event()

    async def run(self, step: Mapping[str, Any]) -> dict[str, Any]:
        self.trace.clear()
        try:
            name = {"settled": "settle"}.get(step["op"], step["op"])
            result = await getattr(self, name)(step)
        except MnemonError as error:
            result = {"raises": error.code}
        await self.host.idle()
        await anyio.wait_all_tasks_blocked()
        names = {generation: label for label, generation in self.labels.items()}
        serving = self.host.serving_id
        return {
            **result,
            "serving": names[serving] if serving else None,
            "draining": [names[key] for key in self.host.draining_ids],
            "trace": list(self.trace),
        }

    async def reconcile(self, step: Mapping[str, Any]) -> dict[str, Any]:
        snapshot = snapshot_from(step["contributions"], self.trace, step["revision"])
        report = self.host.reconcile(snapshot)
        if "label" in step:
            assert report.generation_id is not None
            self.labels[step["label"]] = report.generation_id
        codes = [item.code for item in report.diagnostics]
        return {"state": report.state, "diagnostics": codes}

    async def acquire(self, step: Mapping[str, Any]) -> dict[str, Any]:
        wanted = step.get("generation")
        lease = self.host.acquire(self.labels.get(wanted, wanted) if wanted else None)
        self.leases[step["lease"]] = lease
        names = {generation: label for label, generation in self.labels.items()}
        return {"generation": names[lease.id]}

    async def release(self, step: Mapping[str, Any]) -> dict[str, Any]:
        self.leases[step["lease"]].release()
        return {}

    async def dispose(self, _step: Mapping[str, Any]) -> dict[str, Any]:
        async def end() -> None:
            await self.host.dispose()
            self.settled.set()

        self.tasks.start_soon(end)
        await anyio.wait_all_tasks_blocked()
        return {"settled": self.settled.is_set()}

    async def settle(self, _step: Mapping[str, Any]) -> dict[str, Any]:
        await self.host.dispose()
        return {"settled": True}

    def finish(self) -> None:
        for lease in self.leases.values():
            lease.release()


def view_of(value: Mapping[str, Any]) -> View:
    """Build the partial View of a wake case."""
    view = dict(value)
    made = {
        "projection": tuple(raw(Fragment, item) for item in view.pop("projection")),
        "routes": tuple(raw(ViewRoute, route(item)) for item in view.pop("routes")),
        "actionOffers": tuple(raw(ActionOffer, offer(item)) for item in view.pop("actionOffers")),
        "diagnostics": tuple(raw(Diagnostic, item) for item in view.pop("diagnostics", ())),
    }
    filled = {
        "runtimeGeneration": "generation:x",
        "strategyInstanceKey": "strategy:x",
        "strategyTypeId": "x",
        "createdAt": "2026-01-02T03:04:05.678Z",
        "scope": OperationScope(storage="custom"),
        **view,
        **made,
        "readGrants": (),
        "consistency": raw(ViewConsistency, view["consistency"]),
    }
    return raw(View, json_ready(filled))


def json_ready(values: dict[str, Any]) -> dict[str, Any]:
    values["consistency"] = ViewConsistency(
        mode=values["consistency"].mode,
        source_revisions=json_clone(values["consistency"].source_revisions),
    )
    return values


ROUTE = {"capability": "search", "readGrantId": "g", "maxCalls": 1, "maxResults": 1}


def route(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"sourceRouteId": "x", "maxCharacters": 1, **ROUTE, **item}


def offer(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"sourceActionId": "x", "capability": "write", **item}


@pytest.mark.requirement("core:golden:wake")
@cases("wake")
def test_wake(case: Case) -> None:
    expect, view = case["expect"], case["input"]["view"]
    wake = create_wake(view_of(view), bound_by(case))
    assert parsed(wake.text, expect["blocks"]) == with_covers(expect["blocks"], view)
    assert [to_wire(section) for section in wake.sections] == expect["sections"]
    assert (wake.view_id, wake.view_digest) == (expect["viewId"], expect["viewDigest"])
    if "guidance" in expect:
        assert to_wire(wake.guidance) == expect["guidance"]


def bound_by(case: Case) -> dict[str, str]:
    """Flatten the bindings of routes and of actions: their ids never meet."""
    return {key: tool for kind in case["input"]["bindings"].values() for key, tool in kind.items()}


TITLES = ("MNEMON VIEW TOOLS", "MNEMON VIEW ROUTES", "MNEMON VIEW AVAILABILITY")


def with_covers(blocks: list[dict[str, Any]], view: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Add the covers the original hides behind bound routes: they are always shown here (D2)."""
    entries = next((b["payload"] for b in blocks if b.get("block") == TITLES[1]), [])
    by_source = {entry["source"]: entry for entry in entries}
    for fragment in view["projection"]:
        if fragment["mode"] == "routed":
            key = fragment["sourceInstanceKey"]
            bare = {"source": key, "cover": fragment["text"], "routes": [], "actions": []}
            by_source.setdefault(key, bare)
    owners = (item for key in ("projection", "routes", "actionOffers") for item in view[key])
    order = dict.fromkeys(item["sourceInstanceKey"] for item in owners)
    payload = [by_source[key] for key in order if key in by_source]
    routes = [{"block": TITLES[1], "payload": payload}] if payload else []
    others = [block for block in blocks if block.get("block") != TITLES[1]]
    rank = {None: 0, TITLES[0]: 1, TITLES[1]: 2, TITLES[2]: 3}
    return sorted([*others, *routes], key=lambda block: rank[block.get("block")])


def parsed(text: str, blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Read the blocks of a Wake; the texts of the eager ones are looked for, literally."""
    read: list[dict[str, Any]] = []
    for eager in (block["eager"] for block in blocks if "eager" in block):
        assert text == eager or text.startswith(f"{eager}\n\n")
        text = text[len(eager) + 2 :]
        read.append({"eager": eager})
    return [*read, *(titled(line) for line in text.split("\n\n") if line)]


def titled(line: str) -> dict[str, Any]:
    title = next(title for title in TITLES if line.startswith(f"{title} ("))
    payload = line.split("): ", 1)[1]
    return {"block": title, "payload": payload if title == TITLES[0] else json.loads(payload)}
