"""Vectors: their algebra, their stored forms (§6.3)."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from dsh_mnemon_provider_holographic import _algebra as algebra
from hypothesis import given
from hypothesis import strategies as st

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@pytest.mark.requirement("holographic:algebra:roles")
@given(a=WORDS, b=WORDS)
def test_what_is_bound_can_be_taken_out(a: str, b: str) -> None:
    one, other = algebra.atom(a, 64), algebra.atom(b, 64)
    rest = algebra.unbind(algebra.bind(one, other), other)
    assert algebra.similarity(rest, one) == pytest.approx(1.0)
    assert ((rest >= 0) & (rest <= 2 * np.pi)).all()


@pytest.mark.requirement("holographic:algebra:roles")
@pytest.mark.parametrize(("entities", "expected"), [(1, 0.62), (2, 0.54), (3, 0.48), (5, 0.39)])
def test_a_fact_holds_its_entities_and_no_others(entities: int, expected: float) -> None:
    names = [f"Name {number}" for number in range(entities)]
    fact = algebra.fact_vector("The deploy keys rotate every week.", names, 1024)
    held = [algebra.similarity(fact, algebra.entity_key(name, 1024)) for name in names]
    absent = algebra.similarity(fact, algebra.entity_key("Somebody else", 1024))
    assert np.mean(held) == pytest.approx(expected, abs=0.05)
    assert min(held) > algebra.noise_threshold(1024) > absent


@pytest.mark.requirement("holographic:algebra:roles")
def test_a_text_without_words_has_a_vector() -> None:
    assert (algebra.text_vector(" ?! ", 64) == algebra.atom("__hrr_empty__", 64)).all()


@pytest.mark.requirement("holographic:algebra:stored")
@given(word=WORDS, dim=st.sampled_from([16, 48, 256]))
def test_a_stored_vector_is_read_as_it_was(word: str, dim: int) -> None:
    vector = algebra.atom(word, dim)
    read = algebra.decode(algebra.encode(vector), dim)
    assert read is not None
    assert (read == vector).all()


@pytest.mark.requirement("holographic:algebra:stored")
def test_single_precision_of_newer_hermes_is_read() -> None:
    vector = algebra.atom("word", 32)
    read = algebra.decode(b"HRR1" + vector.astype("<f4").tobytes(), 32)
    assert read is not None
    assert algebra.similarity(read, vector) == pytest.approx(1.0)


@pytest.mark.requirement("holographic:algebra:stored")
def test_another_dimension_is_read_as_such() -> None:
    read = algebra.decode(algebra.encode(algebra.atom("word", 48)), 32)
    assert read is not None
    assert len(read) == 48


@pytest.mark.requirement("holographic:algebra:stored")
@pytest.mark.parametrize(
    "blob", [None, "text", b"", b"HRR1", b"HRR1123", b"1234567", struct.pack("<d", float("nan"))]
)
def test_what_is_no_vector_is_none(blob: object) -> None:
    assert algebra.decode(blob, 32) is None


@pytest.mark.requirement("holographic:algebra:stored")
def test_many_vectors_are_read_at_once() -> None:
    same = [(1, algebra.encode(algebra.atom("a", 32))), (2, algebra.encode(algebra.atom("b", 32)))]
    broken = struct.pack("<d", float("inf")) * 32
    rows = [*same, (3, algebra.encode(algebra.atom("c", 16))), (4, None), (5, broken)]
    for given_rows in (same, rows, [*same, (5, broken)]):
        found, matrix = algebra.decode_all(given_rows, 32)
        assert found == [1, 2]
        assert matrix.shape == (2, 32)
    assert algebra.decode_all(rows[2:], 32)[0] == []
