import anyio
import attrs
import pytest
from dsh_mnemon_core._engine.execute import execute_action, execute_route
from dsh_mnemon_core.errors import (
    AuthorityError,
    BudgetExhausted,
    ConflictError,
    ContractError,
    InputError,
    LifecycleError,
    MnemonError,
    SourceFault,
)
from dsh_mnemon_core.evidence import EvidenceItem
from dsh_mnemon_core.scope import ViewBudget
from dsh_mnemon_core.strategy import ReadLimits

SEARCH, SAVE = "source:alpha/search", "source:alpha/save"


class Turn:
    """The identity of an executing turn."""


@attrs.define
class Session:
    """A generation with its View, and one turn to execute in."""

    generation: object
    view: object
    turn: Turn = attrs.field(factory=Turn)

    async def read(self, input=None, *, route=SEARCH, turn=None, view=None, **more):
        return await execute_route(
            self.generation,
            view or self.view,
            route,
            {} if input is None else input,
            execution=turn or self.turn,
            **more,
        )

    async def act(self, input=None, *, offer=SAVE, authorize=None, view=None):
        async def allow(_offer):
            return True

        return await execute_action(
            self.generation,
            view or self.view,
            offer,
            {} if input is None else input,
            authorize=authorize or allow,
        )


@pytest.fixture
def open_session(bench):
    """Return a factory of sessions: callbacks of the Source, a turn policy, manifest fields."""

    async def open_(*more, create_turn=None, manifest=None, absent=(), budget=None, **callbacks):
        source = bench.source(manifest=manifest, absent=absent, **callbacks)
        generation = bench.generation(source, bench.strategy(create_turn=create_turn), *more)
        return Session(generation, await bench.view(generation, **(budget or {})))

    return open_


async def refusal(kind, awaitable):
    with pytest.raises(kind) as caught:
        await awaitable
    return caught.value.code


def listing(seen):
    """Return a query callback that notes its requests."""

    async def query(source, request):
        seen.append(request)
        return source.found(request)

    return query


class Policy:
    """A turn policy that does what a test says."""

    def __init__(self, query):
        self.query = query


def policy(query):
    """Return a ``create_turn`` whose policies answer with ``query`` and are counted on it."""
    query.made = []

    def create_turn(view):
        query.made.append(view)
        return Policy(query)

    return create_turn


class TestRoute:
    async def test_the_source_gets_its_own_grant_and_frozen_input(self, open_session):
        seen = []
        session = await open_session(query=listing(seen))
        given = {"tags": ["a"]}
        evidence = await session.read(given)
        (request,) = seen
        assert request.view == session.view.reference()
        assert request.grant == session.view.read_grants[0]
        assert request.input == {"tags": ("a",)}
        assert evidence.consistency == "exact-snapshot"

    async def test_the_view_must_be_this_generations(self, bench, open_session):
        session = await open_session()
        foreign = attrs.evolve(session.view, runtime_generation="generation:other")
        assert await refusal(LifecycleError, session.read(view=foreign)) == "generation-mismatch"
        assert await refusal(LifecycleError, session.act(view=foreign)) == "generation-mismatch"
        session.generation.open = False
        assert await refusal(LifecycleError, session.read()) == "generation-disposed"

    async def test_only_offered_routes_with_their_own_grant_are_read(self, open_session):
        session = await open_session()
        code = await refusal(AuthorityError, session.read(route="source:alpha/other"))
        assert code == "route-unavailable"
        view = session.view
        foreign = attrs.evolve(view.read_grants[0], source_instance_key="source:beta")
        other = attrs.evolve(view.read_grants[0], id="other")
        for grants in ((), (foreign,), (other,)):
            bare = attrs.evolve(view, read_grants=grants)
            assert await refusal(AuthorityError, session.read(view=bare)) == "route-grant-missing"

    async def test_ceilings_are_those_of_route_and_execution_budget(self, open_session):
        seen = []
        session = await open_session(
            query=listing(seen), manifest=None, budget={"max_evidence_results": 5}
        )
        await session.read(budget=ViewBudget(max_evidence_results=9, max_evidence_characters=7))
        route = seen[0].route
        assert (route.max_results, route.max_characters) == (5, 7)
        assert session.view.routes[0].max_characters == 16_384

    async def test_the_default_execution_budget_bounds_a_generous_view(self, open_session):
        seen = []
        session = await open_session(query=listing(seen), budget={"max_evidence_results": 99})
        await session.read()
        assert seen[0].route.max_results == 16
        assert session.view.routes[0].max_results == 99

    async def test_a_source_without_query(self, open_session):
        session = await open_session(absent=("query",))
        assert await refusal(ContractError, session.read()) == "source-cannot-query"

    async def test_errors_of_the_source(self, open_session):
        async def foreign(_source, _request):
            raise KeyError("secret")

        async def ours(_source, _request):
            raise ConflictError("own-code", "told")

        session = await open_session(query=foreign)
        with pytest.raises(SourceFault) as caught:
            await session.read()
        assert caught.value.code == "source-query-raised"
        assert isinstance(caught.value.__cause__, KeyError)
        assert "secret" not in caught.value.message
        session = await open_session(query=ours)
        assert await refusal(ConflictError, session.read()) == "own-code"


class TestBudget:
    @pytest.mark.requirement("core:ledger:turn")
    async def test_each_executing_turn_has_its_own_calls_of_a_shared_view(self, open_session):
        session = await open_session()
        await session.read()
        await session.read()
        assert await refusal(BudgetExhausted, session.read()) == "route-calls-exhausted"
        await session.read(turn=Turn())

    @pytest.mark.requirement("core:ledger:count")
    async def test_failed_and_cancelled_reads_stay_counted(self, open_session):
        hanging = anyio.Event()

        async def query(source, request):
            if request.input.get("hang"):
                hanging.set()
                await anyio.sleep_forever()
            raise OSError

        session = await open_session(query=query)
        await refusal(SourceFault, session.read())
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(session.read, {"hang": True})
                await hanging.wait()
                group.cancel_scope.cancel()
        assert await refusal(BudgetExhausted, session.read()) == "route-calls-exhausted"

    @pytest.mark.requirement("core:ledger:count")
    async def test_schema_errors_and_replays_are_not_counted(self, bench, open_session):
        schema = {"type": "object", "required": ["query"]}
        session = await open_session(
            manifest={"routes": (bench.route(input_schema=schema, max_calls=1),)}
        )
        for _ in range(3):
            assert await refusal(InputError, session.read({})) == "input-invalid"
        await session.read({"query": "x"})
        assert await refusal(BudgetExhausted, session.read({"query": "x"})) == (
            "route-calls-exhausted"
        )

    @pytest.mark.requirement("core:ledger:count")
    async def test_a_call_is_counted_before_it_is_dispatched(self, open_session):
        gate, running = anyio.Event(), []

        async def query(source, request):
            running.append(request)
            await gate.wait()
            return source.found(request)

        session = await open_session(query=query)
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(session.read)
                group.start_soon(session.read)
                await anyio.wait_all_tasks_blocked()
                assert len(running) == 2
                assert await refusal(BudgetExhausted, session.read()) == "route-calls-exhausted"
                gate.set()


class TestPolicy:
    async def test_it_is_made_lazily_once_a_turn(self, open_session):
        async def query(_route, _grant, input, read):
            return await read(input)

        session = await open_session(create_turn=policy(query))
        assert query.made == []
        await session.read()
        await session.read()
        assert query.made == [session.view]
        await session.read(turn=Turn())
        assert len(query.made) == 2

    async def test_it_sees_the_bounded_route_its_grant_and_frozen_input(self, open_session):
        seen = []

        async def query(route, grant, input, read):
            seen.append((route.max_results, grant.id, input))
            return await read(input)

        session = await open_session(create_turn=policy(query))
        await session.read({"a": [1]}, budget=ViewBudget(max_evidence_results=2))
        assert seen == [(2, "source:alpha/grant", {"a": (1,)})]

    @pytest.mark.requirement("core:ledger:count")
    async def test_a_replay_that_reads_nothing_costs_nothing(self, open_session):
        known = []

        async def query(_route, _grant, input, read):
            known[:] = known or [await read(input)]
            return known[0]

        session = await open_session(create_turn=policy(query))
        for _ in range(9):
            assert [item.id for item in (await session.read()).items] == ["one"]

    @pytest.mark.requirement("core:ledger:retry")
    async def test_a_retry_inside_a_policy_is_bounded_by_max_calls(self, open_session):
        async def query(_route, _grant, input, read):
            while True:
                try:
                    return await read(input)
                except SourceFault:
                    continue

        async def fail(_source, _request):
            raise OSError

        session = await open_session(create_turn=policy(query), query=fail)
        with anyio.fail_after(20):
            assert await refusal(BudgetExhausted, session.read()) == "route-calls-exhausted"

    async def test_limits_narrow_and_never_widen(self, open_session):
        seen = []

        async def query(_route, _grant, input, read):
            await read(input, ReadLimits(max_results=3))
            return await read(input, ReadLimits(max_results=99, max_characters=10_000_000))

        session = await open_session(create_turn=policy(query), query=listing(seen))
        await session.read()
        assert [(r.route.max_results, r.route.max_characters) for r in seen] == [
            (3, 16_384),
            (16, 16_384),
        ]

    @pytest.mark.parametrize("limits", [ReadLimits(max_results=0), ReadLimits(max_characters=True)])
    async def test_bad_limits_are_refused_uncounted(self, open_session, limits):
        async def query(_route, _grant, input, read):
            with pytest.raises(InputError):
                await read(input, limits)
            await read(input)
            return await read(input)

        session = await open_session(create_turn=policy(query))
        assert (await session.read()).items

    async def test_a_continuation_checks_its_input(self, bench, open_session):
        async def query(_route, _grant, _input, read):
            return await read({"limit": "many"})

        schema = {"properties": {"limit": {"type": "integer"}}}
        session = await open_session(
            create_turn=policy(query), manifest={"routes": (bench.route(input_schema=schema),)}
        )
        assert await refusal(InputError, session.read()) == "input-invalid"

    async def test_a_continuation_dies_with_its_call(self, open_session):
        kept = []

        async def query(_route, _grant, input, read):
            kept.append(read)
            return await read(input)

        session = await open_session(create_turn=policy(query))
        await session.read()
        assert await refusal(LifecycleError, kept[0]({})) == "continuation-inactive"

    async def test_a_continuation_needs_an_open_generation(self, open_session):
        async def query(_route, _grant, input, read):
            session.generation.open = False
            return await read(input)

        session = await open_session(create_turn=policy(query))
        assert await refusal(LifecycleError, session.read()) == "generation-disposed"

    async def test_its_answer_is_judged_with_the_ceilings_of_the_route(self, open_session):
        async def query(_route, _grant, input, read):
            evidence = await read(input, ReadLimits(max_results=1))
            item = EvidenceItem(id="added", text="x" * 8)
            return attrs.evolve(evidence, items=(item, *evidence.items), output={"a": [1]})

        session = await open_session(create_turn=policy(query))
        evidence = await session.read(budget=ViewBudget(max_evidence_characters=9))
        assert [item.id for item in evidence.items] == ["added"]
        assert evidence.truncated
        assert evidence.output == {"a": (1,)}

    async def test_its_answer_is_bound_like_any_other(self, open_session):
        async def query(_route, _grant, input, read):
            return attrs.evolve(await read(input), route_id="source:beta/search")

        session = await open_session(create_turn=policy(query))
        assert await refusal(ContractError, session.read()) == "evidence-unbound"

    async def test_a_policy_needs_a_query(self, open_session):
        session = await open_session(create_turn=lambda _view: object())
        assert await refusal(ContractError, session.read()) == "turn-policy-invalid"

    async def test_a_policy_that_raises(self, open_session):
        async def query(_route, _grant, _input, _read):
            raise KeyError("secret")

        session = await open_session(create_turn=policy(query))
        assert await refusal(ContractError, session.read()) == "turn-policy-raised"
        session = await open_session(create_turn=lambda _view: 1 / 0)
        assert await refusal(ContractError, session.read()) == "turn-policy-raised"

    async def test_cancellation_after_the_policy_is_not_swallowed(self, open_session):
        async def query(_route, _grant, input, read):
            evidence = await read(input)
            scope.cancel()
            return evidence

        session = await open_session(create_turn=policy(query))
        answers = []
        with anyio.CancelScope() as scope:
            answers.append(await session.read())
        assert scope.cancelled_caught
        assert answers == []


class TestAction:
    @pytest.mark.requirement("core:action:authorize")
    async def test_authority_is_asked_for_every_execution_after_the_schema(
        self, bench, open_session
    ):
        asked = []

        async def allow(offer):
            asked.append(offer.id)
            return True

        schema = {"type": "object", "required": ["text"]}
        session = await open_session(manifest={"actions": (bench.action(input_schema=schema),)})
        assert await refusal(InputError, session.act({}, authorize=allow)) == "input-invalid"
        assert asked == []
        for _ in range(2):
            await session.act({"text": "x"}, authorize=allow)
        assert asked == [SAVE, SAVE]

    @pytest.mark.requirement("core:action:authorize")
    @pytest.mark.parametrize("answer", [False, None, 1, "yes"])
    async def test_nothing_is_dispatched_without_authority(self, open_session, answer):
        sent = []

        async def mutate(source, request):
            sent.append(request)
            return source.changed(request)

        async def decide(_offer):
            return answer

        session = await open_session(mutate=mutate)
        code = await refusal(AuthorityError, session.act(authorize=decide))
        assert code == "action-unauthorized"
        assert sent == []

    async def test_the_source_gets_its_own_grant_or_none(self, bench, open_session):
        sent = []

        async def mutate(source, request):
            sent.append(request)
            return source.changed(request)

        session = await open_session(bench.source("beta"), mutate=mutate)
        await session.act({"a": [1]})
        own = [g for g in session.view.read_grants if g.source_instance_key == "source:alpha"]
        foreign = [g for g in session.view.read_grants if g not in own]
        await session.act(view=attrs.evolve(session.view, read_grants=tuple(foreign)))
        assert [request.grant for request in sent] == [own[0], None]
        assert sent[0].input == {"a": (1,)}
        assert sent[0].view == session.view.reference()

    async def test_only_offers_are_executed(self, open_session):
        session = await open_session()
        code = await refusal(AuthorityError, session.act(offer="source:alpha/other"))
        assert code == "action-unavailable"

    async def test_a_source_without_mutate(self, open_session):
        session = await open_session(absent=("mutate",))
        assert await refusal(ContractError, session.act()) == "source-cannot-mutate"

    async def test_errors_of_the_source(self, open_session):
        async def foreign(_source, _request):
            raise KeyError("secret")

        async def ours(_source, _request):
            raise ConflictError("revision-conflict", "told")

        session = await open_session(mutate=foreign)
        assert await refusal(SourceFault, session.act()) == "source-mutate-raised"
        session = await open_session(mutate=ours)
        assert await refusal(ConflictError, session.act()) == "revision-conflict"

    async def test_a_cancelled_caller_dispatches_nothing(self, open_session):
        sent = []

        async def mutate(source, request):
            sent.append(request)

        async def allow(_offer):
            scope.cancel()
            return True

        session = await open_session(mutate=mutate)
        with anyio.CancelScope() as scope:
            await session.act(authorize=allow)
        assert scope.cancelled_caught
        assert sent == []

    async def test_receipts_are_judged(self, open_session):
        async def mutate(source, request):
            return source.changed(request, completion="committed")

        session = await open_session(mutate=mutate)
        assert await refusal(ContractError, session.act()) == "receipt-commit-invalid"

    async def test_actions_have_no_call_budget(self, open_session):
        session = await open_session()
        for _ in range(9):
            assert (await session.act()).status == "succeeded"

    async def test_a_receipt_leaves_the_pinned_view_alone(self, open_session):
        session = await open_session()
        before = session.view.digest
        await session.act()
        assert session.view.digest == before
        assert (await session.act()).view_id == session.view.id


async def test_every_refusal_is_ours(open_session):
    session = await open_session()
    for call in (session.read(route="x"), session.act(offer="x")):
        with pytest.raises(MnemonError):
            await call
