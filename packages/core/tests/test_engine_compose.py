import attrs
import pytest
from dsh_mnemon_core.errors import LifecycleError, ViewRejected
from dsh_mnemon_core.strategy import StrategyNote
from dsh_mnemon_core.values import digest
from dsh_mnemon_core.wire import to_wire

LIVE = {"consistency": "namespace-pinned-live-read"}


@pytest.mark.requirement("core:view:identity")
async def test_equal_inputs_give_an_equal_view_whenever_it_is_composed(bench, frozen_now):
    generation = bench.generation(bench.source())
    first = await bench.view(generation)
    frozen_now.advance(60)
    second = await bench.view(generation)
    assert first.created_at != second.created_at
    assert (first.id, first.digest) == (second.id, second.digest)
    assert first.id == f"view:{first.digest}"


@pytest.mark.requirement("core:view:identity")
async def test_the_digest_covers_all_but_identity_and_time(bench):
    view = await bench.view(bench.generation(bench.source()))
    body = to_wire(view)
    for key in ("id", "digest", "createdAt"):
        del body[key]
    assert view.digest == digest(body)


async def test_scenario_and_budget_are_no_part_of_the_view(bench):
    generation = bench.generation(bench.source())
    plain = await bench.view(generation)
    assert (await bench.view(generation, max_routes=9)).id == plain.id


@pytest.mark.requirement("core:view:frozen")
async def test_a_view_cannot_be_changed(bench):
    view = await bench.view(bench.generation(bench.source()))
    with pytest.raises(AttributeError):
        view.routes = ()
    with pytest.raises(TypeError, match="frozen"):
        view.routes[0].input_schema["type"] = "array"
    with pytest.raises(TypeError, match="frozen"):
        view.consistency.source_revisions.clear()


@pytest.mark.requirement("core:view:consistency")
async def test_revisions_are_of_all_sources_and_the_mode_of_the_selected(bench):
    async def fail(_source, _request):
        raise OSError

    def only_alpha(_request, sources, _contributions):
        return bench.spec(bench.selection(sources[0]))

    generation = bench.generation(
        bench.source("alpha"),
        bench.source("beta", manifest=LIVE),
        bench.source("gamma", facts=fail, manifest=LIVE),
        bench.strategy(compose=only_alpha),
    )
    consistency = (await bench.view(generation)).consistency
    assert consistency.mode == "exact-snapshot"
    assert consistency.source_revisions == {
        "source:alpha": "r1",
        "source:beta": "r1",
        "source:gamma": "unavailable",
    }


@pytest.mark.requirement("core:view:consistency")
async def test_several_consistencies_or_none_are_mixed(bench):
    both = bench.source("alpha"), bench.source("beta", manifest=LIVE)
    assert (await bench.view(bench.generation(*both))).consistency.mode == "mixed"
    nothing = bench.strategy(compose=lambda *_: bench.spec())
    assert (await bench.view(bench.generation(*both, nothing))).consistency.mode == "mixed"
    live = bench.generation(bench.source(manifest=LIVE))
    assert (await bench.view(live)).consistency.mode == "namespace-pinned-live-read"


async def test_routes_carry_the_narrower_ceilings(bench):
    manifest = {
        "routes": (
            bench.route("free"),
            bench.route("tight", max_results=1, max_characters=2),
            bench.route("wide", max_results=10_000, max_characters=10_000_000),
        )
    }
    generation = bench.generation(bench.source(manifest=manifest))
    view = await bench.view(generation, max_evidence_results=5, max_evidence_characters=7)
    ceilings = {r.source_route_id: (r.max_results, r.max_characters) for r in view.routes}
    assert ceilings == {"free": (5, 7), "tight": (1, 2), "wide": (5, 7)}


async def test_operations_keep_what_their_manifests_say(bench):
    manifest = {"actions": (bench.action("deploy", authority="operator"), bench.action("save"))}
    generation = bench.generation(bench.source(manifest=manifest))
    deploy, save = (await bench.view(generation)).action_offers
    assert (deploy.id, deploy.authority) == ("source:alpha/deploy", "operator")
    assert "authority" not in to_wire(save)


async def test_everything_stands_in_the_order_of_the_proposal(bench):
    def turned(_request, sources, _contributions):
        return bench.spec(*map(bench.selection, reversed(sources)))

    both = bench.source("alpha"), bench.source("beta")
    view = await bench.view(bench.generation(*both, bench.strategy(compose=turned)))
    for part in (view.projection, view.routes, view.read_grants, view.action_offers):
        assert [item.source_instance_key for item in part] == ["source:beta", "source:alpha"]


async def test_all_fragments_together_keep_to_the_budget(bench):
    def filling(type_id):
        async def project(source, request):
            text = "x" * request.max_characters
            return source.shown(request, fragments=(source.fragment(request, text=text),))

        return bench.source(type_id, project=project)

    generation = bench.generation(filling("alpha"), filling("beta"))
    assert len((await bench.view(generation, max_projection_characters=200)).projection) == 2
    with pytest.raises(ViewRejected) as caught:
        await bench.view(generation, max_projection_characters=199)
    assert caught.value.code == "projection-over-budget"


async def test_grants_have_distinct_ids(bench):
    async def project(source, request):
        return source.shown(request, read_grant=source.grant(id="grant"))

    generation = bench.generation(
        bench.source("alpha", project=project), bench.source("beta", project=project)
    )
    with pytest.raises(ViewRejected) as caught:
        await bench.view(generation)
    assert caught.value.code == "grant-duplicated"


@pytest.mark.requirement("core:strategy:notes")
async def test_diagnostics_of_reads_and_of_the_strategy_are_sorted_together(bench):
    async def fail(_source, _request):
        raise OSError

    def compose(_request, sources, _contributions):
        note = StrategyNote(code="operations-trimmed", message="some were left out")
        alpha = bench.selection(sources[0], required=False)
        return bench.spec(alpha, diagnostics=(note,))

    generation = bench.generation(
        bench.source("alpha", project=fail),
        bench.source("beta", facts=fail),
        bench.strategy(compose=compose),
    )
    told = [
        (d.contribution_instance_key, d.code) for d in (await bench.view(generation)).diagnostics
    ]
    assert told == [
        ("source:alpha", "source-project-failed"),
        ("source:beta", "source-facts-failed"),
        ("strategy:plain", "operations-trimmed"),
    ]


async def test_active_extensions_are_named_with_the_digest_of_what_they_said(bench):
    strategy = bench.strategy(manifest={"extension_slots": ("selection",)})
    extension = bench.extension(contribute=lambda *_: {"a": 1})
    view = await bench.view(bench.generation(bench.source(), strategy, extension))
    (identity,) = view.strategy_extensions
    assert attrs.asdict(identity) == {
        "instance_key": "strategy-extension:extra",
        "type_id": "extra",
        "slot": "selection",
        "digest": digest({"a": 1}),
    }


async def test_a_disposed_generation_composes_nothing(bench):
    generation = bench.generation(bench.source())
    generation.open = False
    with pytest.raises(LifecycleError) as caught:
        await bench.view(generation)
    assert caught.value.code == "generation-disposed"
