from types import MappingProxyType

import pytest
from dsh_mnemon_core.errors import DefinitionError, InputError
from dsh_mnemon_core.identity import Provenance
from dsh_mnemon_core.source import (
    Disposes,
    Manages,
    Mutates,
    Queries,
    RouteManifest,
    SourceContext,
    SourceDefinition,
    SourceManifest,
    SourceRuntime,
)
from dsh_mnemon_core.values import FrozenDict
from dsh_mnemon_core.wire import from_wire, to_wire
from pydantic import SecretStr

MANIFEST = {
    "typeId": "notes",
    "packageName": "notes",
    "role": "narrative",
    "capabilities": ["project"],
    "consistency": "exact-snapshot",
}


def refusal(**changes):
    with pytest.raises((DefinitionError, InputError)) as caught:
        from_wire(SourceManifest, {**MANIFEST, **changes})
    return caught.value.code


def test_manifest_fills_in_what_is_constant_and_keeps_the_rest():
    manifest = from_wire(SourceManifest, MANIFEST)
    assert to_wire(manifest) == {
        "apiVersion": "dsh-mnemon/v1",
        "kind": "source",
        "routes": [],
        "actions": [],
        **MANIFEST,
    }


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"apiVersion": "dsh-mnemon/v2"}, "api-version-unsupported"),
        ({"kind": "strategy"}, "kind-mismatch"),
        ({"consistency": None}, "consistency-unsupported"),
        ({"capabilities": "project"}, "not-an-array"),
        ({"capabilities": ["project", "project"]}, "id-duplicated"),
        ({"routes": None}, "not-an-array"),
        ({"management": {"a": float("nan")}}, "json-non-finite"),
        ({"managment": {}}, "key-unknown"),
        ({"apiVersion": "v2", "kind": "strategy", "typeId": "A"}, "api-version-unsupported"),
        ({"kind": "strategy", "typeId": "A"}, "kind-mismatch"),
    ],
)
def test_manifest_refuses(changes, code):
    assert refusal(**changes) == code


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"authority": " "}, "text-required"),
        ({"authority": 7}, "text-not-string"),
        ({"authority": "x" * 301}, "text-too-long"),
        ({"inputSchema": None}, "json-non-json-value"),
        ({"inputSchema": {"a": float("nan")}}, "json-non-finite"),
    ],
    ids=["blank", "number", "long", "no-schema", "bad-schema"],
)
def test_action_manifest_refuses(changes, code):
    action = {"id": "save", "description": "d", "capability": "write", "inputSchema": {}}
    assert refusal(actions=[{**action, **changes}]) == code


def test_manifest_is_frozen_with_all_it_holds():
    schema = {"type": "object", "properties": {}}
    route = RouteManifest(
        id="r", description="Read.", capability="read", input_schema=schema, max_calls=1
    )
    schema["type"] = "array"
    assert route.input_schema == {"type": "object", "properties": {}}
    assert isinstance(route.input_schema, FrozenDict)
    with pytest.raises(AttributeError):
        route.id = "other"


def test_route_ceilings_are_optional_and_absent_on_the_wire():
    route = {"id": "r", "description": "R.", "capability": "read", "inputSchema": True}
    made = from_wire(RouteManifest, {**route, "maxCalls": 1})
    assert to_wire(made) == {**route, "maxCalls": 1}
    assert from_wire(RouteManifest, {**route, "maxCalls": 1, "maxResults": 2}).max_results == 2


def test_definition_needs_a_factory():
    manifest = from_wire(SourceManifest, MANIFEST)
    with pytest.raises(DefinitionError) as caught:
        SourceDefinition(manifest=manifest, create=None)
    assert caught.value.code == "callback-missing"


def test_context_shows_no_secret_and_cannot_be_changed():
    given = {"token": SecretStr("hush")}
    context = SourceContext(
        source_instance_key="source:a",
        provenance=Provenance(package_name="a", entry_id="a"),
        configuration={"a": [1]},
        secrets=given,
    )
    given.clear()
    assert context.secrets["token"].get_secret_value() == "hush"
    assert isinstance(context.secrets, MappingProxyType)
    assert context.configuration == {"a": (1,)}
    assert "secrets" not in repr(context)
    assert (
        SourceContext(source_instance_key="source:a", provenance=context.provenance).configuration
        == {}
    )


def test_what_a_runtime_can_do_shows_in_its_methods(bench):
    full = bench.generation(bench.source()).sources[0].runtime
    bare = bench.generation(bench.source(absent=("query", "mutate", "manage"))).sources[0].runtime
    assert isinstance(full, SourceRuntime)
    assert isinstance(bare, SourceRuntime)
    for protocol in (Queries, Mutates, Manages):
        assert isinstance(full, protocol)
        assert not isinstance(bare, protocol)
    assert not isinstance(full, Disposes)


def test_available_source_names_its_operations_in_manifest_order(bench):
    from dsh_mnemon_core.source import AvailableSource

    source = AvailableSource(
        source_instance_key="source:a",
        source_type_id="a",
        role="a",
        availability="ready",
        revision="r",
        routes=(bench.route("b"), bench.route("a")),
        actions=(bench.action("d"), bench.action("c")),
    )
    assert source.route_ids == ("b", "a")
    assert source.action_ids == ("d", "c")
