"""The recall pipeline: ask every Space at once, rank, judge, recover (spec/sources.md §4.7)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

import attrs

from dsh_mnemon_source_memory_spaces._answers import Patience, ask, each, read_insights, sentence
from dsh_mnemon_source_memory_spaces._recall.anchors import RecoveryPlan, recovery_plan
from dsh_mnemon_source_memory_spaces._recall.fusion import Candidate, Found, ranked
from dsh_mnemon_source_memory_spaces._recall.quality import Judgement, Quality, Scored
from dsh_mnemon_source_memory_spaces._recall.report import (
    Hit,
    RecallReport,
    RecallRequest,
    SourceStatus,
    SpaceReport,
    Target,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.errors import ProviderProtocol
from dsh_mnemon_source_memory_spaces.provider_sdk.items import Insight, SearchAnswer, SearchRequest

__all__ = ("recall",)


@attrs.frozen(kw_only=True)
class _Searched:
    """What became of one Space's search."""

    target: Target
    insights: tuple[Insight, ...] = ()
    status: SourceStatus = "empty"
    hint: str | None = None
    remark: str | None = None
    unreadable: int = 0


@attrs.frozen(kw_only=True)
class _Chosen:
    """All candidates, best first, and what the policy made of them."""

    candidates: tuple[Candidate, ...]
    judgement: Judgement

    def hits(self) -> tuple[Hit, ...]:
        return tuple(self._hit(position) for position in self.judgement.selected)

    def _hit(self, position: int) -> Hit:
        candidate = self.candidates[position]
        return Hit(
            insight=candidate.insight,
            target=candidate.target,
            decision=self.judgement.decisions[position],
            federated_score=candidate.federated_score,
        )


async def recall(
    request: RecallRequest, targets: Sequence[Target], *, quality: Quality, seconds: float
) -> RecallReport:
    """Search Spaces and choose what is relevant; no fault of a Provider is raised.

    Args:
        request: What to look for.
        targets: The Spaces, in registry order.
        quality: The policy in force.
        seconds: How long all searches together may take, the recovery included.
    """
    quality, candidates = quality.for_limit(request.limit)
    search = _Search(request, candidates, seconds)
    searched = await search.all(targets)
    chosen = _choose(searched, request.limit, quality)
    plan = None if request.mode != "smart" or request.filtered else recovery_plan(request.query)
    hits = chosen.hits()
    if plan is not None:
        if not any(plan.reached(hit.insight.content) for hit in hits):
            searched = await search.recover(searched, plan)
            chosen = _choose(searched, request.limit, quality)
            hits = chosen.hits()
        hits = _anchored(hits, plan)
    reports = tuple(_report(item, chosen, hits) for item in searched)
    return RecallReport(request=request, results=hits, sources=reports)


class _Search:
    """The searches of one recall, under its one deadline."""

    def __init__(self, request: RecallRequest, candidates: int, seconds: float) -> None:
        self._request = SearchRequest(
            query=request.query,
            mode=request.mode,
            limit=candidates,
            category=request.category,
            source=request.source,
            intent=request.intent,
        )
        self._wanted = request.limit
        self._patience = Patience(seconds)

    async def all(self, targets: Sequence[Target]) -> tuple[_Searched, ...]:
        """Search every Space at once."""
        return await self._each(targets, self._request)

    async def recover(
        self, searched: Sequence[_Searched], plan: RecoveryPlan
    ) -> tuple[_Searched, ...]:
        """Put before a native Space's own results what a keyword search finds of the plan."""
        keyword = attrs.evolve(
            self._request,
            query=plan.query,
            mode="keyword",
            limit=min(self._wanted, self._request.limit),
        )
        again = [i for i in searched if i.target.native and i.status in ("ready", "empty")]
        found = await self._each([item.target for item in again], keyword)
        extra = {item.target.space.id: item.insights for item in found}
        return tuple(
            self._merged(item, extra.get(item.target.space.id, ()), plan) for item in searched
        )

    def _merged(self, item: _Searched, extra: Sequence[Insight], plan: RecoveryPlan) -> _Searched:
        reaching = [insight for insight in extra if plan.reached(insight.content)]
        if not reaching:
            return item
        reaching.sort(key=lambda found: (-plan.matches(found.content), -(found.score or 0)))
        together: dict[str, Insight] = {}
        for insight in (*reaching, *item.insights):
            together.setdefault(insight.id, insight)
        merged = tuple(together.values())[: self._request.limit]
        return attrs.evolve(item, status="ready", insights=merged)

    async def _each(
        self, targets: Sequence[Target], request: SearchRequest
    ) -> tuple[_Searched, ...]:
        return await each(targets, partial(self._one, request=request))

    async def _one(self, target: Target, request: SearchRequest) -> _Searched:
        if not target.manifest.capabilities.search:
            hint = f"{target.manifest.label} cannot be searched"
            return _Searched(target=target, status="unsupported", hint=hint)
        answer = await ask(partial(_read, target, request), self._patience, target.secrets)
        if answer.value is None:
            return _Searched(target=target, status="unavailable", hint=answer.fault)
        return answer.value


async def _read(target: Target, request: SearchRequest) -> _Searched:
    answer = cast("object", await target.adapter.search(target.space, request))
    if not isinstance(answer, SearchAnswer):
        raise ProviderProtocol("the Provider did not answer with search results")
    batch = read_insights(answer.results, request.limit).besides(answer.unreadable)
    said = _said(answer.hint, target)
    return _Searched(
        target=target,
        insights=batch.items,
        status="ready" if batch.items else "empty",
        hint="; ".join((*said, *batch.notes)) or None,
        remark="; ".join(_said(answer.remark, target)) or None,
        unreadable=batch.unreadable,
    )


def _said(text: object, target: Target) -> tuple[str, ...]:
    """Return what a Provider says, if anything, as one bounded line."""
    return (sentence(text, target.secrets),) if isinstance(text, str) and text.strip() else ()


def _choose(searched: Sequence[_Searched], wanted: int, quality: Quality) -> _Chosen:
    found = [Found(item.target, item.insights) for item in searched if item.status != "unsupported"]
    candidates = ranked(found)
    scored = [Scored(item.insight.score, item.target.normalized) for item in candidates]
    return _Chosen(candidates=candidates, judgement=quality.judge(scored, wanted))


def _anchored(hits: Sequence[Hit], plan: RecoveryPlan) -> tuple[Hit, ...]:
    """Put those first that hold enough of the plan, the fullest first; the rest keeps its order."""

    def place(hit: Hit) -> int:
        matches = plan.matches(hit.insight.content)
        return -matches if matches >= plan.required_matches else 0

    return tuple(sorted(hits, key=place))


def _report(item: _Searched, chosen: _Chosen, hits: Sequence[Hit]) -> SpaceReport:
    own = tuple(
        decision
        for candidate, decision in zip(chosen.candidates, chosen.judgement.decisions, strict=True)
        if candidate.target is item.target
    )
    status = item.status
    if status == "ready" and not any(decision.keep for decision in own):
        status = "empty"
    return SpaceReport(
        target=item.target,
        status=status,
        hint=item.hint,
        remark=item.remark,
        unreadable=item.unreadable,
        judgement=chosen.judgement,
        decisions=own,
        selected=sum(hit.target is item.target for hit in hits),
    )
