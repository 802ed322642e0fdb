"""Hand-edited Markdown compared with the store (D57)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from dsh_mnemon_source_runtime._edits import compare, in_order, parse
from dsh_mnemon_source_runtime.contracts import Entry, Target

ENTRIES = ("The build uses nox sessions", "Tests run with pytest", "Deploys happen on Mondays")


def entry(content: str, target: Target = "memory", updated_at: str = "") -> Entry:
    return Entry(
        content=content,
        created_at="",
        updated_at=updated_at,
        target=target,
        importance="normal",
    )


STORE = (*(entry(content) for content in ENTRIES), entry("profile", "user"))


def edited(*contents: str) -> str:
    return "\n§\n".join(contents) + "\n"


def differences(text: str, entries: tuple[Entry, ...] = STORE, at: Any = None) -> list[Any]:
    return [
        (item["kind"], item.get("from"), item.get("to"), item.get("problem"))
        for item in compare(text, entries, "memory", at)
    ]


@pytest.mark.requirement("runtime:edits:compare")
class TestParsing:
    def test_line_ends_blanks_and_empty_parts_do_not_matter(self) -> None:
        text = "\ufeffone\r\ntwo\r\n  §  \r\n§\n\nthree\n\n"
        assert parse(text) == ("one two", "three")

    def test_a_delimiter_inside_a_line_separates_nothing(self) -> None:
        assert parse("a § b\n§\nc") == ("a § b", "c")

    def test_an_empty_file_has_no_entries(self) -> None:
        assert parse("") == ()


@pytest.mark.requirement("runtime:edits:compare")
class TestComparing:
    def test_the_rendering_itself_and_another_order_say_nothing_new(self) -> None:
        assert differences(edited(*ENTRIES)) == []
        assert differences(edited(*reversed(ENTRIES))) == []

    def test_every_kind_of_change_is_found(self) -> None:
        text = edited("The build uses tox sessions", ENTRIES[2], "A new fact")
        assert differences(text) == [
            ("replace", ENTRIES[0], "The build uses tox sessions", None),
            ("remove", ENTRIES[1], None, None),
            ("add", None, "A new fact", None),
        ]

    def test_each_difference_carries_the_mutation_that_makes_it(self) -> None:
        text = edited("The build uses tox sessions", ENTRIES[2], "A new fact")
        assert [item["mutation"] for item in compare(text, STORE, "memory")] == [
            {
                "action": "replace",
                "target": "memory",
                "oldText": ENTRIES[0],
                "content": "The build uses tox sessions",
            },
            {"action": "remove", "target": "memory", "oldText": ENTRIES[1]},
            {"action": "add", "target": "memory", "content": "A new fact"},
        ]

    def test_one_new_text_replaces_one_old_text_only(self) -> None:
        store = (entry("Use pnpm version 8"), entry("Use pnpm version 9"))
        assert differences(edited("Use pnpm version 10"), store) == [
            ("replace", "Use pnpm version 8", "Use pnpm version 10", None),
            ("remove", "Use pnpm version 9", None, None),
        ]

    def test_a_text_that_cannot_be_stored_is_marked(self) -> None:
        text = edited(*ENTRIES, "odd § text", "记" * 2731)
        assert [item[3] for item in differences(text)] == [
            "entry-delimiter-reserved",
            "entry-too-large",
        ]

    def test_deleting_one_of_two_equal_entries_is_marked_ambiguous(self) -> None:
        assert differences(edited("Same"), (entry("Same"), entry("Same"))) == [
            ("remove", "Same", None, "entry-ambiguous")
        ]

    def test_writing_an_entry_twice_adds_nothing(self) -> None:
        assert differences(edited(*ENTRIES, ENTRIES[0])) == []

    def test_an_entry_younger_than_the_edit_was_not_deleted_by_it(self) -> None:
        store = (
            entry("older", updated_at="2026-03-01T11:00:00.000Z"),
            entry("younger", updated_at="2026-03-01T13:00:00.000Z"),
        )
        noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
        assert differences(edited(), store, noon) == [("remove", "older", None, None)]
        assert differences(edited("older", "mine"), store, noon) == [("add", None, "mine", None)]


@pytest.mark.requirement("runtime:edits:order")
class TestOrder:
    """Entries of 10 bytes; used counts one separator of 4 bytes between each two."""

    def ordered(self, *changes: tuple[str | None, str | None], used: int, limit: int) -> list[Any]:
        found: list[dict[str, Any]] = []
        for old, new in changes:
            kind = "add" if old is None else "remove" if new is None else "replace"
            sides = {"from": old, "to": new}
            found.append({"kind": kind, **{k: v for k, v in sides.items() if v is not None}})
        return [
            (item.get("from"), item.get("to"), item.get("problem"))
            for item in in_order(found, used, limit)
        ]

    def test_removals_come_last_and_shrinking_replacements_first(self) -> None:
        changes = (("a" * 10, None), ("b" * 10, "b" * 12), ("c" * 10, "c"), (None, "new"))
        assert self.ordered(*changes, used=38, limit=100) == [
            ("c" * 10, "c", None),
            ("b" * 10, "b" * 12, None),
            (None, "new", None),
            ("a" * 10, None, None),
        ]

    def test_as_many_removals_as_needed_make_room_first(self) -> None:
        changes = (("a" * 10, None), ("b" * 10, None), (None, "c" * 10))
        assert self.ordered(*changes, used=24, limit=24) == [
            ("a" * 10, None, None),
            (None, "c" * 10, None),
            ("b" * 10, None, None),
        ]

    def test_what_has_no_room_even_so_is_marked(self) -> None:
        changes = (("a" * 10, None), (None, "b" * 20), (None, "c"))
        assert self.ordered(*changes, used=10, limit=19) == [
            ("a" * 10, None, None),
            (None, "b" * 20, "runtime-capacity"),
            (None, "c", None),
        ]

    def test_the_first_entry_needs_no_separator(self) -> None:
        assert self.ordered((None, "a" * 10), used=0, limit=10) == [(None, "a" * 10, None)]
        both = ((None, "a" * 10), (None, "b"))
        assert self.ordered(*both, used=0, limit=15)[1][2] is None
        assert self.ordered(*both, used=0, limit=14)[1][2] == "runtime-capacity"

    def test_above_the_limit_only_what_shrinks_is_left(self) -> None:
        changes = (("a" * 10, "a" * 9), ("b" * 10, "b" * 11))
        assert self.ordered(*changes, used=24, limit=5) == [
            ("a" * 10, "a" * 9, None),
            ("b" * 10, "b" * 11, "runtime-capacity"),
        ]

    def test_what_is_refused_anyway_takes_no_room(self) -> None:
        refused = {"kind": "add", "to": "x" * 50, "problem": "entry-too-large"}
        fits = {"kind": "add", "to": "y"}
        assert in_order([refused, fits], 0, 5) == [refused, fits]
