"""Normal form, branch names, matching and bytes of entries (spec/sources.md §2.4, §2.5)."""

from __future__ import annotations

from typing import Any

import pytest
from dsh_mnemon_core.errors import ConflictError, InputError
from dsh_mnemon_source_runtime._entries import (
    collapse,
    is_branch_list,
    joined_bytes,
    match,
    normalize,
    read_branches,
    used_bytes,
)
from dsh_mnemon_source_runtime.contracts import Entry, Target


def entry(content: str, target: Target = "memory") -> Entry:
    return Entry(content=content, created_at="", updated_at="", target=target, importance="normal")


@pytest.mark.requirement("runtime:entry:normalize")
class TestNormalForm:
    @pytest.mark.parametrize(
        "space",
        ["\t", "\n", "\v", "\f", "\r", "\u00a0", "\u1680", "\u2009", "\u2028", "\u3000", "\ufeff"],
    )
    def test_white_space_of_ecmascript_collapses(self, space: str) -> None:
        assert collapse(f"{space}a{space}{space}b{space}") == "a b"

    @pytest.mark.parametrize("other", ["\x00", "\x1c", "\x1f", "\x85", "\u200b", "\u200f"])
    def test_what_only_python_calls_space_is_kept(self, other: str) -> None:
        assert collapse(f"a{other}{other}b") == f"a{other}{other}b"
        assert normalize(f"a{other}b", "content") == f"a{other}b"

    @pytest.mark.parametrize("text", [None, "", " \n\u3000"])
    def test_an_empty_text_is_refused(self, text: str | None) -> None:
        with pytest.raises(InputError) as caught:
            normalize(text, "content")
        assert (caught.value.code, caught.value.details["field"]) == ("text-required", "content")

    def test_the_delimiter_is_reserved(self) -> None:
        with pytest.raises(InputError) as caught:
            normalize("a § b", "content")
        assert caught.value.code == "entry-delimiter-reserved"

    def test_bytes_are_limited_not_characters(self) -> None:
        assert normalize("记" * 2730, "content") == "记" * 2730
        with pytest.raises(InputError) as caught:
            normalize("记" * 2731, "content")
        assert caught.value.code == "entry-too-large"
        assert caught.value.details == {"bytes": 8193, "limit": 8192}

    @pytest.mark.parametrize("text", ["{{name}}", "$x ${y}", "</runtime-memory-file>", "%s {0}"])
    def test_text_is_taken_literally(self, text: str) -> None:
        assert normalize(text, "content") == text


@pytest.mark.requirement("runtime:text:unicode")
def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        normalize("a \ud800 b", "content")
    assert caught.value.code == "text-not-unicode"


@pytest.mark.requirement("runtime:entry:branches")
class TestBranches:
    @pytest.mark.parametrize(
        ("names", "code"),
        [
            (["a//b"], "branches-invalid"),
            (["a", 1], "branches-invalid"),
            ([None], "branches-invalid"),
            (["a", "b", " a"], "branches-duplicated"),
            ([f"b{i}" for i in range(17)], "branches-too-many"),
        ],
    )
    def test_bad_lists_are_refused_with_a_code(self, names: list[Any], code: str) -> None:
        with pytest.raises(InputError) as caught:
            read_branches(names)
        assert caught.value.code == code

    def test_an_empty_list_is_legal(self) -> None:
        assert read_branches([]) == ()

    @pytest.mark.parametrize(
        ("stored", "kept"),
        [(["a..b", "-"], True), ([], True), (["a b"], False), ([1], False), ("main", False)],
    )
    def test_stored_lists_are_judged_more_loosely(self, stored: Any, kept: bool) -> None:
        assert is_branch_list(stored) is kept


@pytest.mark.requirement("runtime:entry:match")
class TestMatching:
    ENTRIES = (entry("Use pnpm"), entry("Use pnpm 9"), entry("Use pnpm", "user"), entry("Same"))

    def test_a_full_match_wins_over_partial_ones(self) -> None:
        assert match(self.ENTRIES, "memory", "Use pnpm") == 0

    def test_a_unique_part_is_enough(self) -> None:
        assert match(self.ENTRIES, "memory", "9") == 1

    def test_only_the_target_counts(self) -> None:
        assert match(self.ENTRIES, "user", "Use") == 2

    @pytest.mark.parametrize("text", ["use pnpm", "Same 1"])
    def test_nothing_similar_is_good_enough(self, text: str) -> None:
        with pytest.raises(InputError) as caught:
            match(self.ENTRIES, "memory", text)
        assert caught.value.code == "entry-not-found"

    @pytest.mark.parametrize(
        ("entries", "text"), [(ENTRIES, "Use"), ((entry("Same"), entry("Same")), "Same")]
    )
    def test_several_are_ambiguous_also_equal_ones(
        self, entries: tuple[Entry, ...], text: str
    ) -> None:
        with pytest.raises(ConflictError) as caught:
            match(entries, "memory", text)
        assert (caught.value.code, caught.value.details) == ("entry-ambiguous", {"matches": 2})


@pytest.mark.requirement("runtime:capacity:rule")
def test_used_bytes_count_contents_and_separators_only() -> None:
    contents = ["Prefers dark theme", "Prefers dark coffee", "用户偏好简洁回复"]
    assert joined_bytes(contents) == 69
    assert joined_bytes([]) == 0
    assert used_bytes([*map(entry, contents), entry("x", "user")], "memory") == 69
