"""Vectors as blobs, and how near two of them are (spec/mnemon-native.md §10). Pure."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Sequence
from operator import mul

__all__ = ("cosine", "pack", "unpack")


def pack(vector: Sequence[float]) -> bytes:
    """Write a vector as consecutive little-endian float32 values."""
    values = array("f", vector)
    if sys.byteorder == "big":  # pragma: no cover - no such machine runs the tests
        values.byteswap()
    return values.tobytes()


def unpack(blob: object) -> array[float] | None:
    """Read what `pack` wrote; none where there is no vector or no whole number of values."""
    if not isinstance(blob, bytes) or not blob or len(blob) % 4:
        return None
    values = array("f", blob)
    if sys.byteorder == "big":  # pragma: no cover - no such machine runs the tests
        values.byteswap()
    return values


def cosine(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the cosine; 0 for different lengths or a vector without length."""
    if len(left) != len(right):
        return 0.0
    norms = math.sqrt(sum(map(mul, left, left))) * math.sqrt(sum(map(mul, right, right)))
    return sum(map(mul, left, right)) / norms if norms else 0.0
