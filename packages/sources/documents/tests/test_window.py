"""The passage that a query is about."""

from __future__ import annotations

import pytest
from dsh_mnemon_source_documents._window import PASSAGE, passage, window
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.requirement("documents:search:window")


def test_letters_that_grow_when_small_shift_nothing() -> None:
    text = window("İ" * 3000 + "NEEDLE" + "İ" * 3000, "needle", 1000)
    assert len(text) == 1000
    assert text.index("NEEDLE") == len("[earlier content omitted]\n") + 400


@given(st.text(), st.text(max_size=20), st.integers(-1, 80))
def test_a_passage_keeps_to_its_length(body: str, query: str, maximum: int) -> None:
    text = window(body, query, maximum)
    assert len(text) <= max(maximum, 0)
    assert (text == body) if len(body) <= maximum else True


@pytest.mark.parametrize("at", [0, 40, 100, 2000, 3990])
def test_a_line_shows_where_a_word_stands(at: int) -> None:
    text = "# Title\n" + "word " * 800
    text = f"{text[:at]} ROLLBACK {text[at:]}"
    line = passage(text, "how to rollback")
    assert "ROLLBACK" in line
    assert len(line) <= PASSAGE
    assert line.startswith("…") == (at > PASSAGE // 3)
    assert line.endswith("…") == (at < 3900)
    assert "\n" not in line


@pytest.mark.parametrize(
    ("body", "query", "line"),
    [
        ("**Short** text", "nothing", "Short text"),
        ("", "x", ""),
        ("x" * 300, "", "x" * 199 + "…"),
        ("无" * 300 + "回滚", "回滚", "…" + "无" * 197 + "回滚"),
    ],
)
def test_a_line_of_little_or_without_blanks(body: str, query: str, line: str) -> None:
    assert passage(body, query) == line


@given(st.text(), st.text(max_size=20))
def test_a_line_keeps_to_its_length(body: str, query: str) -> None:
    assert len(passage(body, query)) <= PASSAGE
