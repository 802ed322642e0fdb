import gc
from contextlib import asynccontextmanager

import anyio
import attrs
import pytest
from dsh_mnemon_core._engine.serving import GenerationHost
from dsh_mnemon_core.errors import (
    BudgetExhausted,
    CompositionUnavailable,
    LifecycleError,
    MnemonError,
    SourceFault,
    TurnError,
    ViewRejected,
)
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.turns import TurnManager

SCOPE = OperationScope(storage="workspace", workspace_id="/w", agent_id="main")
CHILD = OperationScope(storage="workspace", workspace_id="/w", session_id="s", agent_id="child")
SEARCH, SAVE = "source:alpha/search", "source:alpha/save"


@attrs.define
class Stage:
    """A generation host with its turns, and what its Sources have disposed."""

    bench: object
    host: GenerationHost
    turns: TurnManager
    gone: list
    revision: int = 0

    def serve(self, *definitions):
        """Compose a new generation of these definitions and the plain Strategy."""
        self.revision += 1
        given = definitions or (self.source(),)
        snapshot = self.bench.snapshot(*given, self.bench.strategy(), revision=self.revision)
        report = self.host.reconcile(snapshot)
        assert report.state == "ready"
        return report.generation_id

    def source(self, type_id="alpha", **callbacks):
        async def dispose(source):
            self.gone.append(source.key)

        return self.bench.source(type_id, **{"dispose": dispose, **callbacks})

    def leases(self):
        return {
            key: record.leases for key, record in self.host._generations.items() if record.leases
        }

    @asynccontextmanager
    async def gated(self):
        """Serve a Source whose facts wait; yields the gate and the list of those that wait."""
        gate, waiting = anyio.Event(), []

        async def facts(source, request):
            waiting.append(request)
            await gate.wait()
            return source.known()

        self.serve(self.source(facts=facts))
        yield gate, waiting


@pytest.fixture
async def stage(anyio_backend, bench):
    """Return a stage; at the end nothing may be leased and nothing may run."""
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            host = GenerationHost(bench.options(), tasks)
            stage = Stage(bench, host, TurnManager(host, tasks), [])
            yield stage
            stage.turns.dispose()
            await host.dispose()
        assert stage.leases() == {}


async def settle():
    """Let cancellations reach the innermost task and come back."""
    for _ in range(20):
        await anyio.lowlevel.checkpoint()
    await anyio.wait_all_tasks_blocked()


async def refusal(awaitable, kind=TurnError):
    with pytest.raises(kind) as caught:
        await awaitable
    return caught.value.code


def refused(call, *args):
    with pytest.raises(TurnError) as caught:
        call(*args)
    return caught.value.code


class TestBegin:
    async def test_a_turn_pins_a_view_under_a_lease(self, stage):
        serving = stage.serve()
        context = await stage.turns.begin_turn("t", SCOPE)
        assert (context.turn_id, context.scope) == ("t", SCOPE)
        assert context.view.scope == SCOPE
        assert context.started_at == "2026-01-02T03:04:05.678Z"
        assert stage.turns.turn("t") is context
        assert stage.leases() == {serving: 1}
        with pytest.raises(AttributeError):
            context.view = None

    async def test_the_scenario_reaches_the_sources(self, stage):
        seen = []

        async def facts(source, request):
            seen.append(request.scenario)
            return source.known()

        stage.serve(stage.source(facts=facts))
        await stage.turns.begin_turn("a", SCOPE)
        await stage.turns.begin_turn("b", SCOPE, "agent.review")
        assert seen == ["agent.root-turn", "agent.review"]

    async def test_the_same_turn_is_the_same_context(self, stage):
        serving = stage.serve()
        first = await stage.turns.begin_turn("t", SCOPE)
        assert await stage.turns.begin_turn("t", SCOPE) is first
        assert stage.leases() == {serving: 1}

    @pytest.mark.parametrize(
        "change",
        [
            {"storage": "global"},
            {"workspace_id": "/other"},
            {"session_id": "s"},
            {"agent_id": "other"},
        ],
    )
    async def test_a_turn_has_one_scope(self, stage, change):
        stage.serve()
        other = attrs.evolve(SCOPE, **change)
        await stage.turns.begin_turn("t", SCOPE)
        assert await refusal(stage.turns.begin_turn("t", other)) == "turn-scope-conflict"

    async def test_a_turn_being_prepared_has_one_scope_too(self, stage):
        async with stage.gated() as (gate, _), anyio.create_task_group() as group:
            group.start_soon(stage.turns.begin_turn, "t", SCOPE)
            await anyio.wait_all_tasks_blocked()
            assert await refusal(stage.turns.begin_turn("t", CHILD)) == "turn-scope-conflict"
            gate.set()

    @pytest.mark.parametrize("turn_id", ["", "  "])
    async def test_a_turn_needs_an_id(self, stage, turn_id):
        stage.serve()
        assert await refusal(stage.turns.begin_turn(turn_id, SCOPE)) == "turn-id-required"
        assert refused(stage.turns.pin_turn, turn_id, SCOPE, "view:x") == "turn-id-required"

    async def test_without_a_composition_there_is_no_turn(self, stage):
        code = await refusal(stage.turns.begin_turn("t", SCOPE), CompositionUnavailable)
        assert code == "memory-composition-unavailable"
        stage.serve()
        assert await stage.turns.begin_turn("t", SCOPE)

    async def test_a_bad_scenario_takes_no_lease(self, stage):
        stage.serve()
        assert (
            await refusal(stage.turns.begin_turn("t", SCOPE, " "), MnemonError) == "text-required"
        )
        assert stage.leases() == {}

    async def test_a_failed_preparation_releases_its_lease_and_its_id(self, stage):
        failing = [True]

        async def facts(source, _request):
            return source.known(role="narrative" if failing else source.manifest.role)

        stage.serve(stage.source(facts=facts))
        code = await refusal(stage.turns.begin_turn("t", SCOPE), ViewRejected)
        assert code == "facts-role-mismatch"
        assert stage.leases() == {}
        failing.clear()
        assert await stage.turns.begin_turn("t", SCOPE)


class TestJoin:
    async def test_callers_join_one_preparation(self, stage):
        contexts = []

        async def begin():
            contexts.append(await stage.turns.begin_turn("t", SCOPE))

        async with stage.gated() as (gate, waiting), anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(begin)
            await anyio.wait_all_tasks_blocked()
            assert len(waiting) == 1
            gate.set()
        assert len(set(map(id, contexts))) == 1
        assert list(stage.leases().values()) == [1]

    async def test_all_who_joined_meet_the_same_error(self, stage):
        codes = []

        async def facts(source, _request):
            await gate.wait()
            return source.known(role="narrative")

        async def begin():
            codes.append(await refusal(stage.turns.begin_turn("t", SCOPE), ViewRejected))

        gate = anyio.Event()
        stage.serve(stage.source(facts=facts))
        async with anyio.create_task_group() as group:
            group.start_soon(begin)
            group.start_soon(begin)
            await anyio.wait_all_tasks_blocked()
            gate.set()
        assert codes == ["facts-role-mismatch"] * 2

    @pytest.mark.requirement("core:turns:cancel")
    async def test_a_cancelled_caller_ends_only_its_own_wait(self, stage):
        contexts = []

        async def begin():
            contexts.append(await stage.turns.begin_turn("t", SCOPE))

        async with stage.gated() as (gate, waiting), anyio.create_task_group() as group:
            group.start_soon(begin)
            await anyio.wait_all_tasks_blocked()
            with anyio.move_on_after(0.01):
                await stage.turns.begin_turn("t", SCOPE)
            gate.set()
        assert len(waiting) == 1
        assert contexts == [stage.turns.turn("t")]

    @pytest.mark.requirement("core:turns:cancel")
    async def test_what_everybody_gave_up_ends(self, stage):
        async with stage.gated() as (_, waiting):
            with anyio.move_on_after(0.01):
                await stage.turns.begin_turn("t", SCOPE)
            await settle()
            assert len(waiting) == 1
            assert stage.leases() == {}
            assert stage.turns.turn("t") is None
            assert not stage.turns.end_turn("t")

    @pytest.mark.requirement("core:turns:cancel")
    async def test_giving_up_a_lost_turn_leaves_its_successor_alone(self, stage):
        contexts = []

        async def begin():
            contexts.append(await stage.turns.begin_turn("t", SCOPE))

        async def lose():
            with impatient:
                await stage.turns.begin_turn("t", SCOPE)

        impatient = anyio.CancelScope()
        async with stage.gated() as (gate, waiting), anyio.create_task_group() as group:
            group.start_soon(lose)
            await anyio.wait_all_tasks_blocked()
            assert stage.turns.end_turn("t")
            group.start_soon(begin)
            impatient.cancel()
            await settle()
            assert len(waiting) == 2
            gate.set()
        assert contexts == [stage.turns.turn("t")]


class TestEnd:
    async def test_the_pin_is_released(self, stage):
        stage.serve()
        await stage.turns.begin_turn("t", SCOPE)
        assert stage.turns.end_turn("t")
        assert stage.leases() == {}
        assert not stage.turns.end_turn("t")
        assert stage.turns.turn("t") is None

    async def test_a_preparation_is_cancelled_and_its_callers_are_told(self, stage):
        codes = []

        async def begin():
            codes.append(await refusal(stage.turns.begin_turn("t", SCOPE)))

        async with stage.gated() as (_, _waiting), anyio.create_task_group() as group:
            group.start_soon(begin)
            group.start_soon(begin)
            await anyio.wait_all_tasks_blocked()
            assert stage.turns.end_turn("t")
        assert codes == ["turn-ended"] * 2
        assert stage.leases() == {}

    @pytest.mark.requirement("core:turns:no-leak")
    async def test_a_turn_ended_as_its_view_is_complete_pins_nothing(self, stage):
        async def project(source, request):
            stage.turns.end_turn("t")
            return source.shown(request)

        stage.serve(stage.source(project=project))
        assert await refusal(stage.turns.begin_turn("t", SCOPE)) == "turn-ended"
        assert stage.turns.turn("t") is None
        assert stage.leases() == {}

    @pytest.mark.requirement("core:turns:no-leak")
    async def test_a_turn_ended_beyond_the_last_checkpoint_pins_nothing(self, stage):
        clock = stage.host.options.now

        def now():
            stage.turns.end_turn("t")  # the View is stamped after everything was awaited
            return clock()

        stage.host.options = stage.bench.options(now=now)
        stage.serve()
        assert await refusal(stage.turns.begin_turn("t", SCOPE)) == "turn-ended"
        assert stage.turns.turn("t") is None
        assert stage.leases() == {}

    async def test_operations_in_flight_keep_the_generation(self, stage):
        gate = anyio.Event()

        async def query(source, request):
            await gate.wait()
            return source.found(request)

        answers = []

        async def read():
            answers.append(await stage.turns.execute_route("t", SEARCH, {}))

        stage.serve(stage.source(query=query))
        await stage.turns.begin_turn("t", SCOPE)
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            stage.turns.end_turn("t")
            stage.serve()
            await anyio.wait_all_tasks_blocked()
            assert stage.gone == []
            gate.set()
        await stage.host.idle()
        assert stage.gone == ["source:alpha"]
        assert len(answers) == 1


class TestExecute:
    @pytest.mark.requirement("core:ledger:turn")
    async def test_turns_that_share_a_view_id_share_no_budget(self, stage):
        stage.serve()
        first = await stage.turns.begin_turn("a", SCOPE)
        second = await stage.turns.begin_turn("b", SCOPE)
        assert first.view.id == second.view.id
        for _ in range(2):
            await stage.turns.execute_route("a", SEARCH, {})
        code = await refusal(stage.turns.execute_route("a", SEARCH, {}), BudgetExhausted)
        assert code == "route-calls-exhausted"
        assert (await stage.turns.execute_route("b", SEARCH, {})).view_id == first.view.id

    async def test_an_action_needs_authority_now(self, stage):
        stage.serve()
        await stage.turns.begin_turn("t", SCOPE)
        answers = iter([True, False])

        async def authorize(_offer):
            return next(answers)

        act = stage.turns.execute_action
        assert (await act("t", SAVE, {}, authorize=authorize)).status == "succeeded"
        assert await refusal(act("t", SAVE, {}, authorize=authorize), MnemonError) == (
            "action-unauthorized"
        )

    async def test_only_a_pinned_turn_executes(self, stage):
        async def authorize(_offer):
            return True

        stage.serve()
        read, act = stage.turns.execute_route, stage.turns.execute_action
        assert await refusal(read("t", SEARCH, {})) == "turn-not-pinned"
        assert await refusal(act("t", SAVE, {}, authorize=authorize)) == "turn-not-pinned"

    @pytest.mark.requirement("core:lease:draining")
    async def test_a_turn_keeps_its_generation_while_another_serves(self, stage):
        old = stage.serve()
        await stage.turns.begin_turn("t", SCOPE)
        new = stage.serve(stage.source(), stage.source("beta"))
        evidence = await stage.turns.execute_route("t", SEARCH, {})
        assert evidence.source_instance_key == "source:alpha"
        assert stage.leases() == {old: 1}
        fresh = await stage.turns.begin_turn("u", SCOPE)
        assert fresh.view.runtime_generation == new

    async def test_a_failed_operation_releases_its_lease(self, stage):
        async def fail(_source, _request):
            raise OSError

        stage.serve(stage.source(query=fail))
        await stage.turns.begin_turn("t", SCOPE)
        before = stage.leases()
        await refusal(stage.turns.execute_route("t", SEARCH, {}), SourceFault)
        assert stage.leases() == before


async def test_the_active_turn_of_an_agent_is_the_latest_pinned(stage):
    gate = anyio.Event()

    async def facts(source, request):
        if request.scenario == "slow":
            await gate.wait()
        return source.known()

    stage.serve(stage.source(facts=facts))
    async with anyio.create_task_group() as group:
        group.start_soon(stage.turns.begin_turn, "slow", SCOPE, "slow")
        await anyio.wait_all_tasks_blocked()
        assert stage.turns.active_turn("main") is None
        await stage.turns.begin_turn("quick", SCOPE)
        assert stage.turns.active_turn("main").turn_id == "quick"
        gate.set()
    await stage.turns.begin_turn("child", CHILD)
    assert stage.turns.active_turn("main").turn_id == "slow"
    stage.turns.end_turn("slow")
    assert stage.turns.active_turn("main").turn_id == "quick"
    assert stage.turns.active_turn("child").turn_id == "child"
    assert stage.turns.active_turn("nobody") is None


@pytest.mark.requirement("core:delegation:retained")
class TestDelegation:
    async def test_a_child_keeps_the_parents_view_beyond_turn_and_generation(self, stage):
        old = stage.serve()
        parent = await stage.turns.begin_turn("p", SCOPE)
        release = stage.turns.retain_view(parent.view.id)
        stage.turns.end_turn("p")
        stage.serve()
        child = stage.turns.pin_turn("c", CHILD, parent.view.id)
        assert child.view is parent.view
        assert child.scope == CHILD
        assert (await stage.turns.execute_route("c", SEARCH, {})).view_id == parent.view.id
        stage.turns.end_turn("c")
        assert stage.leases() == {old: 1}
        release()
        release()
        await stage.host.idle()
        assert stage.gone == ["source:alpha"]
        assert refused(stage.turns.pin_turn, "d", CHILD, parent.view.id) == "view-not-pinned"

    @pytest.mark.requirement("core:ledger:turn")
    async def test_parent_and_child_have_budgets_of_their_own(self, stage):
        stage.serve()
        parent = await stage.turns.begin_turn("p", SCOPE)
        stage.turns.pin_turn("c", CHILD, parent.view.id)
        for turn in ("p", "c"):
            for _ in range(2):
                await stage.turns.execute_route(turn, SEARCH, {})
            await refusal(stage.turns.execute_route(turn, SEARCH, {}), BudgetExhausted)

    async def test_a_view_serves_its_own_storage_and_workspace(self, stage):
        stage.serve()
        view_id = (await stage.turns.begin_turn("p", SCOPE)).view.id
        for change in ({"storage": "global"}, {"workspace_id": "/other"}):
            other = attrs.evolve(CHILD, **change)
            assert refused(stage.turns.pin_turn, "c", other, view_id) == "delegation-scope-mismatch"

    async def test_a_pinned_id_keeps_its_authority(self, stage):
        stage.serve()
        first = (await stage.turns.begin_turn("p", SCOPE)).view.id
        child = stage.turns.pin_turn("c", CHILD, first)
        assert stage.turns.pin_turn("c", CHILD, first) is child
        assert await stage.turns.begin_turn("c", CHILD) is child
        for scope, view in ((SCOPE, first), (CHILD, "view:other")):
            assert refused(stage.turns.pin_turn, "c", scope, view) == "turn-authority-changed"

    async def test_an_id_that_is_being_prepared_cannot_be_pinned(self, stage):
        async with stage.gated() as (gate, _), anyio.create_task_group() as group:
            group.start_soon(stage.turns.begin_turn, "t", SCOPE)
            await anyio.wait_all_tasks_blocked()
            assert refused(stage.turns.pin_turn, "t", SCOPE, "view:x") == "turn-preparing"
            assert refused(stage.turns.retain_view, "view:x") == "view-not-pinned"
            gate.set()

    async def test_a_view_is_retained_as_often_as_it_is_asked_for(self, stage):
        serving = stage.serve()
        view_id = (await stage.turns.begin_turn("p", SCOPE)).view.id
        releases = [stage.turns.retain_view(view_id) for _ in range(2)]
        stage.turns.end_turn("p")
        assert stage.leases() == {serving: 2}
        releases[0]()
        releases[0]()
        assert stage.leases() == {serving: 1}
        releases.append(stage.turns.retain_view(view_id))
        releases[1]()
        assert stage.leases() == {serving: 1}
        releases[2]()
        assert stage.leases() == {}

    async def test_a_drained_view_cannot_be_pinned(self, stage):
        stage.serve()
        view = (await stage.turns.begin_turn("p", SCOPE)).view
        stage.turns.end_turn("p")
        assert refused(stage.turns.retain_view, view.id) == "view-not-pinned"


@pytest.mark.requirement("core:turns:no-leak")
async def test_disposal_ends_preparations_pins_and_retained_views(stage):
    stage.serve()
    view_id = (await stage.turns.begin_turn("p", SCOPE)).view.id
    release = stage.turns.retain_view(view_id)
    codes = []

    async def begin():
        codes.append(await refusal(stage.turns.begin_turn("t", SCOPE)))

    async with stage.gated(), anyio.create_task_group() as group:
        group.start_soon(begin)
        await anyio.wait_all_tasks_blocked()
        stage.turns.dispose()
    assert codes == ["turn-ended"]
    assert stage.leases() == {}
    release()
    assert stage.leases() == {}
    await stage.host.dispose()
    code = await refusal(stage.turns.begin_turn("late", SCOPE), LifecycleError)
    assert code == "host-disposed"
    assert stage.turns.turn("late") is None


@pytest.mark.requirement("core:ledger:turn")
async def test_an_ended_turn_leaves_no_ledger(stage):
    stage.serve()
    await stage.turns.begin_turn("t", SCOPE)
    await stage.turns.execute_route("t", SEARCH, {})
    with stage.host.acquire() as lease:
        assert len(lease.generation.ledgers) == 1
        stage.turns.end_turn("t")
        gc.collect()
        assert len(lease.generation.ledgers) == 0
