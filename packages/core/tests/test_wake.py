import json
import re

import attrs
import pytest
from dsh_mnemon_core.strategy import ProjectionSpec
from dsh_mnemon_core.values import FrozenDict
from dsh_mnemon_core.view import Diagnostic, Guidance
from dsh_mnemon_core.wake import create_wake


def blocks(wake):
    """Return the titled lines of a Wake by title."""
    found = {}
    for block in wake.text.split("\n\n"):
        titled = re.fullmatch(r"(MNEMON VIEW [A-Z]+) \(([^)]*)\): (.*)", block, re.DOTALL)
        if titled:
            found[titled[1]] = titled[3]
    return found


@pytest.fixture
async def view(bench):
    """Return a View of a routed Source with a route and an action."""
    routed = ProjectionSpec(mode="routed", max_characters=100)
    generation = bench.generation(bench.source(), bench.strategy(projection=routed))
    return await bench.view(generation)


async def test_operations_without_a_tool_are_quoted_with_their_schema(view):
    envelope = json.loads(blocks(create_wake(view))["MNEMON VIEW ROUTES"])
    operation = {"inputSchema": {"type": "object"}}
    assert envelope == [
        {
            "source": "source:alpha",
            "cover": "about alpha",
            "routes": [
                {"id": "source:alpha/search", "description": "Search.", **operation},
            ],
            "actions": [{"id": "source:alpha/save", "description": "Save.", **operation}],
        }
    ]


@pytest.mark.requirement("core:wake:cover")
async def test_cover_stays_when_everything_is_bound_to_tools(view):
    bindings = {"source:alpha/search": "find", "source:alpha/save": "keep"}
    found = blocks(create_wake(view, bindings))
    assert found["MNEMON VIEW TOOLS"] == "find, keep"
    assert json.loads(found["MNEMON VIEW ROUTES"]) == [
        {"source": "source:alpha", "cover": "about alpha", "routes": [], "actions": []}
    ]


async def test_a_tool_is_named_once(view):
    bindings = {"source:alpha/search": "both", "source:alpha/save": "both", "source:z/y": "other"}
    assert blocks(create_wake(view, bindings))["MNEMON VIEW TOOLS"] == "both"


async def test_nothing_of_the_host_only_parts_shows(view):
    hidden = attrs.evolve(
        view,
        explanation="SECRET-EXPLANATION",
        action_offers=(attrs.evolve(view.action_offers[0], authority="SECRET-AUTHORITY"),),
    )
    text = create_wake(hidden).text
    for part in ("SECRET", "grant", "bench/v1", "maxCalls", "capability", view.runtime_generation):
        assert part not in text


async def test_eager_text_is_literal_and_comes_first(bench):
    text = "{{ not a template }}\n\n§ <b>"

    async def project(source, request):
        return source.shown(request, fragments=(source.fragment(request, text=text),))

    view = await bench.view(bench.generation(bench.source(project=project)))
    wake = create_wake(view)
    assert wake.text.startswith(text)
    assert (wake.view_id, wake.view_digest) == (view.id, view.digest)


async def test_sections_are_named_by_type_when_the_provenance_says_so(view):
    fragment = view.projection[0]
    named = attrs.evolve(fragment, provenance=FrozenDict(sourceTypeId="notes"))
    blank = attrs.evolve(fragment, provenance=FrozenDict(sourceTypeId=" "))
    odd = attrs.evolve(fragment, provenance=("sourceTypeId",))
    sections = create_wake(attrs.evolve(view, projection=(named, blank, odd))).sections
    assert [section.layer_id for section in sections] == ["notes", "source:alpha", "source:alpha"]
    assert {section.mode for section in sections} == {"routed"}


async def test_diagnostics_are_quoted_and_guidance_stands_apart(view):
    note = Diagnostic(code="source-facts-failed", message="m", contribution_instance_key="source:z")
    guidance = Guidance(system="SYSTEM TEXT")
    wake = create_wake(attrs.evolve(view, diagnostics=(note,), guidance=guidance))
    assert json.loads(blocks(wake)["MNEMON VIEW AVAILABILITY"]) == [
        {
            "code": "source-facts-failed",
            "message": "m",
            "contributionInstanceKey": "source:z",
        }
    ]
    assert wake.guidance is guidance
    assert "SYSTEM TEXT" not in wake.text


async def test_an_empty_view_has_an_empty_wake(view):
    empty = attrs.evolve(view, projection=(), routes=(), action_offers=(), read_grants=())
    wake = create_wake(empty)
    assert (wake.text, wake.sections) == ("", ())
