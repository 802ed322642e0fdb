"""Turns under any interleaving of beginnings, cancellations, endings and delegations."""

import contextlib
from collections import Counter

import anyio
import pytest
from dsh_mnemon_core._engine.serving import GenerationHost
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.turns import TurnManager
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SCOPE = OperationScope(storage="custom")
IDS = st.sampled_from(("a", "b"))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), IDS),
        st.tuples(st.just("cancel"), st.integers(0, 5)),
        st.tuples(st.just("end"), IDS),
        st.tuples(st.just("answer"), st.none()),
        st.tuples(st.just("yield"), st.integers(1, 6)),
        st.tuples(st.just("retain"), IDS),
        st.tuples(st.just("release"), st.integers(0, 5)),
        st.tuples(st.just("pin"), st.tuples(IDS, IDS)),
        st.tuples(st.just("read"), IDS),
        st.tuples(st.just("serve"), st.none()),
    ),
    max_size=25,
)


class Play:
    """Performs steps on one host; Sources answer facts only when told to."""

    def __init__(self, bench, tasks):
        self.bench = bench
        self.tasks = tasks
        self.host = GenerationHost(bench.options(), tasks)
        self.turns = TurnManager(self.host, tasks)
        self.gate = anyio.Event()
        self.scopes = []
        self.releases = []
        self.revision = 0
        self.serve(None)

    def serve(self, _):
        self.revision += 1
        source = self.bench.source(facts=self.facts)
        self.host.reconcile(
            self.bench.snapshot(source, self.bench.strategy(), revision=self.revision)
        )

    async def facts(self, source, _request):
        await self.gate.wait()
        return source.known()

    def answer(self, _):
        self.gate.set()
        self.gate = anyio.Event()

    def begin(self, turn_id):
        scope = anyio.CancelScope()
        self.scopes.append(scope)
        self.tasks.start_soon(self.attempt, scope, self.turns.begin_turn, turn_id, SCOPE)

    def read(self, turn_id):
        scope = anyio.CancelScope()
        self.scopes.append(scope)
        read = self.turns.execute_route
        self.tasks.start_soon(self.attempt, scope, read, turn_id, "source:alpha/search", {})

    async def attempt(self, scope, call, *args):
        # A turn that ended or was never there is an answer too.
        with scope, contextlib.suppress(MnemonError):
            await call(*args)

    def cancel(self, number):
        if number < len(self.scopes):
            self.scopes[number].cancel()

    def end(self, turn_id):
        self.turns.end_turn(turn_id)

    def retain(self, turn_id):
        context = self.turns.turn(turn_id)
        if context is not None:
            self.releases.append(self.turns.retain_view(context.view.id))

    def release(self, number):
        if number < len(self.releases):
            self.releases[number]()

    def pin(self, ids):
        source, target = ids
        context = self.turns.turn(source)
        if context is not None and self.turns.turn(target) is None:
            try:
                self.turns.pin_turn(target, SCOPE, context.view.id)
            except MnemonError as error:
                if error.code != "turn-preparing":
                    raise

    def check(self):
        """Compare the leases with what is known to hold them, once nothing is on its way."""
        pinned = [self.turns.turn(turn_id) for turn_id in ("a", "b")]
        held = Counter(context.view.runtime_generation for context in pinned if context)
        held.update(view.runtime_generation for view in self.turns._retained.values())
        leases = {key: item.leases for key, item in self.host._generations.items()}
        assert {key: count for key, count in leases.items() if count} == dict(held)


@pytest.mark.requirement("core:turns:no-leak")
def test_no_interleaving_leaves_a_lease_behind(bench):
    async def run(steps):
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                play = Play(bench, tasks)
                for name, argument in steps:
                    if name == "yield":
                        for _ in range(argument):
                            await anyio.lowlevel.checkpoint()
                    else:
                        getattr(play, name)(argument)
                await anyio.wait_all_tasks_blocked()
                play.answer(None)
                await anyio.wait_all_tasks_blocked()
                play.check()
                play.turns.dispose()
                await play.host.dispose()
            assert play.host.draining_ids == ()

    @settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
    @given(STEPS)
    def holds(steps):
        anyio.run(run, steps)

    holds()
