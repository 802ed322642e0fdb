"""The recorded cases of the composition engine (golden/core), read by D2, D19 and D20."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
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
from dsh_mnemon_core.plugin import MemoryPlugin
from dsh_mnemon_core.runtime import GenerationHost
from dsh_mnemon_core.scope import OperationScope, ViewBudget, ViewRequest
from dsh_mnemon_core.source import SourceManifest
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
from dsh_mnemon_core.wire import from_wire, to_wire
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


def now() -> datetime:
    return NOW


@pytest.mark.requirement("core:golden:canonical-json")
@cases("canonical-json")
def test_canonical_json(case: Case) -> None:
    assert canonical(case["value"]) == case["canonical"]
    assert digest(case["value"]) == case["sha256"]
    assert configuration_digest(case["value"]) == case["configDigest"]


@pytest.mark.parametrize("depth", [48, 49])
def test_canonical_json_depth(depth: int) -> None:
    expected = load("canonical-json").data["depth"][f"scalar inside {depth} nested arrays"]
    value: Any = 1
    for _ in range(depth):
        value = [value]
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


@pytest.mark.requirement("core:golden:definitions")
@cases("definitions")
def test_definitions(case: Case) -> None:
    expect = case["expect"]
    if "raises" in expect:
        with pytest.raises(MnemonError) as caught:
            from_wire(MANIFESTS[case["kind"]], case["manifest"])
        assert caught.value.code == expect["raises"]
    else:
        manifest = from_wire(MANIFESTS[case["kind"]], case["manifest"])
        assert to_wire(manifest) == expect["normalized"]


def without_messages(diagnostics: Any) -> list[dict[str, Any]]:
    return [{k: v for k, v in item.items() if k != "message"} for item in diagnostics]


@pytest.mark.requirement("core:golden:compile")
@cases("compile")
async def test_compile(case: Case) -> None:
    trace: list[str] = []
    expect = case["expect"]
    async with anyio.create_task_group() as tasks:
        host = GenerationHost(options_from(case["input"].get("options"), now=now), tasks)
        if "raises" in expect:
            with pytest.raises(MnemonError) as caught:
                host.reconcile(snapshot_from(case["input"], trace))
            assert caught.value.code == expect["raises"]
            return
        report = to_wire(host.reconcile(snapshot_from(case["input"], trace)))
        await host.idle()
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
                generation, view, step["action"], step["input"], authorize=authorize
            )
            wire = to_wire(receipt)
            assert wire.pop("viewId") == view.id
            return {"receipt": wire}
        evidence = await execute_route(
            generation,
            view,
            step["route"],
            step["input"],
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
            script = Script(tasks)
            try:
                got = [await script.run(step) for step in case["script"]]
                assert got == case["expect"]
            finally:
                script.finish()


class Script:
    """Runs the steps of one generation script."""

    def __init__(self, tasks: anyio.abc.TaskGroup) -> None:
        self.trace: list[str] = []
        self.tasks = tasks
        self.host = GenerationHost(options_from(None, now=now), tasks)
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
        lease = self.host.acquire(self.labels[wanted] if wanted else None)
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
    wake = create_wake(view_of(case["input"]["view"]), bound_by(case))
    expect = case["expect"]
    blocks = [parsed(block) for block in wake.text.split("\n\n")] if wake.text else []
    if is_informative(case):
        # D2: the bounded cover of a routed Source always reaches the model.
        covers = [f["text"] for f in case["input"]["view"]["projection"] if f["mode"] == "routed"]
        shown = [
            entry.get("cover")
            for b in blocks
            if b.get("block") == "MNEMON VIEW ROUTES"
            for entry in b["payload"]
        ]
        assert shown == covers
    else:
        assert blocks == expect["blocks"]
    assert [to_wire(section) for section in wake.sections] == expect["sections"]
    assert (wake.view_id, wake.view_digest) == (expect["viewId"], expect["viewDigest"])


def bound_by(case: Case) -> dict[str, str]:
    """Flatten the bindings of routes and of actions: their ids never meet."""
    return {key: tool for kind in case["input"]["bindings"].values() for key, tool in kind.items()}


def is_informative(case: Case) -> bool:
    """Tell cases of the rule that D2 replaces: a cover whose routes are all bound is hidden."""
    view, bound = case["input"]["view"], bound_by(case)
    covered = {f["sourceInstanceKey"] for f in view["projection"] if f["mode"] == "routed"}
    hidden = [
        key
        for key in covered
        if any(r["sourceInstanceKey"] == key and r["id"] in bound for r in view["routes"])
    ]
    return bool(hidden)


def parsed(block: str) -> dict[str, Any]:
    for title in ("MNEMON VIEW TOOLS", "MNEMON VIEW ROUTES", "MNEMON VIEW AVAILABILITY"):
        if block.startswith(f"{title} ("):
            payload = block.split("): ", 1)[1]
            return {
                "block": title,
                "payload": payload if title.endswith("TOOLS") else json.loads(payload),
            }
    return {"eager": block}
