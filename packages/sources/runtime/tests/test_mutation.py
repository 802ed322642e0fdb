"""Add, replace and remove beyond the recorded cases (spec/sources.md §2.4, §2.5)."""

from __future__ import annotations

from typing import Any

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_source_runtime._mutation import Prepared, prepare
from dsh_mnemon_source_runtime.actions import read_mutation
from dsh_mnemon_source_runtime.contracts import Entry, Limits
from dsh_mnemon_source_runtime.errors import RuntimeCapacityError

OLD = Entry(
    content="twenty bytes of text",
    created_at="2026-01-01T00:00:00.000Z",
    updated_at="2026-01-02T00:00:00.000Z",
    target="memory",
    importance="low",
    branches=("main",),
)


def apply(*entries: Entry, **request: Any) -> Prepared:
    return prepare(entries, read_mutation({"target": "memory", **request}), "now")


@pytest.mark.requirement("runtime:mutation:recorded")
class TestReplace:
    def test_it_keeps_place_creation_importance_and_branches(self) -> None:
        other = Entry(
            content="other", created_at="", updated_at="", target="memory", importance="normal"
        )
        prepared = apply(OLD, other, action="replace", oldText="twenty", content="new")
        assert prepared.after == (
            Entry(
                content="new",
                created_at=OLD.created_at,
                updated_at="now",
                target="memory",
                importance="low",
                branches=("main",),
            ),
            other,
        )
        assert (prepared.excluded, prepared.rest) == (OLD, (other,))

    @pytest.mark.parametrize(
        ("given", "kept"), [(None, ("main",)), ([], None), (["dev"], ("dev",))]
    )
    def test_branches_are_kept_cleared_or_replaced(self, given: Any, kept: Any) -> None:
        prepared = apply(OLD, action="replace", oldText="twenty", content="new", branches=given)
        assert prepared.after[0].branches == kept

    @pytest.mark.parametrize("branches", [[], ["main"]])
    def test_branches_belong_to_memory_only(self, branches: list[str]) -> None:
        with pytest.raises(InputError) as caught:
            prepare(
                (),
                read_mutation(
                    {"action": "add", "target": "user", "content": "x", "branches": branches}
                ),
                "now",
            )
        assert caught.value.code == "branches-memory-only"


@pytest.mark.requirement("runtime:capacity:rule")
class TestCapacity:
    """The store holds 20 bytes in every case."""

    @pytest.mark.parametrize(
        ("limit", "request_", "refused"),
        [
            (25, {"action": "add", "content": "x"}, False),
            (24, {"action": "add", "content": "x"}, True),
            (21, {"action": "replace", "oldText": "twenty", "content": "x" * 21}, False),
            (20, {"action": "replace", "oldText": "twenty", "content": "x" * 21}, True),
            # Above a limit that was lowered, only growth is refused.
            (5, {"action": "replace", "oldText": "twenty", "content": "x" * 20}, False),
            (5, {"action": "replace", "oldText": "twenty", "content": "x" * 19}, False),
            (5, {"action": "remove", "oldText": "twenty"}, False),
            (5, {"action": "add", "content": "twenty bytes of text"}, False),
            (5, {"action": "add", "content": "x"}, True),
        ],
    )
    def test_only_growth_beyond_the_limit_is_refused(
        self, limit: int, request_: dict[str, Any], refused: bool
    ) -> None:
        prepared = apply(OLD, **request_)
        limits = Limits(memory=limit)
        assert prepared.overflows(limits) is refused
        if not refused:
            prepared.require_room(limits)
            return
        with pytest.raises(RuntimeCapacityError) as caught:
            prepared.require_room(limits)
        error = caught.value
        assert error.code == "runtime-capacity"
        assert error.details == {
            "target": "memory",
            "used": 20,
            "projected": prepared.projected,
            "limit": limit,
        }
        assert (error.target, error.used, error.limit) == ("memory", 20, limit)
        assert error.projected == prepared.projected
