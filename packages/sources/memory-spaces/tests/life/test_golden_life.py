"""Recorded registry files and placements (spec/sources.md §4.2, §4.3, §4.5)."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_source_memory_spaces._placement import Candidate, finalize, prepare
from dsh_mnemon_source_memory_spaces._spaces import NewSpace
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ExternalSpace,
    ProviderCapabilities,
    ProviderModule,
)
from dsh_mnemon_source_memory_spaces.testing import ReferenceService

GOLDEN = Path(__file__).parents[1] / "golden"
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((GOLDEN / name).read_text(encoding="utf-8"))
    return content


# -- registry -------------------------------------------------------------------------------------

ONE = ExternalSpace(external_id="proj/one", connection={"project": "one"})
TWO = ExternalSpace(
    external_id="proj/two", name="Two", description="Second", connection={"project": "two"}
)
SETTINGS = {"endpoint": "http://localhost:9000", "apiKey": "secret"}


class Script:
    """The steps of the recording by their names."""

    def __init__(self, life: Any, service: ReferenceService, stores: ReferenceService) -> None:
        self.life, self.service, self.stores = life, service, stores
        self.external = ""

    async def create(self) -> None:
        self.created = await self.life.spaces.create(
            NewSpace(name="First", description="About first")
        )

    async def discover(self) -> None:
        self.life.clock.tick()
        self.service.answer("discover", [ONE, TWO])
        await self.life.spaces.service_update("alpha", SETTINGS)
        catalogue = await self.life.spaces.current()
        self.external = catalogue.spaces[1].id

    async def rediscover(self) -> None:
        self.life.clock.tick()
        await self.life.spaces.update(self.external, name="Renamed")
        self.life.clock.tick()
        self.service.answer("discover", [ONE])
        await self.life.spaces.service_update("alpha", {})

    async def maintain(self) -> None:
        self.life.clock.tick()
        update = {
            "memoryBodyId": "default",
            "title": "Team facts",
            "description": "Stable team facts and decisions.",
        }
        await self.life.spaces.update_metadata([update])

    async def advance(self) -> None:
        await self.life.spaces.update("default", active=True)
        await self.life.spaces.update("default", active=False)

    async def disable(self) -> None:
        await self.life.spaces.service_update("alpha", {}, enabled=False)

    async def find(self) -> None:
        store = self.life.root / "data" / "found-store"
        store.mkdir()
        (store / "mnemon.db").touch()

    def play(self, step: str) -> Callable[[], Awaitable[None]]:
        words = {
            "first create": self.create,
            "service discovery": self.discover,
            "rediscovery": self.rediscover,
            "metadata": self.maintain,
            "updatedAt": self.advance,
            "disabling": self.disable,
            "existing store": self.find,
        }
        return next(play for start, play in words.items() if step.startswith(start))


def stored(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


@pytest.mark.requirement("memory-spaces:registry:recorded")
async def test_every_step_leaves_the_recorded_files(
    open_life: Callable[..., Awaitable[Any]],
    native: ProviderModule,
    alpha_manifest: Callable[..., Any],
    service: ReferenceService,
    stores: ReferenceService,
) -> None:
    from dsh_mnemon_source_memory_spaces.testing import reference_provider

    fields = [
        {"key": "endpoint", "label": "Endpoint", "scope": "service", "input": "url"},
        {"key": "apiKey", "label": "API key", "scope": "service", "input": "secret"},
        {"key": "project", "label": "Project", "scope": "memory", "input": "text"},
    ]
    manifest = alpha_manifest(fields=fields, secrets=["apiKey"])
    life = await open_life(native, reference_provider(service, manifest=manifest))
    golden = load("spaces-registry.json")
    script = Script(life, service, stores)
    for case in golden["steps"]:
        await script.play(case["step"])()
        if "files" in case:
            assert stored(life.native_file) == case["files"]["native"], case["step"]
            assert stored(life.external_file) == case["files"]["providers"], case["step"]
        catalogue = await life.spaces.current()
        if "view" in case:
            space = catalogue.get(case["view"]["id"])
            assert {key: getattr(space, key) for key in case["view"]} == case["view"]
        if "commands" in case:
            made = [["store", "create", name] for call, name in stores.calls]
            assert made == case["commands"]
        if "updatedAt" in case:
            assert catalogue.get("default").updated_at == case["updatedAt"]
        if "spaces" in case:
            shown = [{key: getattr(s, key) for key in case["spaces"][0]} for s in catalogue.spaces]
            assert shown == case["spaces"]
    if os.name == "posix":
        assert_modes(life.root, golden["modes"])


def assert_modes(root: Path, modes: dict[str, str]) -> None:
    for name, mode in modes.items():
        assert f"{stat.S_IMODE((root / name).stat().st_mode):o}" == mode, name


# -- placement ------------------------------------------------------------------------------------

PLACEMENT = load("spaces-placement.json")


def candidates() -> list[Candidate]:
    return [
        Candidate(
            **{key: item[key] for key in ("id", "label", "kind", "configured", "summary")},
            capabilities=ProviderCapabilities.model_validate(item["capabilities"]),
        )
        for item in PLACEMENT["candidates"]
    ]


def numbered(cases: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(case, id=str(number)) for number, case in enumerate(cases)]


@pytest.mark.requirement("memory-spaces:placement:rules")
@pytest.mark.parametrize("case", numbered(PLACEMENT["prepare"]))
def test_hard_rules_leave_the_recorded_candidates(case: dict[str, Any]) -> None:
    expected = case["expected"]
    if "error" in expected:
        with pytest.raises(InputError):
            prepare(case["input"], candidates(), now=NOW)
        return
    prepared = prepare(case["input"], candidates(), now=NOW)
    told = prepared.to_json()
    assert told["prompt"] == expected["prompt"]
    assert [candidate["id"] for candidate in told["candidates"]] == expected["candidates"]
    assert told["appliedRules"] == expected["appliedRules"]
    assert len(told["selectorBrief"].splitlines()) == expected["selectorBriefLines"]
    decision = told.get("decision")
    wanted = expected["rulesOnly"]
    assert (decision is None) == (wanted is None)
    if decision is not None:
        same = {key: value for key, value in wanted.items() if key != "reason"}
        assert {key: list(v) if isinstance(v, tuple) else v for key, v in decision.items()} == {
            **same,
            "reason": decision["reason"],
        }
        assert decision["reason"]


@pytest.mark.requirement("memory-spaces:placement:choice")
@pytest.mark.parametrize("case", numbered(PLACEMENT["finalize"]))
def test_a_selection_is_checked_and_recorded(case: dict[str, Any]) -> None:
    prepared = prepare({"mode": "automatic"}, candidates(), now=NOW)
    if "error" in case:
        with pytest.raises(InputError):
            finalize(prepared, case["input"], now=NOW)
        return
    expected = case["expected"]
    decision = finalize(
        prepared,
        case["input"],
        now=NOW,
        run_id=expected.get("runId"),
        subagent_provider=expected.get("subagentProvider"),
    )
    assert json.loads(json.dumps(decision)) == expected
