"""The passage that a query is about."""

from __future__ import annotations

import pytest
from dsh_mnemon_source_documents._window import window
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
