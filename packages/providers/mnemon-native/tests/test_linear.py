"""Reading a text takes time in proportion to its length, whatever stands in it (§2.6).

The texts are five times as long as a store accepts. What reads a text again from each of its
characters takes many seconds for one of them; what reads it once takes some milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from dsh_mnemon_provider_mnemon_native._compatible.intent import intent_of
from dsh_mnemon_provider_mnemon_native._hybrid.entities import _candidates
from dsh_mnemon_provider_mnemon_native._mapping import label_of
from dsh_mnemon_provider_mnemon_native._terms.asking import ask
from dsh_mnemon_provider_mnemon_native._terms.reading import substance
from dsh_mnemon_provider_mnemon_native._tokens import tokens
from dsh_mnemon_provider_mnemon_native._write.edges import causal_signal, causal_sub_type
from dsh_mnemon_provider_mnemon_native._write.entities import extract
from dsh_mnemon_provider_mnemon_native._write.similarity import suggestion_for

pytestmark = pytest.mark.requirement("native:linear")

LENGTH = 40_000
SECONDS = 1.5

PIECES = [
    *("7", "1st ", "A", "a", "Aa", "AaA", "A1", "AB ", "a-", "+", "a+", "#", "_", "é", "e\u0301"),
    *(".", "/", "a.", "./", "a/b.c", "http://", "@", "@a", ":", "a: ", "\n", " "),
    *("'", '"', "`", "' ", "“", "«", "「", "《", "《a", "(", "no ", "not", "n't", "in order "),
    *("一", "七", "的", "什么", "の", "è"),
]
READERS: dict[str, Callable[[str], Any]] = {
    "entities": lambda text: extract(text, lambda words: frozenset()),
    "cause": causal_signal,
    "kind of cause": causal_sub_type,
    "advice": lambda text: suggestion_for(text, text, 0.8, 0.8),
    "terms": substance,
    "question": ask,
    "names": _candidates,
    "intent": intent_of,
    "tokens": tokens,
    "label": label_of,
}


@pytest.mark.parametrize("reader", READERS)
def test_no_text_takes_long_to_read(reader: str) -> None:
    slow: dict[str, float] = {}
    for piece in PIECES:
        text = piece * (LENGTH // len(piece))
        began = time.process_time()
        READERS[reader](text)
        if (took := time.process_time() - began) > SECONDS:
            slow[piece] = took
    assert not slow


def test_what_is_quoted_is_read_as_before() -> None:
    def names(text: str) -> tuple[str, ...]:
        return extract(text, lambda words: frozenset())

    assert names("《a《b》 「c」 《》 《d") == ("a《b", "c")
    assert names("7月") == ()
    assert [substance(text).dated for text in ("12月", "七点", "77777", "月", "二十")] == [
        *(True, True, False, False, False)
    ]
    # An intent in quotes is none; a mark that nothing closes quotes nothing.
    for text, intent in {
        "«pourquoi» x": "GENERAL",
        "pourquoi «x»": "WHY",
        "« pourquoi": "WHY",
        "“ “warum” x": "GENERAL",
        "'n 'warum' x": "WHY",
        "' warum x' y": "GENERAL",
        '"" warum ""': "WHY",
    }.items():
        assert intent_of(text) == intent, text
