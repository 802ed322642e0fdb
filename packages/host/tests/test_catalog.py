"""The published tools, and their schemas byte for byte (D8).

To accept a change on purpose, write what the failing test prints into its file.
"""

import json
from pathlib import Path

import pytest
from dsh_mnemon_host.tools.catalog import build_tools

PINNED = Path(__file__).parent / "schema"
TOOLS = {tool.name: tool for tool in build_tools(None, None, None, tuple)}


READS = [
    "mnemon_recall",
    "mnemon_related",
    "mnemon_document_search",
    "mnemon_document_read",
    "mnemon_memory_bodies",
    "mnemon_status",
    "mnemon_view_route",
]
WRITES = [
    "mnemon_runtime_memory",
    "mnemon_document_create",
    "mnemon_document_manage",
    "mnemon_remember",
    "mnemon_link",
    "mnemon_forget",
    "mnemon_memory_body_create",
    "mnemon_memory_body_update",
    "mnemon_memory_body_merge",
    "mnemon_view_action",
]


def test_read_tools_come_first():
    assert list(TOOLS) == [*READS, *WRITES]
    assert [name for name, tool in TOOLS.items() if tool.writes] == WRITES
    assert [name for name, tool in TOOLS.items() if tool.hints.read_only] == READS


def test_hints_are_safe_for_clients():
    again = {name for name, tool in TOOLS.items() if tool.hints.idempotent}
    assert again == {
        "mnemon_document_read",
        "mnemon_memory_bodies",
        "mnemon_memory_body_update",
        "mnemon_status",
    }
    assert {name for name, tool in TOOLS.items() if tool.hints.destructive} == {
        "mnemon_document_manage",
        "mnemon_forget",
        "mnemon_runtime_memory",
        "mnemon_view_action",
    }


@pytest.mark.requirement("host:tools:schema")
@pytest.mark.parametrize("name", TOOLS)
def test_the_input_schema_is_pinned_byte_for_byte(name):
    text = json.dumps(TOOLS[name].input_schema, indent=2, ensure_ascii=False) + "\n"
    assert (PINNED / f"{name}.json").read_text(encoding="utf-8") == text


def test_every_pinned_schema_has_a_tool():
    assert {path.stem for path in PINNED.glob("mnemon_*.json")} == set(TOOLS)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mnemon_status", ("failed", "user asks")),
        ("mnemon_view_route", ("MNEMON VIEW ROUTES", "routeId", "evidence")),
        ("mnemon_view_action", ("MNEMON VIEW ROUTES", "offerId", "receipt")),
        (
            "mnemon_runtime_memory",
            (
                "new facts",
                "asks to remember",
                "Never store what you just read",
                "looking things up stays looking",
                "target=user",
                "target=memory",
                "secrets",
                "progress",
                "branches (memory only)",
                "empty list",
            ),
        ),
    ],
)
def test_descriptions_say_what_a_model_must_know(name, words):
    for word in words:
        assert word in TOOLS[name].description
