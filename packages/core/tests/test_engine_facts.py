import pytest
from dsh_mnemon_core._engine.facts import read_facts
from dsh_mnemon_core.errors import ViewRejected
from dsh_mnemon_core.scope import OperationScope

SCOPE = OperationScope(storage="custom")


async def known(bench, *definitions, ceilings=True, only=None, **options):
    generation = bench.generation(*definitions, **options)
    return await read_facts(generation, SCOPE, "bench", ceilings=ceilings, only=only)


def answering(bench, type_id="alpha", manifest=None, **facts):
    async def answer(source, _request):
        return source.known(**facts)

    return bench.source(type_id, facts=answer, manifest=manifest)


async def test_sources_are_asked_for_the_scope_and_the_scenario(bench):
    seen = []

    async def facts(source, request):
        seen.append(request)
        return source.known()

    await known(bench, bench.source(facts=facts))
    (request,) = seen
    assert (request.source_instance_key, request.scope, request.scenario) == (
        "source:alpha",
        SCOPE,
        "bench",
    )


@pytest.mark.requirement("core:reads:malformed")
@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"source_instance_key": "source:beta"}, "facts-instance-mismatch"),
        ({"source_type_id": "beta"}, "facts-type-mismatch"),
        ({"role": "narrative"}, "facts-role-mismatch"),
        ({"availability": "busy"}, "facts-availability-unsupported"),
        ({"capabilities": ("swim",)}, "capability-unsupported"),
        ({"capabilities": ("search", "search")}, "id-duplicated"),
        ({"capabilities": ("recall",)}, "facts-capability-expanded"),
        ({"capabilities": None}, "facts-malformed"),
        ({"route_ids": ("search", "search")}, "id-duplicated"),
        ({"route_ids": ("other",)}, "facts-route-undeclared"),
        ({"route_ids": (["search"],)}, "facts-malformed"),
        ({"action_ids": ("search",)}, "facts-action-undeclared"),
        ({"revision": " "}, "text-required"),
        ({"revision": "x" * 501}, "text-too-long"),
        ({"revision": 7}, "text-not-string"),
        ({"hints": {"a": {1}}}, "json-non-json-value"),
    ],
)
async def test_malformed_facts_are_refused(bench, facts, code):
    with pytest.raises(ViewRejected) as caught:
        await known(bench, answering(bench, **facts))
    assert caught.value.code == code


async def test_an_answer_that_is_no_facts_fails_its_source_alone(bench):
    async def facts(_source, _request):
        return {"availability": "ready"}

    bad, good = await known(bench, bench.source("bad", facts=facts), bench.source("good"))
    assert bad.diagnostic.code == "source-facts-failed"
    assert (bad.available.availability, good.available.availability) == ("unavailable", "ready")


async def test_facts_are_normalized(bench):
    (item,) = await known(
        bench, answering(bench, revision=" r9 ", hints={"a": [1]}, capabilities=["search"])
    )
    source = item.available
    assert (source.revision, source.hints, source.capabilities) == ("r9", {"a": (1,)}, ("search",))


@pytest.mark.requirement("core:facts:offered")
async def test_operations_are_filtered_by_their_own_capability_in_manifest_order(bench):
    manifest = {
        "capabilities": ("project", "search", "write", "recall"),
        "routes": (
            bench.route("one"),
            bench.route("two", capability="recall"),
            bench.route("three"),
            bench.route("never", capability="graph"),
        ),
        "actions": (bench.action("keep"), bench.action("tend", capability="maintain")),
    }
    source = answering(
        bench,
        manifest=manifest,
        capabilities=("recall", "search", "write"),
        route_ids=("never", "three", "two", "one"),
        action_ids=("tend", "keep"),
    )
    (everything,) = await known(bench, source)
    assert everything.available.route_ids == ("one", "two", "three")
    assert everything.available.action_ids == ("keep",)
    (ceiling,) = await known(bench, source, source_capabilities=lambda _record: ("search",))
    assert ceiling.available.capabilities == ("search",)
    assert ceiling.available.route_ids == ("one", "three")
    assert ceiling.available.action_ids == ()


async def test_facts_narrow_what_is_live(bench):
    (item,) = await known(bench, answering(bench, route_ids=(), action_ids=("save",)))
    assert item.available.route_ids == ()
    assert item.available.action_ids == ("save",)


async def test_a_ceiling_that_leaves_nothing_makes_unavailable(bench):
    (item,) = await known(bench, bench.source(), source_capabilities=lambda _record: ("recall",))
    assert item.available.availability == "unavailable"
    assert item.diagnostic is None
    (open_,) = await known(
        bench, bench.source(), ceilings=False, source_capabilities=lambda _record: ()
    )
    assert open_.available.availability == "ready"
    (bare,) = await known(bench, answering(bench, capabilities=()))
    assert bare.available.availability == "ready"


async def test_an_unavailable_source_offers_nothing_and_says_why(bench):
    (item,) = await known(
        bench, answering(bench, availability="unavailable", hints={"reason": "damaged"})
    )
    source = item.available
    assert (source.availability, source.route_ids, source.action_ids) == ("unavailable", (), ())
    assert source.hints == {"reason": "damaged"}


async def test_a_source_that_cannot_be_read_is_unavailable_with_a_diagnostic(bench):
    async def fail(_source, _request):
        raise OSError("secret")

    broken, fine = await known(bench, bench.source(facts=fail), bench.source("beta"))
    source = broken.available
    assert (source.availability, source.revision) == ("unavailable", "unavailable")
    assert (source.capabilities, source.routes, source.actions) == ((), (), ())
    assert broken.diagnostic.code == "source-facts-failed"
    assert fine.diagnostic is None


async def test_one_source_can_be_asked_alone(bench):
    asked = []

    async def facts(source, _request):
        asked.append(source.key)
        return source.known()

    both = bench.source(facts=facts), bench.source("beta", facts=facts)
    (item,) = await known(bench, *both, only="source:beta")
    assert asked == [item.live.key] == ["source:beta"]
    assert await known(bench, *both, only="source:gamma") == ()
