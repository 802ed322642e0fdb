import attrs
from dsh_mnemon_core.view import Presentation, SourcePresentation, ViewReference
from dsh_mnemon_core.wire import to_wire


async def test_reference_tells_a_source_the_id_and_the_scope_only(bench):
    view = await bench.view(bench.generation(bench.source()))
    assert view.reference() == ViewReference(id=view.id, scope=view.scope)
    assert {field.name for field in attrs.fields(ViewReference)} == {"id", "scope"}


def test_presentation_in_a_view_says_whose_it_is():
    shown = SourcePresentation(source_instance_key="source:a", mode="eager", visible_items=2)
    assert isinstance(shown, Presentation)
    assert to_wire(shown) == {"sourceInstanceKey": "source:a", "mode": "eager", "visibleItems": 2}


async def test_absent_parts_of_a_view_have_no_key(bench):
    wire = to_wire(await bench.view(bench.generation(bench.source())))
    optional = {"strategyExtensions", "sourcePresentations", "guidance", "diagnostics"}
    assert optional.isdisjoint(wire)
    assert None not in wire["routes"][0].values()
