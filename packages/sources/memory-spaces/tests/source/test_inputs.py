"""Schemas that are published and how inputs are read (spec/README.md D8)."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.sdk import json_clone, thaw
from dsh_mnemon_source_memory_spaces._cursor import Place, read_cursor, write_cursor
from dsh_mnemon_source_memory_spaces._inputs import Input, read_input
from dsh_mnemon_source_memory_spaces.actions import (
    MANIFEST,
    LinkInput,
    ManageSpacesInput,
    RememberInput,
)
from dsh_mnemon_source_memory_spaces.routes import RecallInput

SPACE = '"memoryBodyId":{"type":"string","description":"The Memory Space; it may be left out where'
SPACE += ' there is only one.","minLength":1,"maxLength":500}'
PINNED = {
    "inspect": (
        '{"type":"object","required":["section"],"additionalProperties":false,"properties":{'
        '"section":{"type":"string","description":"directory: which Memory Spaces there are, what'
        ' each is for and can do; health: what works and what does not.","enum":["directory",'
        '"health"]}}}'
    ),
    "recall": (
        '{"type":"object","required":["query"],"additionalProperties":false,"properties":{'
        '"query":{"type":"string","description":"What you want to know, in words that the memory'
        ' itself may contain.","minLength":1,"maxLength":2000},'
        '"mode":{"type":"string","description":"smart ranks by meaning; keyword and basic match'
        ' words only.","enum":["smart","keyword","basic"]},'
        '"limit":{"type":"integer","description":"Most results, 10 unless given.","minimum":1,'
        '"maximum":20},'
        '"category":{"type":"string","description":"Only memories of this kind.","enum":['
        '"preference","decision","fact","insight","context","general"]},'
        '"source":{"type":"string","description":"Only what this side said.","enum":["user",'
        '"agent","external"]},'
        '"intent":{"type":"string","description":"What the question is after: a cause, a time, a'
        ' name, anything.","enum":["WHY","WHEN","ENTITY","GENERAL"]},'
        '"memoryBodyIds":{"type":"array","description":"Ids of the Memory Spaces to ask; all'
        ' active ones unless given.","maxItems":1000,"items":{"type":"string","minLength":1,'
        '"maxLength":500}}}}'
    ),
    "related": (
        '{"type":"object","required":["id"],"additionalProperties":false,"properties":{'
        '"id":{"type":"string","description":"Id of a memory that recall returned.","minLength":1,'
        '"maxLength":500},'
        '"depth":{"type":"integer","description":"How many links to follow.","minimum":1,'
        '"maximum":5},'
        '"edge":{"type":"string","description":"Only links of this kind.","enum":["temporal",'
        '"semantic","causal","entity"]},'
        '"memoryBodyId":{"type":"string","description":"The Memory Space of that memory.",'
        '"minLength":1,"maxLength":500}}}'
    ),
    "manage-spaces": (
        '{"type":"object","required":["operation"],"additionalProperties":false,"properties":{'
        '"operation":{"type":"string","enum":["create","update","merge"]},'
        '"request":{"type":"object","required":["name","description"],"additionalProperties":false,'
        '"properties":{"name":{"type":"string","description":"Short title.","minLength":1,'
        '"maxLength":100},"description":{"type":"string","description":"What belongs in it; this is'
        ' what later writes are routed by.","minLength":1,"maxLength":1000},"active":{"type":'
        '"boolean","description":"Whether recall reads it at once."},"providerId":{"type":"string",'
        '"description":"Which Provider holds it; the configured one unless given.","minLength":1,'
        '"maxLength":500}},"description":"For create."},'
        '"selection":{"type":"object","required":["providerId","reason","confidence"],'
        '"additionalProperties":false,"properties":{"providerId":{"type":"string","minLength":1,'
        '"maxLength":500},"reason":{"type":"string","minLength":1,"maxLength":1000},"confidence":{'
        '"type":"string","enum":["high","medium","low"]}},"description":"For create where placement'
        ' is automatic and several Providers are left."},'
        '"memoryBodyId":{"type":"string","description":"For update: the Space to change.",'
        '"minLength":1,"maxLength":500},'
        '"name":{"type":"string","minLength":1,"maxLength":100},'
        '"description":{"type":"string","minLength":1,"maxLength":1000},'
        '"active":{"type":"boolean"},'
        '"targetMemoryBodyId":{"type":"string","description":"For merge: the Space that receives.",'
        '"minLength":1,"maxLength":500},'
        '"sourceMemoryBodyIds":{"type":"array","description":"For merge: the Spaces whose memories'
        ' are copied; nothing is deleted.","maxItems":20,"items":{"type":"string","minLength":1,'
        '"maxLength":500}},'
        '"deactivateSources":{"type":"boolean","description":"For merge: whether the copied Spaces'
        ' stop being read."}}}'
    ),
    "remember": (
        '{"type":"object","required":["content"],"additionalProperties":false,"properties":{'
        '"content":{"type":"string","description":"One self-contained statement that makes sense'
        ' without this conversation; white space around it is dropped.",'
        '"minLength":1,"maxLength":8192},'
        '"category":{"type":"string","enum":["preference","decision","fact","insight","context",'
        '"general"]},'
        '"importance":{"type":"integer","minimum":1,"maximum":5},'
        '"tags":{"type":"array","maxItems":20,"items":{"type":"string"}},'
        '"entities":{"type":"array","description":"Names it is about: people, projects, systems.",'
        '"maxItems":50,"items":{"type":"string"}},'
        '"source":{"type":"string","enum":["user","agent","external"]},' + SPACE + "}}"
    ),
    "link": (
        '{"type":"object","required":["sourceId","targetId"],"additionalProperties":false,'
        '"properties":{"sourceId":{"type":"string","description":"Id of a memory that recall'
        ' returned.","minLength":1,"maxLength":500},"targetId":{"type":"string","description":"Id'
        ' of another one of the same Memory Space.","minLength":1,"maxLength":500},' + SPACE + ","
        '"type":{"type":"string","enum":["temporal","semantic","causal","entity"]},'
        '"weight":{"type":"number","minimum":0,"maximum":1},'
        '"reason":{"type":"string","minLength":1,"maxLength":1000}}}'
    ),
    "forget": (
        '{"type":"object","required":["id"],"additionalProperties":false,"properties":{'
        '"id":{"type":"string","description":"Id of a memory that recall returned.","minLength":1,'
        '"maxLength":500},' + SPACE + "}}"
    ),
}


@pytest.mark.requirement("memory-spaces:schemas")
@pytest.mark.parametrize("item", [*MANIFEST.routes, *MANIFEST.actions], ids=lambda item: item.id)
def test_published_schemas_are_these_byte_for_byte(item: Any) -> None:
    shown = json.dumps(thaw(item.input_schema), ensure_ascii=False, separators=(",", ":"))
    assert shown == PINNED[item.id]


@pytest.mark.requirement("memory-spaces:inputs")
class TestReading:
    @pytest.mark.parametrize("frozen", [True, False])
    def test_texts_are_trimmed_and_blank_ones_absent(self, frozen: bool) -> None:
        value: Any = {
            "query": "  nox ",
            "limit": 5.0,
            "category": " ",
            "intent": None,
            "memoryBodyIds": [" a ", "", "b"],
        }
        read = read_input(RecallInput, json_clone(value) if frozen else value)
        assert (read.query, read.limit, read.category, read.intent) == ("nox", 5, None, None)
        assert read.memory_body_ids == ("a", "b")

    @pytest.mark.parametrize(
        ("value", "code", "field"),
        [
            ([], "not-an-object", None),
            ("x", "not-an-object", None),
            (None, "field-required", "query"),
            ({"query": " "}, "text-required", "query"),
            ({"query": 5}, "text-not-string", "query"),
            ({"query": "x" * 2_001}, "text-too-long", "query"),
            ({"query": "\ud800"}, "text-not-unicode", "query"),
            ({"query": "q", "mode": "fuzzy"}, "mode-unsupported", "mode"),
            ({"query": "q", "limit": 21}, "number-range", "limit"),
            ({"query": "q", "limit": "5"}, "integer-range", "limit"),
            ({"query": "q", "limit": 1.5}, "integer-range", "limit"),
            ({"query": "q", "limt": 5}, "key-unknown", "limt"),
            ({"query": "q", "memoryBodyIds": "a"}, "array-required", "memoryBodyIds"),
            ({"query": "q", "memoryBodyIds": [5]}, "text-not-string", "memoryBodyIds.0"),
        ],
    )
    def test_what_does_not_fit_is_named(self, value: Any, code: str, field: str | None) -> None:
        with pytest.raises(InputError) as caught:
            read_input(RecallInput, value, "recall")
        assert caught.value.code == code
        assert caught.value.details.get("field") == field

    @pytest.mark.parametrize(
        ("model", "value", "sentence"),
        [
            (RecallInput, {}, "query is required"),
            (RememberInput, {"content": " "}, "content is required"),
            (RecallInput, {"query": 5}, "query must be a string"),
            (RecallInput, {"query": "x" * 2_001}, "query is too long (max 2000 characters)"),
            (RecallInput, {"query": "\ud800"}, "query must be well-formed Unicode"),
            (
                RecallInput,
                {"query": "q", "mode": "x"},
                "mode must be 'smart', 'keyword' or 'basic'",
            ),
            (RecallInput, {"query": "q", "limit": 0}, "limit must be at least 1"),
            (RecallInput, {"query": "q", "limit": 21}, "limit must be at most 20"),
            (RecallInput, {"query": "q", "limit": "5"}, "limit must be a whole number"),
            (RecallInput, {"query": "q", "memoryBodyIds": "a"}, "memoryBodyIds must be a list"),
            (
                RecallInput,
                {"query": "q", "memoryBodyIds": ["a", 5]},
                "item 2 of memoryBodyIds must be a string",
            ),
            (RememberInput, {"content": "x", "tags": ["a,b"]}, "tags must not contain a comma"),
            (
                RememberInput,
                {"content": "x", "tags": ["a"] * 21},
                "tags has too many items (max 20)",
            ),
            (
                LinkInput,
                {"sourceId": "a", "targetId": "b", "weight": "x"},
                "weight must be a number",
            ),
            (
                ManageSpacesInput,
                {"operation": "create", "request": {"name": "x" * 101, "description": "y"}},
                "name is too long (max 100 characters)",
            ),
            (ManageSpacesInput, {"operation": "create", "request": 5}, "request must be an object"),
            (
                ManageSpacesInput,
                {"operation": "merge", "deactivateSources": "perhaps"},
                "deactivateSources must be true or false",
            ),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_a_refusal_is_a_sentence_about_the_field(
        self, model: Any, value: Any, sentence: str
    ) -> None:
        with pytest.raises(InputError) as caught:
            read_input(model, value, "operation")
        assert caught.value.message == sentence

    def test_what_has_no_sentence_of_its_own_is_passed_on(self) -> None:
        class Dated(Input):
            on: date

        with pytest.raises(InputError) as caught:
            read_input(Dated, {"on": "tomorrow"})
        assert caught.value.code == "value-invalid"
        assert caught.value.message.startswith("on is refused: ")

    def test_an_unknown_field_names_the_nearest(self) -> None:
        with pytest.raises(InputError, match="'limit'"):
            read_input(RecallInput, {"query": "q", "limt": 5})

    def test_nested_fields_are_named_by_their_place(self) -> None:
        value = {"operation": "create", "request": {"name": "x" * 101, "description": "y"}}
        with pytest.raises(InputError) as caught:
            read_input(ManageSpacesInput, value)
        assert (caught.value.code, caught.value.details["field"]) == (
            "text-too-long", "request.name",
        )  # fmt: skip


@pytest.mark.requirement("memory-spaces:cursor")
class TestCursor:
    @pytest.mark.parametrize(
        "place", [Place(space_id="a"), Place(space_id="名", cursor="c", skip=3)]
    )
    def test_it_names_its_place(self, place: Place) -> None:
        cursor = write_cursor({"q": 1}, place)
        assert cursor is not None
        assert read_cursor({"q": 1}, cursor) == place

    @pytest.mark.parametrize("data", ["", "AAAA", "bnVsbA", "WzEsMiwzLDRd", "W10", "***"])
    def test_rubbish_is_refused(self, data: str) -> None:
        with pytest.raises(InputError) as caught:
            read_cursor({"q": 1}, data)
        assert caught.value.code == "cursor-invalid"

    def test_one_that_would_be_too_long_is_none(self) -> None:
        assert write_cursor({}, Place(space_id="a", cursor="x" * 2_000)) is None
