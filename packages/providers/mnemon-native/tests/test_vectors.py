"""Vectors as blobs (spec/mnemon-native.md §10)."""

from __future__ import annotations

import struct

import pytest
from dsh_mnemon_provider_mnemon_native._vectors import cosine, pack, unpack

pytestmark = pytest.mark.requirement("native:vectors")


def test_a_blob_is_little_endian_float32() -> None:
    blob = pack([0.1, -2.0])
    assert blob == struct.pack("<2f", 0.1, -2.0)
    assert list(unpack(blob) or ()) == list(struct.unpack("<2f", blob))


@pytest.mark.parametrize("blob", [None, b"", b"12345"])
def test_other_blobs_are_no_vectors(blob: bytes | None) -> None:
    assert unpack(blob) is None


def test_cosine_of_unequal_or_empty_vectors_is_zero() -> None:
    assert cosine([1, 0], [1, 0, 0]) == 0
    assert cosine([0, 0], [1, 0]) == 0
    assert cosine([1, 1], [2, 2]) == pytest.approx(1)
    assert cosine([1, 0], [-1, 0]) == -1
