"""Plain BM25 without stems or stop words: the yardstick of the LoCoMo figures."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

_K1, _B = 1.5, 0.75


class PlainBm25:
    """Ranks texts by their places."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._counts = [Counter(re.findall(r"\w+", text.lower())) for text in texts]
        self._lengths = [counts.total() for counts in self._counts]
        self._average = sum(self._lengths) / len(texts)
        self._holding = Counter(word for counts in self._counts for word in counts)

    def rank(self, question: str, limit: int) -> list[int]:
        """Return the places of the best texts, best first."""
        scores = [0.0] * len(self._counts)
        for word in re.findall(r"\w+", question.lower()):
            holding = self._holding[word]
            rarity = math.log(1 + (len(scores) - holding + 0.5) / (holding + 0.5))
            for place, counts in enumerate(self._counts):
                if count := counts[word]:
                    size = 1 - _B + _B * self._lengths[place] / self._average
                    scores[place] += rarity * count * (_K1 + 1) / (count + _K1 * size)
        return sorted(range(len(scores)), key=lambda place: -scores[place])[:limit]
