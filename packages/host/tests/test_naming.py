"""What is proposed for a tool name that does not exist."""

import attrs
import pytest
from dsh_mnemon_host.agent_host import ToolHints
from dsh_mnemon_host.tools.naming import unknown_tool


@attrs.frozen
class Tool:
    name: str
    hints: ToolHints


TOOLS = [
    Tool("mnemon_recall", ToolHints(read_only=True)),
    Tool("mnemon_document_search", ToolHints(read_only=True)),
    Tool("mnemon_remember", ToolHints(read_only=False)),
    Tool("mnemon_forget", ToolHints(read_only=False, destructive=True)),
    Tool("mnemon_runtime_memory", ToolHints(read_only=False, destructive=True)),
]


@pytest.mark.requirement("host:tools:proposed")
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("mnemon_recal", "mnemon_recall"),
        ("recall", "mnemon_recall"),
        ("mnemon_Remember", "mnemon_remember"),
        ("mnemon_documents_search", "mnemon_document_search"),
        ("mnemon_forgett", "mnemon_forget"),
        ("mnemon_runtime_memry", "mnemon_runtime_memory"),
    ],
)
def test_nearly_the_same_name_is_proposed(name, meant):
    error = unknown_tool(name, TOOLS)
    assert error.code == "tool-unknown"
    assert error.message == f"there is no tool {name!r} (did you mean {meant!r}?)"


@pytest.mark.requirement("host:tools:proposed")
@pytest.mark.parametrize(
    "name", ["mnemon_nope", "mnemon_", "", "mnemon_forgive", "mnemon_forgot", "mnemon_memory"]
)
def test_nothing_is_proposed_for_a_name_of_its_own(name):
    assert unknown_tool(name, TOOLS).message == f"there is no tool {name!r}"
