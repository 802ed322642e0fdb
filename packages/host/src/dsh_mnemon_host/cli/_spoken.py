"""How people name things: in any case, and an id by its beginning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

__all__ = ("beginning_with", "may_begin_an_id", "one_of", "same_name")

_SHORTEST: Final = 4
"""How much of an id has to be typed."""

_NAMED: Final = 5
"""How many candidates an error names."""


def same_name(one: str, other: str) -> bool:
    """Tell whether two names are one to people: in any case, however their words are set apart."""
    return _folded(one) == _folded(other)


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())


def may_begin_an_id(given: str) -> bool:
    """Tell whether enough was typed to stand for an id."""
    return len(given) >= _SHORTEST


def beginning_with(given: str, ids: Iterable[str]) -> list[str]:
    """Return the ids that what was typed may stand for: the very id, else all that begin so."""
    known = list(ids)
    if given in known:
        return [given]
    start = given.casefold()
    return [id for id in known if may_begin_an_id(given) and id.casefold().startswith(start)]


def one_of(candidates: Sequence[str]) -> str:
    """Name candidates, at most five of them."""
    more = len(candidates) - _NAMED
    return ", ".join([*candidates[:_NAMED], *([f"and {more} more"] if more > 0 else [])])
