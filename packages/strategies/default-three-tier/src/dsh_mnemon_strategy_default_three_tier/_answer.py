"""An answered recall or related read, and how it is shown now or again (spec/core.md §15.4)."""

from __future__ import annotations

from typing import Any

import attrs
from dsh_mnemon_core.evidence import Evidence
from dsh_mnemon_core.values import json_clone

from dsh_mnemon_strategy_default_three_tier._call import Call
from dsh_mnemon_strategy_default_three_tier._envelope import Admission

__all__ = ("Answer", "Question")


@attrs.frozen
class Question:
    """What the model is told it asked: the query and the mode."""

    query: str
    mode: str

    def output(self, rows: tuple[Any, ...], hint: str, unavailable: str | None = None) -> Any:
        """Return the compact form: ``{query, mode, results, hint, unavailable?}``."""
        shown = {"query": self.query, "mode": self.mode, "results": rows, "hint": hint}
        if unavailable is not None:
            shown["unavailable"] = unavailable
        return json_clone(shown)


@attrs.frozen(kw_only=True)
class Answer:
    """One read that was answered: the question, the Source's Evidence, what was admitted of it."""

    question: Question
    evidence: Evidence
    admission: Admission

    def narrowed(self, call: Call, question: Question, spaces: tuple[str, ...]) -> Answer:
        """Return what a later call may see of it: its own Source instance and Memory Spaces only.

        An answer of another instance is empty and stands under the later call's own question.
        """
        if self.evidence.source_instance_key == call.source_key:
            return attrs.evolve(self, admission=self.admission.within(spaces))
        bare = Evidence(
            id=self.evidence.id,
            view_id=call.view_id,
            route_id=call.route.id,
            source_instance_key=call.source_key,
            observed_at=self.evidence.observed_at,
        )
        return Answer(question=question, evidence=bare, admission=self.admission.within(()))

    def show(self, hint: str) -> Evidence:
        """Return what was admitted, under the identity and time of the read."""
        admitted, evidence = self.admission.admitted, self.evidence
        rows = tuple(entry.row for entry in admitted)
        return attrs.evolve(
            evidence,
            items=tuple(entry.item for entry in admitted),
            truncated=evidence.truncated or self.admission.reduced,
            output=self.question.output(rows, hint, evidence.unavailable),
        )
