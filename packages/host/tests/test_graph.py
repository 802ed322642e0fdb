import pytest
from dsh_mnemon_core.instant import utc_now
from dsh_mnemon_core.plugin import Contributions
from dsh_mnemon_core.runtime import open_runtime
from dsh_mnemon_core.sdk import SourceDefinition, SourceManifest
from dsh_mnemon_host.config import HostConfig, resolve
from dsh_mnemon_host.graph import build_graph


async def test_default_source_gets_what_the_layout_says(home):
    limits = {"runtimeMemory": {"memoryLimitBytes": 777}}
    async with home.open(overrides=limits) as host:
        graph = await host.graph()
        options = graph.attachment.host.options
        with graph.attachment.host.acquire() as lease:
            [source] = lease.generation.sources
        given = options.source_configuration(source.record)
        assert given["dataDir"] == str(home.data) == str(graph.layout.root)
        assert given["memoryLimitBytes"] == 777
        assert options.source_secrets(source.record) == {}
        assert options.source_timeout_ms == 10_000
        assert options.strategy_type_id == "default-three-tier"
        assert graph.evaluation.state == "ready"


async def test_capability_ceiling_follows_the_settings(home, told, told_rows):
    overrides = {"memoryTopology": {"layers": {"runtime": {"participation": {"write": "manual"}}}}}
    async with home.open(*told_rows(), overrides=overrides) as host, host.agent().turn():
        view = host.lifecycle.memory("main").view
        assert view.action_offers == ()
        assert [route.source_route_id for route in view.routes] == ["look"]


@pytest.mark.parametrize("agent", [None, "a"])
async def test_scope_carries_the_agent_twice(home, agent):
    async with home.open(settings="storageScope: workspaces\n") as host:
        scope = (await host.graph()).scope(host.workspace, agent)
    assert scope.storage == "workspaces"
    assert scope.workspace_id == str(home.workspace)
    assert scope.agent_id == scope.session_id == agent


async def test_source_that_cannot_be_created_is_left_out_and_named(home, told_rows):
    manifest = SourceManifest(
        type_id="broken",
        package_name="broken",
        role="other",
        capabilities=("status",),
        consistency="exact-snapshot",
    )
    broken = SourceDefinition(manifest=manifest, create=lambda _context: object())
    row = home.row("broken", Contributions(sources=(broken,)))
    async with home.open(*told_rows(), row) as host, host.agent().turn():
        note, *_ = (await host.graph()).evaluation.diagnostics
        assert (note.code, note.contribution_instance_key) == (
            "source-runtime-invalid",
            "source:broken",
        )
        assert host.lifecycle.memory("main").view is not None


async def test_settings_under_which_a_source_cannot_be_made_are_refused(home, told, told_rows):
    async with home.open(*told_rows()) as host:
        made = host.live.current
        told.failures["create"] = ValueError("not with these settings")
        home.settings.write_text("timeoutMs: 6000\n", encoding="utf-8")
        async with host.agent().turn():
            assert host.live.current is made
            assert host.lifecycle.memory("main").view is not None
        del told.failures["create"]
        home.settings.write_text("timeoutMs: 7000\n", encoding="utf-8")
        async with host.agent().turn():
            assert host.live.config.config.timeout_ms == 7_000


async def test_nothing_installed_is_incomplete_not_rejected():
    config = resolve(HostConfig(), {}, "/home/nobody")
    async with open_runtime() as runtime:
        graph = await build_graph(runtime, config, "/w", utc_now)
        assert graph.evaluation.state == "incomplete"
        assert graph.attachment.host.serving_id is None
        await graph.dispose()
