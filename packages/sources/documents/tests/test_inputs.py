"""Manifest, published schemas, and what is read under them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.wire import from_wire, to_wire
from dsh_mnemon_source_documents._inputs import (
    read_create,
    read_mutation,
    read_page,
    read_search,
)
from dsh_mnemon_source_documents.actions import (
    CREATE_SCHEMA,
    MANAGE_SCHEMA,
    MANIFEST,
    READ_SCHEMA,
    SEARCH_SCHEMA,
)


@pytest.mark.requirement("documents:manifest")
def test_manifest() -> None:
    assert (MANIFEST.type_id, MANIFEST.role) == ("documents", "narrative")
    assert MANIFEST.capabilities == ("status", "project", "search", "read", "write")
    assert MANIFEST.consistency == "namespace-pinned-live-read"
    search, read = MANIFEST.routes
    assert (search.id, search.max_calls, search.max_results, search.max_characters) == (
        "search", 4, 20, 16_000
    )  # fmt: skip
    assert (read.id, read.max_results, read.max_characters) == ("read", 1, 12_000)
    assert [action.id for action in MANIFEST.actions] == ["manage", "create"]
    assert from_wire(type(MANIFEST), to_wire(MANIFEST)) == MANIFEST


def bare(schema: dict[str, Any]) -> str:
    """Return a schema without its descriptions, as JSON."""
    properties = {
        name: {key: value for key, value in item.items() if key != "description"}
        for name, item in schema["properties"].items()
    }
    return json.dumps({**schema, "properties": properties}, separators=(",", ":"))


TEXT = '{"type":"string"}'
TEXTS = '{"type":"array","items":{"type":"string"}}'


@pytest.mark.requirement("documents:schema")
def test_schemas_are_pinned() -> None:
    def schema(required: str, properties: str) -> str:
        head = f'{{"type":"object","required":{required},"additionalProperties":false'
        return f'{head},"properties":{{{properties}}}}}'

    integer = '{"type":"integer"}'
    assert bare(SEARCH_SCHEMA) == schema(
        '["query"]',
        f'"query":{TEXT},"limit":{integer},"includeArchived":{{"type":"boolean"}}',
    )
    assert bare(READ_SCHEMA) == schema('["id"]', f'"id":{TEXT},"offset":{integer}')
    more = f'"sourcePaths":{TEXTS},"sessionIds":{TEXTS}'
    assert bare(CREATE_SCHEMA) == schema(
        '["title","content"]', f'"title":{TEXT},"content":{TEXT},"description":{TEXT},{more}'
    )
    assert bare(MANAGE_SCHEMA) == schema(
        '["action"]',
        f'"action":{{"type":"string","enum":["create","update"]}},"id":{TEXT},'
        f'"revision":{integer},"expectedRevision":{integer},"title":{TEXT},'
        f'"description":{TEXT},"content":{TEXT},{more}',
    )
    assert all(
        item.get("description") or name == "action"
        for schema in (SEARCH_SCHEMA, READ_SCHEMA, CREATE_SCHEMA, MANAGE_SCHEMA)
        for name, item in schema["properties"].items()
    )


GOOD = {"title": "T", "content": "C"}


@pytest.mark.requirement("documents:schema")
@pytest.mark.parametrize(
    ("value", "code", "field"),
    [
        ("text", "not-an-object", None),
        ({**GOOD, "action": "create"}, "key-unknown", "action"),
        ({**GOOD, "id": "x"}, "key-unknown", "id"),
        ({"title": "T"}, "text-required", "content"),
        ({**GOOD, "title": 5}, "text-not-string", "title"),
        ({**GOOD, "content": "x" * 1_000_001}, "text-too-long", "content"),
        ({**GOOD, "content": "\ud800"}, "text-not-unicode", "content"),
        ({**GOOD, "sourcePaths": "a"}, "string-array-invalid", "sourcePaths"),
        ({**GOOD, "sourcePaths": ["a"] * 51}, "string-array-invalid", "sourcePaths"),
        ({**GOOD, "sourcePaths": [5]}, "string-array-invalid", "sourcePaths"),
        ({**GOOD, "sessionIds": ["s"] * 21}, "string-array-invalid", "sessionIds"),
    ],
)
def test_create_names_what_is_wrong(value: Any, code: str, field: str | None) -> None:
    with pytest.raises(InputError) as caught:
        read_create(value)
    assert caught.value.code == code
    assert caught.value.details.get("field") == field


@pytest.mark.requirement("documents:schema")
@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"action": "archive"}, "action-unsupported"),
        ({}, "text-required"),
        ({"action": "update", "id": "x" * 301}, "text-too-long"),
        ({"action": "update", "revision": 0}, "integer-range"),
        ({"action": "update", "revision": "two"}, "integer-range"),
        ({"action": "update", "revision": 1, "expectedRevision": 2}, "revision-ambiguous"),
        ({"action": "update", "titel": "T"}, "key-unknown"),
    ],
)
def test_manage_names_what_is_wrong(value: Any, code: str) -> None:
    with pytest.raises(InputError) as caught:
        read_mutation(value)
    assert caught.value.code == code


@pytest.mark.requirement("documents:update:guard")
def test_only_new_content_needs_a_revision() -> None:
    with pytest.raises(InputError) as caught:
        read_mutation({"action": "update", "id": "x", "content": "C"}, guarded=True)
    assert caught.value.code == "revision-required"
    for value in (
        {"action": "update", "id": "x", "title": "T"},
        {"action": "update", "id": "x", "content": "C", "revision": 2},
        {"action": "update", "id": "x", "content": "C", "revision": 2, "expectedRevision": 2},
        {"action": "create", "content": "C"},
    ):
        assert read_mutation(value, guarded=True).revision == value.get("revision")
    assert read_mutation({"action": "update", "content": "C"}).revision is None


@pytest.mark.requirement("documents:schema")
def test_reading_searches_and_pages() -> None:
    asked = read_search({"query": " a\u3000", "limit": 3.5, "includeArchived": 1})
    assert (asked.query, asked.limit, asked.include_archived) == ("a", 10, False)
    assert read_search({"query": "", "limit": True}).limit == 10
    assert read_page({"id": " x ", "offset": 3.0}) == ("x", 3)
    for value in ({"id": ""}, {"id": 5}, {"id": "x", "offset": -1}, {"id": "x" * 301}):
        with pytest.raises(InputError):
            read_page(value)
