import itertools

import attrs
import pytest
from dsh_mnemon_core._engine.facts import read_facts
from dsh_mnemon_core._engine.proposal import collect_contributions, propose, sorted_diagnostics
from dsh_mnemon_core.errors import InputError, MnemonError, ViewRejected
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.strategy import ProjectionSpec, SourceSelection, StrategyNote
from dsh_mnemon_core.view import Diagnostic, Guidance, Reminders
from dsh_mnemon_core.wire import to_wire

SCOPE = OperationScope(storage="custom")
ALPHA, BETA = "source:alpha", "source:beta"


async def answer(bench, *definitions, budget=None, **options):
    """Read facts, collect contributions and judge the proposal."""
    generation = bench.generation(*definitions, **options)
    request = bench.request(**(budget or {}))
    known = await read_facts(generation, SCOPE, "bench")
    contributions = collect_contributions(generation, request, known)
    return propose(generation, request, known, contributions)


async def refusal(*args, **more):
    with pytest.raises(ViewRejected) as caught:
        await answer(*args, **more)
    return caught.value.code


def proposing(bench, *selections, manifest=None, **fields):
    """Return a Strategy with a literal proposal."""
    spec = bench.spec(*selections, **fields)
    return bench.strategy(manifest=manifest, compose=lambda *_: spec)


def chosen(key=ALPHA, **fields):
    return SourceSelection(source_instance_key=key, **fields)


class TestExtensions:
    """Extensions are asked twice, by key, and must say the same (§8 step 5)."""

    def world(self, bench, *contribute):
        slots = [f"own-{number}" for number in range(len(contribute))]
        strategy = bench.strategy(manifest={"extension_slots": slots})
        return (
            bench.source(),
            strategy,
            *(
                bench.extension(f"e{number}", contribute=call, slot=slots[number], target="plain")
                for number, call in enumerate(contribute)
            ),
        )

    @pytest.mark.requirement("core:pure:twice")
    async def test_all_are_asked_and_then_all_again(self, bench):
        asked = []
        one, two = (
            lambda *_: asked.append("one"),
            lambda *_: asked.append("two"),
        )
        await answer(bench, *self.world(bench, one, two))
        assert asked == ["one", "two", "one", "two"]

    @pytest.mark.requirement("core:pure:twice")
    async def test_a_changing_answer_is_refused(self, bench):
        counter = itertools.count()
        world = self.world(bench, lambda *_: next(counter))
        assert await refusal(bench, *world) == "extension-not-deterministic"
        flags = iter([1, True])
        assert (
            await refusal(bench, *self.world(bench, lambda *_: next(flags)))
            == "extension-not-deterministic"
        )

    async def test_a_long_value_is_refused(self, bench):
        fitting = self.world(bench, lambda *_: "x" * 63_998)
        assert (await answer(bench, *fitting)).chosen
        world = self.world(bench, lambda *_: "x" * 63_999)
        assert await refusal(bench, *world) == "extension-too-large"

    async def test_a_value_that_is_no_json_is_refused(self, bench):
        assert await refusal(bench, *self.world(bench, lambda *_: {1})) == "json-non-json-value"

        async def late(*_):
            """Never runs."""

        assert await refusal(bench, *self.world(bench, late)) == "json-non-json-object"

    @pytest.mark.requirement("core:extension:named")
    async def test_a_refusal_keeps_its_code_and_names_the_extension(self, bench):
        def refuse(*_):
            raise InputError("mood-bad", "not today", details={"day": "Monday"})

        with pytest.raises(ViewRejected) as caught:
            await answer(bench, *self.world(bench, refuse))
        assert caught.value.code == "mood-bad"
        assert caught.value.message.startswith("strategy-extension:e0: ")
        assert caught.value.details == {"day": "Monday"}

    async def test_an_exception_is_a_refusal_that_names_the_extension(self, bench):
        with pytest.raises(ViewRejected, match="strategy-extension:e0") as caught:
            await answer(bench, *self.world(bench, lambda *_: 1 / 0))
        assert caught.value.code == "extension-raised"
        assert isinstance(caught.value.__cause__, ZeroDivisionError)

    async def test_the_strategy_gets_frozen_contributions(self, bench):
        seen = []

        def compose(_request, _sources, contributions):
            seen[:] = contributions
            return bench.spec()

        strategy = bench.strategy(manifest={"extension_slots": ("selection",)}, compose=compose)
        extension = bench.extension(contribute=lambda *_: {"sourceKeys": [ALPHA]})
        await answer(bench, bench.source(), strategy, extension)
        (item,) = seen
        assert (item.instance_key, item.type_id, item.slot) == (
            "strategy-extension:extra",
            "extra",
            "selection",
        )
        assert item.value == {"sourceKeys": (ALPHA,)}


class TestCalling:
    """The Strategy is asked twice as a plain function (§8 step 6)."""

    @pytest.mark.requirement("core:pure:twice")
    async def test_a_changing_proposal_is_refused(self, bench):
        counter = itertools.count()
        strategy = bench.strategy(compose=lambda *_: bench.spec(explanation=str(next(counter))))
        assert await refusal(bench, bench.source(), strategy) == "strategy-not-deterministic"

    async def test_an_exception_of_the_strategy_is_the_turns(self, bench):
        with pytest.raises(ZeroDivisionError):
            await answer(bench, bench.source(), bench.strategy(compose=lambda *_: 1 / 0))

    async def test_only_a_view_spec_is_a_proposal(self, bench):
        async def late(*_):
            """Never runs."""

        for compose in (lambda *_: {"sources": []}, late):
            strategy = bench.strategy(compose=compose)
            assert await refusal(bench, bench.source(), strategy) == "not-an-object"

    async def test_values_of_foreign_types_are_malformed(self, bench):
        for fields in ({"sources": ("alpha",)}, {"sources": 7}):
            spec = attrs.evolve(bench.spec(), **fields)
            strategy = bench.strategy(compose=lambda *_, spec=spec: spec)
            assert await refusal(bench, bench.source(), strategy) == "spec-malformed"


class TestSelections:
    """Every selection is judged in the order of §8 step 7."""

    @pytest.mark.parametrize(
        ("selections", "fields", "code"),
        [
            ((), {"strategy_type_id": "other"}, "spec-type-mismatch"),
            ((chosen(), chosen(BETA)), {}, "spec-too-many-sources"),
            ((chosen("alpha"),), {}, "instance-key-format"),
            ((chosen("strategy:plain"),), {}, "instance-key-format"),
            ((chosen(BETA),), {}, "spec-source-unknown"),
            ((chosen(required=1),), {}, "spec-required-not-boolean"),
            ((chosen(route_ids=("search", "search")),), {}, "id-duplicated"),
            ((chosen(route_ids=("other",)),), {}, "spec-route-unavailable"),
            ((chosen(action_ids=("search",)),), {}, "spec-action-unavailable"),
            ((chosen(action_ids="ab"),), {}, "spec-action-unavailable"),
            (
                (chosen(projection=ProjectionSpec(mode="eager", max_characters=0)),),
                {},
                "integer-range",
            ),
            (
                (chosen(projection=ProjectionSpec(mode="loud", max_characters=1)),),
                {},
                "spec-projection-mode",
            ),
            ((chosen(projection={"mode": "eager"}),), {}, "spec-malformed"),
            ((chosen(),), {"explanation": " "}, "text-required"),
            ((chosen(),), {"explanation": "x" * 4001}, "text-too-long"),
        ],
    )
    async def test_refusals(self, bench, selections, fields, code):
        strategy = proposing(bench, *selections, **fields)
        assert await refusal(bench, bench.source(), strategy) == code

    async def test_a_source_is_selected_once(self, bench):
        strategy = proposing(bench, chosen(), chosen())
        both = bench.source("alpha"), bench.source("beta")
        assert await refusal(bench, *both, strategy) == "spec-source-duplicated"

    async def test_the_manifest_bounds_the_number_of_sources(self, bench):
        strategy = proposing(bench, chosen(), chosen(BETA), manifest={"max_sources": 1})
        both = bench.source("alpha"), bench.source("beta")
        assert await refusal(bench, *both, strategy) == "spec-too-many-sources"

    async def test_roles_are_those_of_the_manifest_unless_it_takes_any(self, bench):
        roles = {"supported_source_roles": ("narrative",)}
        strategy = proposing(bench, chosen(), manifest=roles)
        assert await refusal(bench, bench.source(), strategy) == "spec-role-unsupported"
        assert (await answer(bench, bench.source(), proposing(bench, chosen()))).chosen

    async def test_only_what_can_project_is_projected(self, bench):
        source = bench.source(manifest={"capabilities": ("search", "write")})
        strategy = bench.strategy()
        assert await refusal(bench, source, strategy) == "spec-projection-unavailable"

    async def test_a_projection_is_clamped_and_its_absence_asks_for_the_grant(self, bench):
        big = ProjectionSpec(mode="eager", max_characters=10_000_000)
        strategy = proposing(bench, chosen(projection=big))
        (item,) = (
            await answer(bench, bench.source(), strategy, budget={"max_projection_characters": 7})
        ).chosen
        assert (item.mode, item.max_characters, item.include_projection) == ("eager", 7, True)
        (item,) = (await answer(bench, bench.source(), proposing(bench, chosen()))).chosen
        assert (item.mode, item.max_characters, item.include_projection) == ("routed", 1, False)

    async def test_an_unavailable_source_is_dropped_or_fails_the_view(self, bench):
        async def away(source, _request):
            return source.known(availability="unavailable")

        source = bench.source(facts=away)
        optional = proposing(bench, chosen(required=False, route_ids=("search",)))
        assert (await answer(bench, source, optional)).chosen == ()
        required = proposing(bench, chosen())
        assert await refusal(bench, source, required) == "spec-required-source-unavailable"

    @pytest.mark.parametrize(
        ("manifest", "budget", "code"),
        [
            ({"max_routes": 1}, {}, "spec-too-many-routes"),
            ({}, {"max_routes": 1}, "spec-too-many-routes"),
            ({"max_actions": 1}, {}, "spec-too-many-actions"),
            ({}, {"max_actions": 1}, "spec-too-many-actions"),
        ],
    )
    async def test_totals_are_bounded_by_manifest_and_budget(self, bench, manifest, budget, code):
        both = bench.source("alpha"), bench.source("beta")
        strategy = bench.strategy(manifest=manifest)
        assert await refusal(bench, *both, strategy, budget=budget) == code

    async def test_a_failed_read_is_told_beside_the_error_it_caused(self, bench):
        async def fail(_source, _request):
            raise OSError("secret")

        both = bench.source("alpha", facts=fail), bench.source("beta", facts=fail)
        with pytest.raises(ViewRejected) as caught:
            await answer(bench, *both, proposing(bench, chosen()))
        error = caught.value
        assert error.code == "spec-required-source-unavailable"
        told = error.details["diagnostics"]
        assert [item["contributionInstanceKey"] for item in told] == [ALPHA, BETA]
        assert "secret" not in repr(error.to_wire())


class TestGuidance:
    @pytest.mark.parametrize(
        ("guidance", "code"),
        [
            ("text", "spec-guidance-invalid"),
            ({"system": "text"}, "spec-guidance-invalid"),
            (Guidance(reminders="text"), "spec-guidance-invalid"),
            (Guidance(system=" "), "text-required"),
            (Guidance(protocol="x" * 16_385), "text-too-long"),
            (Guidance(routing=7), "text-not-string"),
            (Guidance(reminders=Reminders(both=" ")), "text-required"),
        ],
    )
    async def test_refusals(self, bench, guidance, code):
        strategy = proposing(bench, guidance=guidance)
        assert await refusal(bench, bench.source(), strategy) == code

    async def test_texts_are_trimmed_and_absent_ones_stay_absent(self, bench):
        given = Guidance(protocol=" p ", reminders=Reminders(read=" r "))
        proposal = await answer(bench, bench.source(), proposing(bench, guidance=given))
        assert to_wire(proposal.guidance) == {"protocol": "p", "reminders": {"read": "r"}}
        bare = await answer(bench, bench.source(), proposing(bench, guidance=Guidance(system="s")))
        assert to_wire(bare.guidance) == {"system": "s"}
        assert (await answer(bench, bench.source(), proposing(bench))).guidance is None


class TestNotes:
    @pytest.mark.parametrize(
        ("notes", "code"),
        [
            ((StrategyNote(code="a", message="m"),) * 17, "spec-too-many-diagnostics"),
            ((StrategyNote(code="A", message="m"),), "id-format"),
            ((StrategyNote(code="a", message="x" * 301),), "text-too-long"),
        ],
    )
    async def test_refusals(self, bench, notes, code):
        strategy = proposing(bench, diagnostics=notes)
        assert await refusal(bench, bench.source(), strategy) == code

    async def test_notes_are_the_strategys(self, bench):
        note = StrategyNote(code="operations-trimmed", message=" m ")
        strategy = proposing(bench, diagnostics=(note,))
        (told,) = (await answer(bench, bench.source(), strategy)).diagnostics
        assert told == Diagnostic(
            code="operations-trimmed", message="m", contribution_instance_key="strategy:plain"
        )


def test_diagnostics_are_sorted_by_key_then_code():
    def note(key, code):
        return Diagnostic(code=code, message="m", contribution_instance_key=key)

    items = [
        note("source:b", "a"),
        None,
        note("source:a", "z"),
        note(None, "m"),
        note("source:a", "b"),
    ]
    told = [(d.contribution_instance_key, d.code) for d in sorted_diagnostics(items)]
    assert told == [(None, "m"), ("source:a", "b"), ("source:a", "z"), ("source:b", "a")]


@pytest.mark.requirement("core:roles:turn")
async def test_a_strategy_that_refuses_fails_the_turn_and_not_the_generation(bench):
    def compose(*_):
        raise MnemonError("layered-ambiguous-role", "two Sources have one role")

    generation = bench.generation(bench.source(), bench.strategy(compose=compose))
    with pytest.raises(MnemonError) as caught:
        await bench.view(generation)
    assert caught.value.code == "layered-ambiguous-role"
    assert generation.open
