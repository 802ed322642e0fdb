"""Holographic reduced representations with phases (providers specification §6.3).

A vector is an array of ``dim`` angles in [0, 2π), float64, shape ``(dim,)``. Every function gives
what the Hermes plugin gives, so that both read each other's vectors.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = (
    "Matrix",
    "Phasors",
    "Vector",
    "angles",
    "atom",
    "bind",
    "bundle",
    "content_key",
    "decode",
    "decode_all",
    "encode",
    "entity_key",
    "fact_vector",
    "noise_threshold",
    "phasors",
    "similarities",
    "similarity",
    "text_vector",
    "unbind",
)

Vector: TypeAlias = NDArray[np.float64]
"""Angles in radians."""

Matrix: TypeAlias = NDArray[np.float64]
"""Vectors of one dimension, one a row."""

Phasors: TypeAlias = NDArray[np.complex128]
"""Unit complex numbers of the angles of a vector, or sums of such."""

_TAU: Final = 2.0 * math.pi
_VALUES_PER_DIGEST: Final = 16
_STRIPPED: Final = ".,!?;:\"'()[]{}"
_EMPTY: Final = "__hrr_empty__"
_CONTENT_ROLE: Final = "__hrr_role_content__"
_ENTITY_ROLE: Final = "__hrr_role_entity__"
_FLOAT32_MARK: Final = b"HRR1"


@lru_cache(maxsize=4096)
def atom(word: str, dim: int) -> Vector:
    """Return the fixed vector of a word, read-only; no lower-casing here."""
    blocks = -(-dim // _VALUES_PER_DIGEST)
    raw = b"".join(hashlib.sha256(f"{word}:{i}".encode()).digest() for i in range(blocks))
    phases: Vector = np.frombuffer(raw, dtype="<u2")[:dim].astype(np.float64) * (_TAU / 65536.0)
    phases.flags.writeable = False
    return phases


def bind(a: Vector, b: Vector) -> Vector:
    """Associate two vectors: the sum of their angles."""
    bound: Vector = (a + b) % _TAU
    return bound


def unbind(memory: Vector, key: Vector) -> Vector:
    """Take what ``key`` is bound to out of ``memory``: the difference of their angles."""
    rest: Vector = (memory - key) % _TAU
    return rest


def phasors(vector: Vector) -> Phasors:
    """Return ``e^{iv}``, what a bundle adds up."""
    turned: Phasors = np.exp(1j * vector)
    return turned


def angles(total: Phasors) -> Vector:
    """Return the vector of a sum of phasors."""
    turned: Vector = np.angle(total) % _TAU
    return turned


def bundle(vectors: Sequence[Vector]) -> Vector:
    """Superpose at least one vector; the result resembles each, the order does not matter."""
    return angles(phasors(np.stack(vectors)).sum(axis=0))


def similarity(a: Vector, b: Vector) -> float:
    """Compare two vectors of one dimension: -1..1, about 0 for unrelated ones."""
    return float(np.mean(np.cos(a - b)))


def similarities(matrix: Matrix, key: Vector) -> list[float]:
    """Compare each row with a vector; to six digits, which is faster."""
    turned = np.cos((matrix - key).astype(np.float32))
    means: list[float] = turned.mean(axis=1).tolist()
    return means


def text_vector(text: str, dim: int) -> Vector:
    """Superpose the atoms of a text's words, repeated words repeatedly."""
    words = [word.strip(_STRIPPED) for word in text.lower().split()]
    atoms = [atom(word, dim) for word in words if word]
    return bundle(atoms) if atoms else atom(_EMPTY, dim)


def content_key(text: str, dim: int) -> Vector:
    """Return what a fact with this text holds in the role of content."""
    return bind(text_vector(text, dim), atom(_CONTENT_ROLE, dim))


def entity_key(name: str, dim: int) -> Vector:
    """Return what a fact about this entity holds in the role of entity."""
    return bind(atom(name.lower(), dim), atom(_ENTITY_ROLE, dim))


def fact_vector(content: str, entities: Iterable[str], dim: int) -> Vector:
    """Encode a fact: its content and the names of the entities it is linked to."""
    return bundle([content_key(content, dim), *(entity_key(name, dim) for name in entities)])


def noise_threshold(dim: int) -> float:
    """Return the similarity above which a fact holds a key (§6.7, step 1c)."""
    return max(0.15, 5.0 / math.sqrt(2 * dim))


def encode(vector: Vector) -> bytes:
    """Return the stored form: little-endian float64, which every Hermes reads."""
    return vector.astype("<f8").tobytes()


def decode(blob: object, dim: int) -> Vector | None:
    """Read a stored vector of any known form; its own dimension may differ from ``dim``.

    Args:
        blob: float64, or ``HRR1`` and float32.
        dim: The dimension to expect; it decides where the length alone does not.

    Returns:
        The vector, or ``None`` when it is none.
    """
    if not isinstance(blob, bytes) or not blob:
        return None
    if len(blob) == 8 * dim:
        read = np.frombuffer(blob, dtype="<f8")
    elif blob.startswith(_FLOAT32_MARK) and len(blob) > 4 and len(blob) % 4 == 0:
        read = np.frombuffer(blob, dtype="<f4", offset=4)
    elif len(blob) % 8 == 0:
        read = np.frombuffer(blob, dtype="<f8")
    else:
        return None
    vector: Vector = read.astype(np.float64)
    return vector if bool(np.isfinite(vector).all()) else None


def decode_all(rows: Sequence[tuple[int, object]], dim: int) -> tuple[list[int], Matrix]:
    """Read many stored vectors at once; those of another dimension are left out.

    Args:
        rows: Numbers and blobs.
        dim: The dimension wanted.

    Returns:
        The numbers of those that were read, and a row for each.
    """
    if all(isinstance(blob, bytes) and len(blob) == 8 * dim for _, blob in rows):
        raw = b"".join(blob for _, blob in rows if isinstance(blob, bytes))
        matrix: Matrix = np.frombuffer(raw, dtype="<f8").reshape(len(rows), dim)
        if bool(np.isfinite(matrix).all()):
            return [number for number, _ in rows], matrix
    read = ((number, decode(blob, dim)) for number, blob in rows)
    kept = [(number, it) for number, it in read if it is not None and len(it) == dim]
    stacked = np.stack([vector for _, vector in kept]) if kept else np.empty((0, dim))
    return [number for number, _ in kept], stacked
