"""The manifest and the input of ``mutate`` (spec/sources.md §2.1, §2.2, D8)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.sdk import json_clone
from dsh_mnemon_source_runtime.actions import INPUT_SCHEMA, MANIFEST, read_mutation
from dsh_mnemon_source_runtime.contracts import Mutation

PINNED = (
    '{"type":"object","required":["action","target"],"additionalProperties":false,"properties":{'
    '"action":{"type":"string","enum":["add","replace","remove"]},'
    '"target":{"type":"string","enum":["memory","user"]},'
    '"content":{"type":"string"},'
    '"oldText":{"type":"string","description":"For replace and remove: the whole text of the entry'
    " you mean, or a part that no other entry of the same target contains. A single entry that"
    ' equals it wins."},'
    '"importance":{"type":"string","enum":["critical","normal","low"]},'
    '"branches":{"type":"array"}}}'
)

ADD = {"action": "add", "target": "memory", "content": "x"}


@pytest.mark.requirement("runtime:schema")
def test_the_published_schema_is_this_one_byte_for_byte() -> None:
    assert json.dumps(INPUT_SCHEMA, ensure_ascii=False, separators=(",", ":")) == PINNED
    assert json.dumps(MANIFEST.actions[0].input_schema) == json.dumps(INPUT_SCHEMA)


@pytest.mark.requirement("runtime:manifest")
def test_the_manifest_has_one_action_and_no_route() -> None:
    assert (MANIFEST.type_id, MANIFEST.role) == ("runtime", "working-context")
    assert MANIFEST.capabilities == ("status", "project", "write")
    assert (MANIFEST.consistency, MANIFEST.routes) == ("exact-snapshot", ())
    (action,) = MANIFEST.actions
    assert (action.id, action.capability, action.authority) == ("mutate", "write", None)
    assert MANIFEST.management["label"] == "Runtime Memory"


@pytest.mark.requirement("runtime:schema")
class TestReading:
    @pytest.mark.parametrize("value", [ADD, json_clone(ADD)])
    def test_plain_and_frozen_objects_are_read(self, value: Any) -> None:
        assert read_mutation(value) == Mutation(action="add", target="memory", content="x")

    def test_everything_is_kept(self) -> None:
        value = {**ADD, "action": "replace", "oldText": "y", "importance": "low", "branches": ["m"]}
        assert read_mutation(json_clone(value)) == Mutation(
            action="replace",
            target="memory",
            content="x",
            old_text="y",
            importance="low",
            branches=("m",),
        )

    @pytest.mark.parametrize(
        ("names", "read"),
        [
            ({"old_text": "a"}, "a"),
            ({"oldText": "b"}, "b"),
            ({"oldText": "b", "old_text": "a"}, "b"),
        ],
    )
    def test_both_spellings_of_old_text_are_read(self, names: dict[str, str], read: str) -> None:
        assert read_mutation({**ADD, **names}).old_text == read

    @pytest.mark.parametrize(
        ("change", "code", "field"),
        [
            ({"action": "append"}, "action-unsupported", "action"),
            ({"action": None}, "action-unsupported", "action"),
            ({"target": "daily"}, "target-unsupported", "target"),
            ({"importance": "high"}, "importance-unsupported", "importance"),
            ({"content": 5}, "text-not-string", "content"),
            ({"old_text": ["a"]}, "text-not-string", "old_text"),
            ({"content": "x" * 100_001}, "text-too-long", "content"),
            ({"oldText": "x" * 100_001}, "text-too-long", "oldText"),
            ({"content": "\ud800"}, "text-not-unicode", "content"),
            ({"branches": "main"}, "branches-invalid", "branches"),
            ({"branches": ["x"] * 101}, "branches-too-many", "branches"),
            ({"contents": "x"}, "key-unknown", "contents"),
        ],
    )
    def test_what_does_not_fit_is_refused_by_field(
        self, change: dict[str, Any], code: str, field: str
    ) -> None:
        with pytest.raises(InputError) as caught:
            read_mutation({**ADD, **change})
        assert (caught.value.code, caught.value.details) == (code, {"field": field})

    def test_an_unknown_field_names_the_nearest_known_one(self) -> None:
        with pytest.raises(InputError, match="'content'"):
            read_mutation({**ADD, "contents": "x"})

    @pytest.mark.parametrize(("missing", "code"), [("action", "action"), ("target", "target")])
    def test_required_fields_are_required(self, missing: str, code: str) -> None:
        value = {key: item for key, item in ADD.items() if key != missing}
        with pytest.raises(InputError) as caught:
            read_mutation(value)
        assert caught.value.code == f"{code}-unsupported"

    @pytest.mark.parametrize("value", [None, "add", [], 5])
    def test_anything_but_an_object_is_refused(self, value: Any) -> None:
        with pytest.raises(InputError) as caught:
            read_mutation(value)
        assert caught.value.code == "not-an-object"
