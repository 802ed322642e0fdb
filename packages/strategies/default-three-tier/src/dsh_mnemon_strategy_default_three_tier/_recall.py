"""Recall: two different queries a turn, joined, replayed and bounded (spec/core.md §15.4)."""

from __future__ import annotations

from typing import Any, Final

from dsh_mnemon_core.evidence import Evidence

from dsh_mnemon_strategy_default_three_tier._answer import Answer, Question
from dsh_mnemon_strategy_default_three_tier._attempts import Attempts
from dsh_mnemon_strategy_default_three_tier._call import Call
from dsh_mnemon_strategy_default_three_tier._envelope import Ceilings, TurnEvidence, query_identity

__all__ = ("Recall",)

ATTEMPTS: Final = 2
FIRST: Final = Ceilings(results=4, characters=3_600)
TOGETHER: Final = Ceilings(results=6, characters=4_800)

_REPEATED: Final = "This query was already asked in this turn and no store was asked again."
_EXHAUSTED: Final = "Both recall queries of this turn are used up, so this one was not run."
_OPEN: Final = "One materially different query is still allowed."
_CLOSED: Final = "Recall is closed for this turn; stop searching."

_HINTS: Final = {
    ("fresh", True, True): f"Answer from this evidence. If it leaves the question open: {_OPEN}",
    ("fresh", True, False): f"Nothing was found. {_OPEN} Otherwise say what is not known.",
    ("fresh", False, True): f"This is what the query added. {_CLOSED} Answer from what you have.",
    ("fresh", False, False): f"The query added nothing. {_CLOSED} Say what stays uncertain.",
    ("repeated", True, True): f"{_REPEATED} Its evidence is shown again. {_OPEN}",
    ("repeated", True, False): f"{_REPEATED} It has nothing to show here. {_OPEN}",
    ("repeated", False, True): f"{_REPEATED} Its evidence is shown again. {_CLOSED}",
    ("repeated", False, False): f"{_REPEATED} It has nothing to show here. {_CLOSED}",
    ("exhausted", False, True): (
        f"{_EXHAUSTED} The rows belong to the query named here. Stop searching; answer from the "
        "evidence you have or say what is not known."
    ),
    ("exhausted", False, False): (
        f"{_EXHAUSTED} The latest one has nothing to show here. Stop searching; answer from the "
        "evidence you have or say what is not known."
    ),
}
"""What the model should know, by ``(outcome, budget open, anything shown)``."""


def _ceilings(limit: int, earlier: tuple[Answer, ...]) -> Ceilings:
    """Return the first attempt's ceilings, or what it has left of both attempts'."""
    if not earlier:
        return Ceilings(results=min(limit, FIRST.results), characters=FIRST.characters)
    results = sum(len(answer.admission.admitted) for answer in earlier)
    characters = sum(answer.admission.characters for answer in earlier)
    return Ceilings(
        results=min(limit, TOGETHER.results - results),
        characters=TOGETHER.characters - characters,
    )


class Recall:
    """The recall budget of one executing turn, shared by every Memory Spaces instance."""

    def __init__(self, evidence: TurnEvidence) -> None:
        self._evidence = evidence
        self._attempts: Attempts[Answer] = Attempts(ATTEMPTS)

    async def __call__(self, call: Call) -> Evidence:
        """Read, join or replay.

        Raises:
            AuthorityError: ``recall-space-outside-grant``.
        """
        query, mode = str(call.input.get("query", "")), call.input.get("mode")
        question = Question(query, mode or "smart")
        spaces = call.spaces(call.input.get("memoryBodyIds"))
        limit = call.limit(TOGETHER.results)
        # Other filters are dropped: a guessed one must not hide exact evidence.
        request: dict[str, Any] = {"query": query, "limit": limit, "memoryBodyIds": spaces}
        if mode is not None:
            request["mode"] = mode

        async def run(earlier: tuple[Answer, ...]) -> Answer:
            evidence = await call.read(request)
            ceilings = _ceilings(limit, earlier)
            admission = self._evidence.admit(call.source_key, evidence.items, ceilings)
            return Answer(question=question, evidence=evidence, admission=admission)

        identity = query_identity(call.source_key, query, spaces)
        answer, outcome = await self._attempts.settle(identity, run)
        if outcome != "fresh":
            answer = answer.narrowed(call, question, spaces)
        shown = bool(answer.admission.admitted)
        return answer.show(_HINTS[outcome, self._attempts.open, shown])
