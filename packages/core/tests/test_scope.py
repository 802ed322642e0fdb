import attrs
import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.scope import CAPABILITIES, ROOT_TURN, OperationScope, ViewBudget, ViewRequest
from dsh_mnemon_core.wire import to_wire

LIMITS = {
    "max_projection_characters": (65_536, 10_000_000),
    "max_routes": (16, 10_000),
    "max_actions": (16, 10_000),
    "max_evidence_results": (16, 10_000),
    "max_evidence_characters": (16_384, 10_000_000),
}


def test_capabilities_stand_in_canonical_order():
    assert len(CAPABILITIES) == 15
    assert CAPABILITIES[:3] == ("status", "project", "recall")
    assert CAPABILITIES[-2:] == ("export", "import")


def test_scope_knows_its_layouts():
    for storage in ("global", "workspace", "custom", "workspaces"):
        assert OperationScope(storage=storage).storage == storage
    with pytest.raises(InputError) as caught:
        OperationScope(storage="cloud")
    assert caught.value.code == "storage-unsupported"


def test_scope_leaves_blank_ids_out():
    scope = OperationScope(storage="workspace", workspace_id=" /w ", agent_id=" ")
    assert to_wire(scope) == {"storage": "workspace", "workspaceId": "/w"}
    assert scope == OperationScope(storage="workspace", workspace_id="/w")


def test_budget_defaults_and_ranges():
    assert set(LIMITS) == {field.name for field in attrs.fields(ViewBudget)}
    for name, (default, maximum) in LIMITS.items():
        assert getattr(ViewBudget(), name) == default
        assert getattr(ViewBudget(**{name: maximum}), name) == maximum
        for bad in (0, maximum + 1, True, "1"):
            with pytest.raises(InputError) as caught:
                ViewBudget(**{name: bad})
            assert caught.value.code == "integer-range"


def test_request_normalizes_its_scenario():
    scope = OperationScope(storage="custom")
    assert ViewRequest(scope=scope).scenario == ROOT_TURN == "agent.root-turn"
    assert ViewRequest(scope=scope, scenario=" a ").scenario == "a"
    with pytest.raises(InputError) as caught:
        ViewRequest(scope=scope, scenario="x" * 301)
    assert caught.value.code == "text-too-long"
