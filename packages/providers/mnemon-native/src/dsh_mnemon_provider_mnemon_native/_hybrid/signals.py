"""The signals of `hybrid` recall, by name."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

__all__ = ("SIGNALS", "Signal")

Signal: TypeAlias = Literal[
    "words",
    "neighbours",
    "labels",
    "substance",
    "dates",
    "entities",
    "graph",
    "recency",
    "importance",
    "vectors",
]
"""What may be switched off; `labels` are the fields of tags and entities."""

SIGNALS: Final[frozenset[Signal]] = frozenset(get_args(Signal))
"""All of them."""
