import anyio
import pytest
from dsh_mnemon_core.errors import SourceReadFailure, ViewRejected
from dsh_mnemon_core.strategy import ProjectionSpec
from dsh_mnemon_core.values import FrozenDict
from dsh_mnemon_core.view import Presentation, PresentationItem
from dsh_mnemon_core.wire import to_wire


def shown(bench, type_id="alpha", **contribution):
    """Return a Source with these parts of its contribution; callables get (source, request)."""

    async def project(source, request):
        parts = {
            name: part(source, request) if callable(part) else part
            for name, part in contribution.items()
        }
        return source.shown(request, **parts)

    return bench.source(type_id, project=project)


def one_fragment(**fields):
    return lambda source, request: (source.fragment(request, **fields),)


def grant(**fields):
    return lambda source, _request: source.grant(**fields)


async def refusal(bench, source, strategy=None):
    generation = bench.generation(source, *([strategy] if strategy else []))
    with pytest.raises(ViewRejected) as caught:
        await bench.view(generation)
    return caught.value.code


@pytest.mark.requirement("core:project:always")
async def test_every_selected_source_is_asked_also_without_a_projection(bench):
    asked = []

    async def project(source, request):
        asked.append(request)
        return source.shown(request)

    strategy = bench.strategy(projection=None, route_ids=())
    view = await bench.view(bench.generation(bench.source(project=project), strategy))
    (request,) = asked
    assert (request.include_projection, request.mode, request.max_characters) == (
        False,
        "routed",
        1,
    )
    assert request.expected_revision == "r1"
    assert view.projection == ()
    assert view.routes == ()
    assert [item.id for item in view.read_grants] == ["source:alpha/grant"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"source_instance_key": "source:beta"}, "fragment-source-mismatch"),
        ({"mode": "routed"}, "fragment-mode-mismatch"),
        ({"text": "x" * 101}, "fragment-over-budget"),
        ({"text": "a\ud800"}, "text-not-unicode"),
        ({"id": " "}, "text-required"),
        ({"revision": "x" * 501}, "text-too-long"),
        ({"provenance": {1: 2}}, "json-non-json-object"),
    ],
)
@pytest.mark.requirement("core:reads:malformed")
async def test_malformed_fragments_reject_also_an_optional_source(bench, fields, code):
    source = shown(bench, fragments=one_fragment(**fields))
    assert await refusal(bench, source, bench.strategy(required=False)) == code


async def test_a_fragment_that_was_not_asked_for(bench):
    source = shown(bench, fragments=one_fragment())
    assert await refusal(bench, source, bench.strategy(projection=None)) == "fragment-unrequested"


async def test_a_text_that_is_no_string_counts_as_empty(bench):
    source = shown(bench, fragments=one_fragment(text=7, provenance={"sourceTypeId": "alpha"}))
    (fragment,) = (await bench.view(bench.generation(source))).projection
    assert fragment.text == ""
    assert fragment.provenance == FrozenDict(sourceTypeId="alpha")


async def test_characters_are_code_points(bench):
    text = "\U0001f600" * 100
    view = await bench.view(bench.generation(shown(bench, fragments=one_fragment(text=text))))
    assert view.projection[0].text == text


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"source_instance_key": "source:beta"}, "grant-source-mismatch"),
        ({"consistency": "namespace-pinned-live-read"}, "grant-consistency-mismatch"),
        ({"id": ""}, "text-required"),
        ({"schema": "x" * 301}, "text-too-long"),
        ({"value": {1}}, "json-non-json-value"),
        ({"revision": None}, "text-not-string"),
    ],
)
async def test_malformed_grants(bench, fields, code):
    assert await refusal(bench, shown(bench, read_grant=grant(**fields))) == code


async def test_routes_need_a_grant_and_actions_do_not(bench):
    source = shown(bench, read_grant=None)
    assert await refusal(bench, source) == "grant-missing"
    view = await bench.view(bench.generation(source, bench.strategy(route_ids=())))
    assert view.read_grants == ()
    assert [offer.id for offer in view.action_offers] == ["source:alpha/save"]


def item(id="1", **fields):
    return PresentationItem(**{"id": id, "title": "One", **fields})


@pytest.mark.parametrize(
    "presentation",
    [
        Presentation(visible_items=-1),
        Presentation(visible_items=True),
        Presentation(visible_items=2, total_items=1),
        Presentation(visible_items=1, items=(item("1"), item("2"))),
        Presentation(visible_items=99, items=tuple(item(str(n)) for n in range(25))),
        Presentation(visible_items=2, items=(item("1"), item("1"))),
        Presentation(visible_items=1, items=(item(title="x" * 161),)),
        Presentation(visible_items=1, items=(item(excerpt="x" * 601),)),
        Presentation(visible_items=1, items=("one",)),
        {"visibleItems": 1},
    ],
)
async def test_malformed_presentations(bench, presentation):
    assert await refusal(bench, shown(bench, presentation=presentation)) == "presentation-invalid"


async def test_a_presentation_is_normalized(bench):
    full = Presentation(visible_items=1, total_items=9, items=[item(excerpt=" ")])
    source = shown(bench, presentation=full)
    (kept,) = (await bench.view(bench.generation(source))).source_presentations
    assert to_wire(kept) == {
        "sourceInstanceKey": "source:alpha",
        "mode": "eager",
        "visibleItems": 1,
        "totalItems": 9,
        "items": [{"id": "1", "title": "One"}],
    }
    empty = shown(bench, presentation=Presentation(visible_items=0, items=()))
    (kept,) = (await bench.view(bench.generation(empty))).source_presentations
    assert kept.items is None


async def fail(_source, _request):
    raise OSError("secret")


@pytest.mark.requirement("core:reads:optional")
async def test_an_optional_source_that_fails_takes_all_it_offered_along(bench):
    both = bench.source("alpha", project=fail), bench.source("beta")
    view = await bench.view(bench.generation(*both, bench.strategy(required=False)))
    assert {f.source_instance_key for f in view.projection} == {"source:beta"}
    assert [route.id for route in view.routes] == ["source:beta/search"]
    assert [offer.id for offer in view.action_offers] == ["source:beta/save"]
    (note,) = view.diagnostics
    assert (note.code, note.contribution_instance_key) == ("source-project-failed", "source:alpha")
    assert "secret" not in note.message


async def test_a_required_source_that_fails_rejects_the_view(bench):
    with pytest.raises(SourceReadFailure) as caught:
        await bench.view(bench.generation(bench.source(project=fail)))
    assert caught.value.code == "source-project-failed"
    assert caught.value.retryable


async def test_an_answer_that_is_no_contribution_fails_its_source_alone(bench):
    async def project(_source, _request):
        return None

    source = bench.source(project=project)
    view = await bench.view(bench.generation(source, bench.strategy(required=False)))
    assert [item.code for item in view.diagnostics] == ["source-project-failed"]
    assert await refusal(bench, source, bench.strategy(required=True)) == "source-project-failed"


async def test_the_deadline_is_the_hosts(bench):
    async def hang(_source, _request):
        await anyio.sleep_forever()

    eager = ProjectionSpec(mode="eager", max_characters=1)
    strategy = bench.strategy(required=False, projection=eager)
    generation = bench.generation(bench.source(project=hang), strategy, source_timeout_ms=1)
    view = await bench.view(generation)
    assert [d.code for d in view.diagnostics] == ["source-project-timeout"]
