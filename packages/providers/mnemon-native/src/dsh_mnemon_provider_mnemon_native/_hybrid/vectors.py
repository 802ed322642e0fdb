"""Vectors: how near a memory's meaning is to the question's, on the scale of coverage. Pure.

Models differ in how alike they find two unrelated texts: 0.1 for some, 0.8 for others. What a
question has in common with the store at large, the median over vectors taken at regular places, is
therefore taken as nothing.

A turn of a conversation is also judged together with the turns around it, by the cosine of the sum
of their vectors: short turns mean little alone.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dsh_mnemon_provider_mnemon_native._index.columns import Columns

__all__ = ("SAMPLE", "WORTH", "around", "background", "similarity")

WORTH: Final = 0.9
"""What perfect similarity counts beside full coverage: the words themselves are better proof."""
SAMPLE: Final = 64
"""Vectors measured to know the background."""

_FEWEST: Final = 16
"""Below so many vectors their median may be about the question itself; nothing is subtracted then
but what any model finds in any two texts."""
_LEAST: Final = 0.1
_MOST: Final = 0.9

_BEFORE: Final = (0.6, 0.3)
_AFTER: Final = (0.5, 0.3)
"""Share of the vectors one and two turns away: as for words, what came before tells more."""
_TOGETHER: Final = 0.7
"""Share of a turn's similarity that is judged together with its neighbours."""


def background(cosines: Sequence[float]) -> float:
    """Return the cosine that means nothing, of cosines measured at regular places."""
    if len(cosines) < _FEWEST:
        return _LEAST
    return min(max(statistics.median(cosines), _LEAST), _MOST)


def around(doc: int, columns: Columns) -> Iterator[tuple[int, float]]:
    """Yield the turns around a document with their shares."""
    for link, shares in ((columns.before, _BEFORE), (columns.after, _AFTER)):
        other = doc
        for share in shares:
            other = link[other]
            if not other:
                break
            yield other, share


def similarity(cosines: Mapping[int, float], nothing: float, columns: Columns) -> dict[int, float]:
    """Return the similarity, above 0 and at most 1, of each measured document that has any."""
    found: dict[int, float] = {}
    for doc, cosine in cosines.items():
        pooled, unrelated = _pooled(doc, cosine, cosines, nothing, columns)
        both = (1 - _TOGETHER) * cosine + _TOGETHER * pooled
        floor = (1 - _TOGETHER) * nothing + _TOGETHER * unrelated
        if both > floor:
            found[doc] = min((both - floor) / (1 - floor), 1.0)
    return found


def _pooled(
    doc: int, cosine: float, cosines: Mapping[int, float], nothing: float, columns: Columns
) -> tuple[float, float]:
    """Return the cosine of a turn with its neighbours, and what it would be were they unrelated.

    The length of the summed vectors is estimated: any two are as alike as any two texts are.
    """
    measured = [(1.0, cosine)]
    measured += [(share, cosines[o]) for o, share in around(doc, columns) if o in cosines]
    weights = [share for share, _ in measured]
    whole, squares = sum(weights), sum(share * share for share in weights)
    length = math.sqrt(squares + nothing * (whole * whole - squares))
    return sum(share * value for share, value in measured) / length, nothing * whole / length
