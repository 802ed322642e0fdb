"""Packing and compaction beyond the recorded cases (spec/sources.md §2.8)."""

from __future__ import annotations

from typing import Any

import pytest
from dsh_mnemon_core.errors import ConflictError, InputError
from dsh_mnemon_source_runtime._capacity import Candidate, candidates, pack, read_budget
from dsh_mnemon_source_runtime._entries import joined_bytes
from dsh_mnemon_source_runtime._mutation import prepare
from dsh_mnemon_source_runtime.actions import read_mutation
from dsh_mnemon_source_runtime.contracts import IMPORTANCES, Entry
from hypothesis import given
from hypothesis import strategies as st


def entry(content: str, importance: Any = "normal", **fields: Any) -> Entry:
    return Entry(
        **{
            "content": content,
            "created_at": f"created {content}",
            "updated_at": f"updated {content}",
            "target": "memory",
            "importance": importance,
            **fields,
        }
    )


some = st.lists(
    st.builds(entry, st.text("aé记", min_size=1, max_size=9), st.sampled_from(IMPORTANCES)),
    max_size=12,
)


@pytest.mark.requirement("runtime:capacity:pack")
class TestPacking:
    ENTRIES = (
        entry("critical 关键规则 one", "critical"),
        entry("normal entry two"),
        entry("low entry three", "low"),
        entry("normal entry four"),
    )

    @pytest.mark.parametrize(
        ("budget", "kept"),
        [(85, (0, 1, 2, 3)), (70, (0, 1, 3)), (45, (0, 1)), (24, (1,)), (15, (2,)), (0, ())],
    )
    def test_the_important_come_first_and_what_does_not_fit_is_skipped(
        self, budget: int, kept: tuple[int, ...]
    ) -> None:
        assert pack(self.ENTRIES, budget) == kept

    @given(some, st.integers(0, 120))
    def test_survivors_fit_stay_in_order_and_cannot_be_extended(
        self, entries: list[Entry], budget: int
    ) -> None:
        kept = pack(entries, budget)
        assert list(kept) == sorted(set(kept))
        contents = [entries[i].content for i in kept]
        assert joined_bytes(contents) <= budget
        for index in set(range(len(entries))) - set(kept):
            assert joined_bytes([*contents, entries[index].content]) > budget


@pytest.mark.requirement("runtime:capacity:compact")
class TestCandidates:
    def prepared(self, **request: Any) -> Any:
        base = (
            entry("one", "low", branches=("main",)),
            entry("two", updated_at="later"),
            entry("profile", target="user"),
        )
        return prepare(base, read_mutation({"target": "memory", **request}), "now")

    def propose(self, *proposed: Candidate, **request: Any) -> tuple[Entry, ...]:
        prepared = self.prepared(**(request or {"action": "add", "content": "pending"}))
        return candidates(prepared, proposed, "now")

    def test_times_and_omitted_branches_come_from_the_committed_entry(self) -> None:
        kept = self.propose(
            Candidate(content=" one ", importance="critical"),
            Candidate(content="merged", importance="normal"),
        )
        assert kept == (
            entry("one", "critical", branches=("main",)),
            entry("merged", created_at="now", updated_at="now"),
        )

    @pytest.mark.parametrize(
        ("branches", "kept"), [((), None), (("dev",), ("dev",)), (None, ("main",))]
    )
    def test_given_branches_count(self, branches: Any, kept: Any) -> None:
        (item,) = self.propose(Candidate(content="one", importance="low", branches=branches))
        assert item.branches == kept

    def test_profile_entries_have_no_branches(self) -> None:
        with pytest.raises(InputError) as caught:
            self.propose(
                Candidate(content="p", importance="low", branches=()),
                action="add",
                target="user",
                content="x",
            )
        assert caught.value.code == "branches-memory-only"

    @pytest.mark.parametrize(
        ("contents", "request_", "code"),
        [
            (["a", " a"], {"action": "add", "content": "x"}, "compaction-duplicated"),
            (["x"], {"action": "add", "content": "x"}, "compaction-repeats-pending"),
            (["one"], {"action": "remove", "oldText": "one"}, "compaction-reintroduces"),
            (
                ["one"],
                {"action": "replace", "oldText": "one", "content": "x"},
                "compaction-reintroduces",
            ),
        ],
    )
    def test_contradictions_are_refused(
        self, contents: list[str], request_: dict[str, Any], code: str
    ) -> None:
        proposed = [Candidate(content=content, importance="low") for content in contents]
        with pytest.raises(ConflictError) as caught:
            self.propose(*proposed, **request_)
        assert caught.value.code == code


@pytest.mark.requirement("runtime:capacity:compact")
class TestBudget:
    @pytest.mark.parametrize("value", [-1, 101, True, 1.5, "5"])
    def test_it_is_an_integer_up_to_the_limit(self, value: Any) -> None:
        with pytest.raises(InputError) as caught:
            read_budget(value, 100, default=7)
        assert caught.value.code == "compaction-budget-invalid"

    @pytest.mark.parametrize(("value", "budget"), [(None, 7), (0, 0), (100, 100)])
    def test_it_has_a_default(self, value: Any, budget: int) -> None:
        assert read_budget(value, 100, default=7) == budget
