"""Memory Spaces as a plugin, and several Providers in Core's real engine (spec/core.md §18)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from dsh_mnemon_core.errors import AuthorityError, ConfigurationError, RegistrationError
from dsh_mnemon_core.fiber import open_root
from dsh_mnemon_core.plugin import Contributions
from dsh_mnemon_core.sdk import MEMORY_SERVICE, Context, NoConfig, Plugin, to_wire
from dsh_mnemon_core.strategy import StrategyDefinition
from dsh_mnemon_source_memory_spaces import (
    ChildEntry,
    Config,
    Decision,
    install_memory_spaces,
    plugin,
)
from dsh_mnemon_source_memory_spaces.provider_sdk import Insight, ProviderUnavailable
from dsh_mnemon_source_memory_spaces.testing.reference import (
    ReferenceService,
    reference_manifest,
    reference_provider,
)
from dsh_mnemon_testing import MemoryRunner

ROW = "mnemon-source-memory-spaces"
KEY = f"source:{ROW}"
EVERYTHING = {
    "projection": {"mode": "eager", "maxCharacters": 1000},
    "routeIds": "offered",
    "actionIds": "offered",
}
MODULE = """
from dsh_mnemon_source_memory_spaces.testing.reference import (
    ReferenceService, reference_manifest, reference_provider
)
provider = reference_provider(
    ReferenceService("notes"), manifest=reference_manifest("recorder")
)
"""


@pytest.fixture
def module_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The name of an importable Provider module."""
    name = "recorder_provider"
    (tmp_path / f"{name}.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    sys.modules.pop(name, None)


def row(entries: list[ChildEntry], **options: Any) -> Plugin:
    """Return a plugin that mounts Providers by hand."""

    async def apply(ctx: Context, _config: Any) -> None:
        await install_memory_spaces(ctx, entries, **options)

    return Plugin(name=ROW, apply=apply, config_model=NoConfig, requires=(MEMORY_SERVICE,))


@pytest.mark.requirement("memory-spaces:plugin")
class TestPlugin:
    def test_the_descriptor_can_be_read_before_anything_runs(self) -> None:
        described = to_wire(plugin.memory_plugin)
        assert described["packageName"] == plugin.name == "dsh-mnemon-source-memory-spaces"
        assert described["provides"] == [{"id": "source"}, {"id": "source.durable-evidence"}]
        assert set(described["label"]) == {"en", "zh-CN"}
        assert (plugin.config_model, plugin.requires) == (Config, (MEMORY_SERVICE,))

    async def test_a_row_mounts_the_providers_it_lists(
        self,
        memory_runner: MemoryRunner,
        fake_strategy: Callable[..., StrategyDefinition],
        tmp_path: Path,
        module_name: str,
    ) -> None:
        config = {"dataDir": str(tmp_path / "root"), "providers": [module_name, "absent_module"]}
        await memory_runner.mount(plugin, instance_id=ROW, config=config)
        strategy = fake_strategy(compose=EVERYTHING)
        memory_runner.install("strategy", Contributions(strategies=(strategy,)))
        client = memory_runner.management_client(KEY)
        services = (await client.read("provider-services"))["services"]
        assert [(item["providerId"], item["state"]) for item in services] == [
            ("recorder", "ready"),
            ("absent_module", "absent"),
        ]
        await client.mutate("provider-service-update", {"providerId": "recorder"})
        with await memory_runner.begin_turn() as turn:
            assert [fragment.text for fragment in turn.view.projection] == [
                "1 active of 1 configured Memory Space available through scoped recall."
            ]
            space = turn.view.read_grants[0].value["memoryBodyIds"][0]
            remember = {"content": "The build uses nox", "memoryBodyId": space}
            receipt = await turn.execute_action(f"{KEY}/remember", remember, authorize=True)
            assert (receipt.completion, receipt.status) == ("committed", "succeeded")
            assert receipt.details["result"]["memoryProviderLabel"] == "Recorder"
        with await memory_runner.begin_turn() as turn:
            evidence = await turn.execute_route(f"{KEY}/recall", {"query": "nox"})
            assert [item.text for item in evidence.items] == ["The build uses nox"]

    @pytest.mark.parametrize(
        ("providers", "code"),
        [([], "providers-empty"), (["absent_module"], "providers-failed")],
    )
    async def test_without_a_provider_it_refuses_to_mount(
        self, memory_runner: MemoryRunner, providers: list[str], code: str
    ) -> None:
        with pytest.raises(ConfigurationError) as caught:
            await memory_runner.mount(plugin, instance_id=ROW, config={"providers": providers})
        assert caught.value.code == code

    async def test_one_instance_id_twice_is_refused(
        self, memory_runner: MemoryRunner, module_name: str
    ) -> None:
        with pytest.raises(ConfigurationError) as caught:
            await memory_runner.mount(
                plugin, instance_id=ROW, config={"providers": [module_name, module_name]}
            )
        assert caught.value.code == "provider-duplicated"

    async def test_it_needs_a_place_in_a_profile_or_an_id(self) -> None:
        entries = [ChildEntry(use=reference_provider())]
        async with open_root() as root:
            root.provide(MEMORY_SERVICE, object())
            with pytest.raises(RegistrationError) as caught:
                await root.mount(row(entries))
            assert caught.value.code == "instance-id-missing"

    async def test_an_unknown_policy_is_refused(
        self,
        memory_runner: MemoryRunner,
        fake_strategy: Callable[..., StrategyDefinition],
        tmp_path: Path,
    ) -> None:
        config = Config.model_validate(
            {"dataDir": str(tmp_path), "recallQuality": {"policy": "my-own-v1"}}
        )
        entries = [ChildEntry(use=reference_provider())]
        strategy = fake_strategy(compose=EVERYTHING)
        memory_runner.install("strategy", Contributions(strategies=(strategy,)))
        await memory_runner.mount(row(entries, config=config), instance_id=ROW)
        assert "recall-policy-unknown" in json.dumps(memory_runner.inspect())


class KeepAll:
    """A policy of a third party, which keeps and chooses everything."""

    def candidate_limit(self, wanted: int, _thresholds: Any) -> int:
        return wanted

    def decide(self, _candidate: Any, _thresholds: Any) -> Decision:
        return Decision(keep=True, tier="unknown", reason="unscaled-score")

    def select(self, decisions: Any, wanted: int, _thresholds: Any) -> list[int]:
        return list(range(len(decisions)))[:wanted]


@pytest.mark.requirement("memory-spaces:engine")
class TestSeveralProviders:
    """Two Providers that are fused, and a third that misbehaves, in Core's engine."""

    @pytest.fixture
    def services(self) -> dict[str, ReferenceService]:
        return {
            name: ReferenceService("notes", key=f"{name}-secret")
            for name in ("alpha", "beta", "gamma")
        }

    @pytest.fixture
    async def turn(
        self,
        memory_runner: MemoryRunner,
        fake_strategy: Callable[..., StrategyDefinition],
        tmp_path: Path,
        services: dict[str, ReferenceService],
    ) -> Any:
        entries = [
            ChildEntry(use=reference_provider(service, manifest=reference_manifest(name)))
            for name, service in services.items()
        ]
        config = Config.model_validate({"dataDir": str(tmp_path), "timeoutMs": 150})
        await memory_runner.mount(row(entries, config=config), instance_id=ROW)
        strategy = fake_strategy(compose=EVERYTHING)
        memory_runner.install("strategy", Contributions(strategies=(strategy,)))
        client = memory_runner.management_client(KEY)
        for name, service in services.items():
            settings = {"apiKey": f"{name}-secret"}
            await client.mutate(
                "provider-service-update", {"providerId": name, "settings": settings}
            )
            service.namespaces["notes"].insights = {
                f"{name}-{n}": Insight(id=f"{name}-{n}", content=text)
                for n, text in enumerate(("nox runs the build", "nox is cached"), 1)
            }
        with await memory_runner.begin_turn() as begun:
            yield begun

    async def ask(self, turn: Any, query: str = "nox build", **more: Any) -> Any:
        with anyio.fail_after(5):
            return await turn.execute_route(f"{KEY}/recall", {"query": query, **more})

    async def test_ranks_are_fused(self, turn: Any) -> None:
        evidence = await self.ask(turn)
        assert [item.id for item in evidence.items] == [
            "alpha-1", "beta-1", "gamma-1", "alpha-2", "beta-2", "gamma-2",
        ]  # fmt: skip
        assert {item.provenance["relevanceTier"] for item in evidence.items} == {"high", "medium"}
        assert evidence.unavailable is None

    async def test_one_that_hangs_ends_with_the_deadline(
        self, turn: Any, services: dict[str, ReferenceService]
    ) -> None:
        services["gamma"].hang("search")
        began = anyio.current_time()
        evidence = await self.ask(turn)
        assert anyio.current_time() - began < 2
        assert [item.id for item in evidence.items] == ["alpha-1", "beta-1", "alpha-2", "beta-2"]
        assert "unavailable: no answer within 0.15 s" in evidence.metadata["hint"]

    async def test_when_all_fail_the_evidence_says_so_without_secrets(
        self, turn: Any, services: dict[str, ReferenceService]
    ) -> None:
        services["alpha"].hang("search")
        services["beta"].fail("search", ProviderUnavailable("beta-secret was refused"))
        services["gamma"].answer("search", "rubbish")
        evidence = await self.ask(turn)
        assert evidence.items == ()
        lines = evidence.unavailable.split("\n")
        assert len(lines) == 3
        assert "[redacted] was refused" in lines[1]
        assert "secret" not in str(to_wire(evidence))

    async def test_a_space_outside_the_grant_is_refused(self, turn: Any) -> None:
        with pytest.raises(AuthorityError) as caught:
            await self.ask(turn, memoryBodyIds=["elsewhere"])
        assert caught.value.code == "recall-space-outside-grant"

    async def test_a_registered_policy_is_used(
        self,
        memory_runner: MemoryRunner,
        fake_strategy: Callable[..., StrategyDefinition],
        tmp_path: Path,
    ) -> None:
        config = Config.model_validate(
            {"dataDir": str(tmp_path), "recallQuality": {"policy": "keep-all"}}
        )
        service = ReferenceService("notes")
        entries = [ChildEntry(use=reference_provider(service))]
        options = {"config": config, "policies": {"keep-all": KeepAll()}}
        await memory_runner.mount(row(entries, **options), instance_id=ROW)
        strategy = fake_strategy(compose=EVERYTHING)
        memory_runner.install("strategy", Contributions(strategies=(strategy,)))
        client = memory_runner.management_client(KEY)
        await client.mutate("provider-service-update", {"providerId": "reference"})
        found = await client.read("search", {"query": "x"})
        assert found["sources"][0]["quality"]["policyId"] == "keep-all"
