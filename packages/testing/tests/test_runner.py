"""Plugins at work in the real engine."""

import asyncio
import json

import anyio
import pytest
from dsh_mnemon_core.errors import (
    AuthorityError,
    BudgetExhausted,
    CompositionUnavailable,
    ConfigurationError,
    LifecycleError,
    TurnError,
    ViewRejected,
)
from dsh_mnemon_core.fiber import Plugin
from dsh_mnemon_core.plugin import Contributions
from dsh_mnemon_core.scope import OperationScope, ViewBudget, ViewRequest
from dsh_mnemon_core.sdk import MEMORY_SERVICE, install_memory
from dsh_mnemon_testing import LeakedResources, MountedSource, VirtualClock, open_runner
from pydantic import BaseModel, ConfigDict

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
NOTES = {
    "typeId": "notes",
    "capabilities": ["project", "search", "write"],
    "routes": [
        {
            "id": "search",
            "description": "Finds.",
            "capability": "search",
            "inputSchema": TEXT,
            "maxCalls": 1,
        }
    ],
    "actions": [{"id": "add", "description": "Adds.", "capability": "write", "inputSchema": TEXT}],
}
EVERYTHING = {
    "projection": {"mode": "eager", "maxCharacters": 100},
    "routeIds": "offered",
    "actionIds": "offered",
}
ROUTE, ACTION = "source:notes/search", "source:notes/add"


class Config(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    size: int = 1


@pytest.fixture
def notes(fake_source):
    return fake_source(manifest=NOTES, project={"text": "cover", "grant": True})


@pytest.fixture
def plugin(notes):
    def apply(ctx, config):
        install_memory(ctx, Contributions(sources=(notes,)))

    return Plugin(name="notes", apply=apply, config_model=Config, requires=(MEMORY_SERVICE,))


@pytest.fixture
def everything(fake_strategy):
    return Contributions(strategies=(fake_strategy(compose=EVERYTHING),))


@pytest.mark.requirement("testing:runner:mount")
async def test_plugin_is_mounted_and_unmounted(memory_runner, plugin, everything, fake_trace):
    memory_runner.install("all", everything)
    unmount = await memory_runner.mount(plugin, config={"size": 2})
    report = memory_runner.inspect()
    assert json.loads(json.dumps(report)) == report
    assert report["evaluation"]["state"] == "ready"
    assert report["evaluation"]["sourceInstanceKeys"] == ["source:notes"]
    await unmount()
    await unmount()
    assert fake_trace[-1] == "dispose source:notes"
    assert memory_runner.inspect()["evaluation"]["state"] == "incomplete"
    with pytest.raises(CompositionUnavailable):
        await memory_runner.begin_turn()


@pytest.mark.requirement("testing:runner:mount")
async def test_plugin_is_named_by_its_instance(memory_runner, plugin):
    await memory_runner.mount(plugin, instance_id="mine")
    await memory_runner.mount(plugin, instance_id="yours", config=Config())
    keys = memory_runner.inspect()["evaluation"]["sourceInstanceKeys"]
    assert keys == ["source:mine", "source:yours"]


@pytest.mark.requirement("testing:runner:mount")
async def test_plugin_with_a_bad_configuration_is_not_mounted(memory_runner, plugin):
    with pytest.raises(ConfigurationError):
        await memory_runner.mount(plugin, config={"colour": "red"})
    assert memory_runner.inspect()["evaluation"]["sourceInstanceKeys"] == []


@pytest.mark.requirement("testing:runner:mount")
async def test_plugin_that_lacks_a_service_is_refused_until_it_is_provided(memory_runner):
    seen = []

    def apply(ctx, config):
        seen.append(ctx.require("clockwork"))

    plugin = Plugin(name="clock", apply=apply, requires=(MEMORY_SERVICE, "clockwork"))
    with pytest.raises(LifecycleError, match="clockwork") as caught:
        await memory_runner.mount(plugin)
    assert caught.value.code == "service-missing"
    memory_runner.provide("clockwork", "tick")
    await memory_runner.mount(plugin)
    assert seen == ["tick"]


@pytest.mark.requirement("testing:runner:install")
async def test_bare_definitions_are_removed(memory_runner, notes, everything):
    memory_runner.install("all", everything)
    remove = memory_runner.install("notes", Contributions(sources=(notes,)))
    assert memory_runner.inspect()["evaluation"]["state"] == "ready"
    await remove()
    assert memory_runner.inspect()["evaluation"]["state"] == "incomplete"


@pytest.fixture
async def serving(anyio_backend, memory_runner, notes, everything):
    memory_runner.install("notes", Contributions(sources=(notes,)))
    memory_runner.install("all", everything)
    return memory_runner


@pytest.mark.requirement("testing:runner:turn")
async def test_turn_has_the_documented_defaults(serving, fake_trace, frozen_now):
    turn = await serving.begin_turn()
    assert turn.view.scope == OperationScope(storage="custom")
    assert turn.view.created_at == "2026-01-02T03:04:05.678Z"
    assert [item.text for item in turn.view.projection] == ["cover"]
    assert turn.view.routes[0].max_results == ViewBudget().max_evidence_results


@pytest.mark.requirement("testing:runner:turn")
async def test_turn_takes_a_request(serving):
    scope = OperationScope(storage="workspace", workspace_id="/w")
    budget = ViewBudget(max_evidence_results=2)
    turn = await serving.begin_turn(ViewRequest(scope=scope, scenario="agent.x", budget=budget))
    assert turn.view.scope == scope
    assert turn.view.routes[0].max_results == 2


@pytest.mark.requirement("testing:runner:turn")
async def test_turn_executes_what_its_view_offers(serving, fake_trace):
    asked = []

    async def authorize(offer):
        asked.append(offer.id)
        return True

    with await serving.begin_turn() as turn:
        evidence = await turn.execute_route(ROUTE, {"text": "x"})
        assert [item.text for item in evidence.items] == ["one"]
        assert evidence.view_id == turn.view.id
        receipt = await turn.execute_action(ACTION, {"text": "x"}, authorize=authorize)
        assert receipt.completion == "committed"
        assert (await turn.execute_action(ACTION, {}, authorize=True)).status == "succeeded"
        with pytest.raises(AuthorityError) as refused:
            await turn.execute_action(ACTION, {}, authorize=False)
        assert refused.value.code == "action-unauthorized"
    assert asked == [ACTION]


@pytest.mark.requirement("testing:runner:turn")
async def test_every_turn_has_a_budget_of_its_own(serving):
    first, second = await serving.begin_turn(), await serving.begin_turn()
    assert first.view.id == second.view.id
    await first.execute_route(ROUTE, {})
    with pytest.raises(BudgetExhausted):
        await first.execute_route(ROUTE, {})
    await second.execute_route(ROUTE, {})


@pytest.mark.requirement("testing:runner:turn")
async def test_released_turn_does_nothing_more(serving):
    turn = await serving.begin_turn()
    turn.release()
    turn.release()
    for call in (turn.execute_route(ROUTE, {}), turn.execute_action(ACTION, {}, authorize=True)):
        with pytest.raises(TurnError) as caught:
            await call
        assert caught.value.code == "turn-ended"


@pytest.mark.requirement("testing:runner:turn")
async def test_turn_keeps_its_generation_until_it_is_released(memory_runner, notes, everything):
    memory_runner.install("all", everything)
    remove = memory_runner.install("notes", Contributions(sources=(notes,)))
    turn = await memory_runner.begin_turn()
    await remove()
    assert memory_runner.inspect()["drainingGenerationIds"] == [turn.view.runtime_generation]
    assert (await turn.execute_route(ROUTE, {})).items
    turn.release()
    await anyio.wait_all_tasks_blocked()
    assert memory_runner.inspect()["drainingGenerationIds"] == []


@pytest.mark.requirement("testing:runner:turn")
async def test_turn_that_cannot_be_composed_holds_nothing(memory_runner, fake_source, everything):
    source = fake_source(manifest=NOTES, facts={"role": "other"})
    memory_runner.install("all", everything)
    remove = memory_runner.install("notes", Contributions(sources=(source,)))
    with pytest.raises(ViewRejected):
        await memory_runner.begin_turn()
    await remove()
    assert memory_runner.inspect()["drainingGenerationIds"] == []


@pytest.mark.requirement("testing:runner:options")
async def test_options_see_a_description_of_each_source(fake_source, everything):
    seen = []

    def configuration(source):
        seen.append(source)
        return {"limit": 3}

    contexts = []
    definition = fake_source(manifest=NOTES, project={"grant": True})

    def create(context):
        contexts.append(context)
        return definition.create(context)

    async with open_runner(
        source_configuration=configuration,
        source_capabilities=lambda source: ["project"],
        source_secrets=lambda source: {"token": "t"},
        strategy_type_id="missing",
        strategy_fallback="sole-strategy",
        source_timeout_ms=50,
        now=VirtualClock(),
    ) as runner:
        watched = type(definition)(manifest=definition.manifest, create=create)
        runner.install("notes", Contributions(sources=(watched,)))
        runner.install("all", everything)
        turn = await runner.begin_turn()
        assert turn.view.routes == ()
        assert [item.code for item in turn.view.diagnostics or ()] == []
        codes = [item["code"] for item in runner.inspect()["evaluation"]["diagnostics"]]
        assert codes == ["strategy-fallback"]
    assert seen == [
        MountedSource(
            source_instance_key="source:notes",
            source_type_id="notes",
            role="working-context",
            package_name="fake-source",
        )
    ]
    assert contexts[0].configuration == {"limit": 3}
    assert contexts[0].secrets["token"].get_secret_value() == "t"


@pytest.mark.parametrize(
    "memory_runner", [{"strategy_instance_key": "strategy:second"}], indirect=True, ids=["second"]
)
@pytest.mark.requirement("testing:runner:options")
async def test_fixture_takes_options(memory_runner, notes, everything):
    memory_runner.install("notes", Contributions(sources=(notes,)))
    memory_runner.install("first", everything)
    memory_runner.install("second", everything)
    with await memory_runner.begin_turn() as turn:
        assert turn.view.strategy_instance_key == "strategy:second"


@pytest.mark.requirement("testing:runner:dispose")
async def test_closing_ends_what_is_under_way(notes, fake_source, everything, fake_trace):
    hanging = fake_source(manifest=NOTES, project={"grant": True}, query={"behaviour": "hang"})
    ended = []
    async with anyio.create_task_group() as tasks, open_runner() as runner:
        runner.install("all", everything)
        runner.install("notes", Contributions(sources=(hanging,)))
        turn = await runner.begin_turn()

        async def read():
            with pytest.raises(LifecycleError) as caught:
                await turn.execute_route(ROUTE, {})
            ended.append(caught.value.code)

        tasks.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        await runner.dispose()
        with pytest.raises(LifecycleError) as refused:
            await runner.begin_turn()
        assert refused.value.code == "runner-disposed"
        await runner.dispose()
    assert ended == ["runner-disposed"]
    assert fake_trace[-1] == "dispose source:notes"


@pytest.mark.requirement("testing:runner:dispose")
async def test_closing_aborts_a_beginning(fake_source, everything):
    slow = fake_source(manifest=NOTES, facts={"behaviour": "hang"})
    ended = []
    async with anyio.create_task_group() as tasks, open_runner() as runner:
        runner.install("all", everything)
        runner.install("notes", Contributions(sources=(slow,)))

        async def begin():
            with pytest.raises(LifecycleError) as caught:
                await runner.begin_turn()
            ended.append(caught.value.code)

        tasks.start_soon(begin)
        await anyio.wait_all_tasks_blocked()
        await runner.dispose()
    assert ended == ["runner-disposed"]


@pytest.mark.requirement("testing:runner:dispose")
async def test_beginning_that_misses_its_cancellation_lets_go(fake_source, everything):
    """A composition that completes while the runner closes must not pin anything."""
    closing = []
    definition = fake_source(manifest=NOTES, project={"grant": True})

    class Closing:
        def __init__(self, context):
            self.fake = definition.create(context)

        async def facts(self, request):
            return await self.fake.facts(request)

        async def project(self, request):
            closing[0].close()
            with anyio.CancelScope(shield=True):
                return await self.fake.project(request)

    async with open_runner() as runner:
        closing.append(runner._operations)
        watched = type(definition)(manifest=definition.manifest, create=Closing)
        runner.install("all", everything)
        runner.install("notes", Contributions(sources=(watched,)))
        with pytest.raises(LifecycleError) as caught:
            await runner.begin_turn()
    assert caught.value.code == "runner-disposed"


@pytest.mark.requirement("testing:runner:dispose")
async def test_everything_that_cannot_be_undone_is_told_at_once(notes, everything):
    def fails(ctx, config):
        ctx.defer(lambda: 1 / 0)

    async def run():
        async with open_runner() as runner:
            await runner.mount(Plugin(name="first", apply=fails))
            await runner.mount(Plugin(name="second", apply=fails))

    with pytest.raises(ExceptionGroup) as caught:
        await run()
    assert len(caught.value.exceptions) == 2
    assert caught.group_contains(ZeroDivisionError)


@pytest.mark.requirement("testing:runner:dispose")
async def test_failure_of_the_body_comes_first_and_unwrapped():
    def fails(ctx, config):
        ctx.defer(lambda: 1 / 0)

    async def run():
        async with open_runner() as runner:
            await runner.mount(Plugin(name="first", apply=fails))
            raise KeyError("body")

    with pytest.raises(KeyError):
        await run()


@pytest.mark.requirement("testing:runner:dispose")
async def test_cancellation_of_the_body_closes_and_goes_on(notes, everything, fake_trace):
    with anyio.move_on_after(0.05) as scope:
        async with open_runner() as runner:
            runner.install("all", everything)
            runner.install("notes", Contributions(sources=(notes,)))
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert fake_trace[-1] == "dispose source:notes"


@pytest.mark.requirement("testing:runner:leaks")
async def test_task_that_is_left_is_named():
    left = []

    async def start(ctx, config):
        left.append(asyncio.create_task(asyncio.Event().wait(), name="left"))

    with pytest.raises(LeakedResources, match="the task left runs on"):
        async with open_runner() as runner:
            await runner.mount(Plugin(name="leaky", apply=start))
    left[0].cancel()


@pytest.mark.requirement("testing:runner:leaks")
async def test_generation_that_is_left_is_named(notes, everything):
    async with open_runner() as runner:
        runner.install("all", everything)
        runner.install("notes", Contributions(sources=(notes,)))
        with pytest.raises(LeakedResources, match="a lease holds generation:"):
            await runner.check_leaks(())


@pytest.mark.requirement("testing:runner:inspect")
async def test_nothing_of_the_engine_is_handed_out(serving):
    turn = await serving.begin_turn()
    for thing in (serving, turn):
        shown = {name: getattr(thing, name) for name in dir(thing) if not name.startswith("_")}
        for name, value in shown.items():
            assert callable(value) or name == "view", name
