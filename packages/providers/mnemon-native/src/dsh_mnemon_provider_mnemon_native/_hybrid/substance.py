"""Substance: how much a memory tells, whatever was asked. Pure."""

from __future__ import annotations

from typing import Final

from dsh_mnemon_provider_mnemon_native._index.columns import Columns
from dsh_mnemon_provider_mnemon_native._index.keeping import ASKS, DATED

__all__ = ("dates", "substance")

_HALF_MASS: Final = 1.0
"""Distinct words at which a memory counts half: a greeting with a name is one word, a statement has
five or more and loses little."""
_QUESTION: Final = 0.85
"""A memory that ends with a question asks more than it tells; yet it knows what it asks about."""
_UNDATED: Final = 0.7
"""When a question asks for a time, a memory that names none helps less, though the date it carries
may be the answer."""


def substance(doc: int, columns: Columns) -> float:
    """Return how much a document tells, 0..1."""
    mass = columns.mass[doc]
    told = mass / (mass + _HALF_MASS)
    return told * _QUESTION if columns.traits[doc] & ASKS else told


def dates(doc: int, columns: Columns) -> float:
    """Return how well a document answers when, 0..1."""
    return 1.0 if columns.traits[doc] & DATED else _UNDATED
