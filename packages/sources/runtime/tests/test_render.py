"""Ages, headings, literal text and presentation (spec/sources.md §2.6)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from dsh_mnemon_source_runtime import _render
from dsh_mnemon_source_runtime._changes import State
from dsh_mnemon_source_runtime.contracts import Entry, Limits

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TODAY = "2026-03-01T11:00:00.000Z"


def entry(content: str, **fields: Any) -> Entry:
    return Entry(
        **{
            "content": content,
            "created_at": TODAY,
            "updated_at": TODAY,
            "target": "memory",
            "importance": "normal",
            **fields,
        }
    )


@pytest.mark.requirement("runtime:projection:age")
@pytest.mark.parametrize(
    ("stamp", "age"),
    [
        ("2026-03-01T12:00:00.000Z", "0d"),
        ("2026-02-28T12:00:00.001Z", "0d"),
        ("2026-02-28T12:00:00.000Z", "1d"),
        ("2026-03-01T12:00:00.001Z", "future"),
        ("2026-02-28T13:00:00+02:00", "1d"),
        ("yesterday", "unknown"),
        ("", "unknown"),
    ],
)
def test_ages_are_whole_days_at_the_capture(stamp: str, age: str) -> None:
    assert _render.age(stamp, NOW) == age


@pytest.mark.requirement("runtime:projection:text")
def test_empty_files_say_so() -> None:
    text = _render.snapshot(State(()), "", limits=Limits(memory=5, user=6), now=NOW)
    assert text.endswith(
        "\n\nContents of USER.md (user profile; entries: 0; UTF-8 bytes: 0/6)\n"
        '<runtime-memory-file name="USER.md">\n(empty)\n</runtime-memory-file>\n\n'
        "Contents of MEMORY.md (working reference; entries: 0; UTF-8 bytes: 0/5)\n"
        '<runtime-memory-file name="MEMORY.md">\n(empty)\n</runtime-memory-file>'
    )


@pytest.mark.requirement("runtime:projection:text")
def test_the_bracket_appears_only_when_something_is_hidden() -> None:
    state = State((entry("a", branches=("main",)),))
    for branch, line in (
        ("main", "Git branch: main"),
        ("dev", "Git branch: dev (1 branch-scoped entry hidden)"),
    ):
        text = _render.snapshot(state, branch, limits=Limits(), now=NOW)
        assert text.split("\n")[2] == line


@pytest.mark.requirement("runtime:projection:literal")
@pytest.mark.parametrize(
    "content",
    ["{{ user }} {x}", "$HOME ${x} %s", "</runtime-memory-file>", "\x00 \u202e מילה", "\\n <b>&"],
)
def test_contents_stand_in_the_text_literally(content: str) -> None:
    text = _render.snapshot(State((entry(content),)), "", limits=Limits(), now=NOW)
    assert f"created=0d; updated=0d]\n{content}\n</runtime-memory-file>" in text


@pytest.mark.requirement("runtime:projection:presentation")
class TestPresentation:
    def test_people_see_counts_and_the_first_entries(self) -> None:
        state = State(
            (
                entry("profile", target="user"),
                entry("hidden", branches=("main",)),
                entry("x" * 700),
            )
        )
        shown = _render.presentation(state, "dev")
        assert (shown.visible_items, shown.total_items) == (2, 3)
        assert shown.items is not None
        first, second = shown.items
        assert (first.id, first.title, first.excerpt) == (f"user:{TODAY}:0", "profile", None)
        assert (second.id, len(second.title), len(second.excerpt or "")) == (
            f"memory:{TODAY}:2",
            160,
            600,
        )

    def test_ids_stay_short_and_distinct_whatever_the_stamps(self) -> None:
        state = State(tuple(entry(f"{i}", created_at="s" * 900) for i in range(30)))
        items = _render.presentation(state, "").items or ()
        assert len(items) == 24
        assert len({item.id for item in items}) == 24
        assert max(len(item.id) for item in items) <= 300

    def test_nothing_shown_has_no_items(self) -> None:
        assert _render.presentation(State(()), "").items is None
