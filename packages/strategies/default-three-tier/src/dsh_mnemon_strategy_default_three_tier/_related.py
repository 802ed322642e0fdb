"""Related: one traversal a turn, from evidence the turn has admitted (spec/core.md §15.4)."""

from __future__ import annotations

from typing import Any, Final

from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.evidence import Evidence

from dsh_mnemon_strategy_default_three_tier._answer import Answer, Question
from dsh_mnemon_strategy_default_three_tier._attempts import Attempts
from dsh_mnemon_strategy_default_three_tier._call import Call
from dsh_mnemon_strategy_default_three_tier._envelope import Ceilings, TurnEvidence

__all__ = ("Related",)

CEILINGS: Final = Ceilings(results=4, characters=4_000, medium=4, unknown=4)

_NOT_ADMITTED: Final = (
    "Related starts only from an item that recall returned in this turn, named with its Memory "
    "Space. No store was asked."
)
_CLOSED: Final = "The one traversal of this turn is done; answer from the evidence you have."
_REPLAYED: Final = "The turn's traversal was already made, so no store was asked again."

_HINTS: Final = {
    (True, True): f"These items are connected to the given one. {_CLOSED}",
    (True, False): f"Nothing new is connected to the given item. {_CLOSED}",
    (False, True): f"{_REPLAYED} Its items are shown again; answer from the evidence you have.",
    (False, False): f"{_REPLAYED} It has nothing to show here; answer from the evidence you have.",
}
"""What the model should know, by ``(read now, anything shown)``."""


def _space(call: Call) -> str:
    """Return the one Memory Space to look in.

    Raises:
        AuthorityError: ``recall-space-outside-grant``.
        InputError: ``related-space-required``.
    """
    spaces = call.spaces([call.input.get("memoryBodyId")])
    if len(spaces) != 1:
        raise InputError("related-space-required", "Name the memoryBodyId the item belongs to")
    return spaces[0]


class Related:
    """The single related traversal of one executing turn."""

    def __init__(self, evidence: TurnEvidence) -> None:
        self._evidence = evidence
        self._attempts: Attempts[Answer] = Attempts(1)

    async def __call__(self, call: Call) -> Evidence:
        """Traverse, join or replay.

        Raises:
            AuthorityError: ``recall-space-outside-grant``.
            InputError: ``related-space-required``.
        """
        item_id, space = str(call.input.get("id", "")), _space(call)
        question = Question(f"related:{item_id}", "related")
        if not self._evidence.holds(call.source_key, space, item_id):
            return call.unread(question.output((), _NOT_ADMITTED))
        request: dict[str, Any] = {"id": item_id, "memoryBodyId": space}
        for key in ("depth", "edge"):
            if call.input.get(key) is not None:
                request[key] = call.input[key]

        async def run(_earlier: tuple[Answer, ...]) -> Answer:
            evidence = await call.read(request)
            admission = self._evidence.admit(call.source_key, evidence.items, CEILINGS)
            return Answer(question=question, evidence=evidence, admission=admission)

        identity = repr((call.source_key, sorted(request.items())))
        answer, outcome = await self._attempts.settle(identity, run)
        if outcome != "fresh":
            answer = answer.narrowed(call, question, (space,))
        return answer.show(_HINTS[outcome == "fresh", bool(answer.admission.admitted)])
