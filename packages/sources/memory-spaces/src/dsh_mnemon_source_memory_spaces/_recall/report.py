"""What a recall found and what became of every Space it asked (spec/sources.md §4.7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import attrs

from dsh_mnemon_source_memory_spaces._recall.quality import Decision, Judgement, Reason
from dsh_mnemon_source_memory_spaces.provider_sdk.adapter import ProviderAdapter
from dsh_mnemon_source_memory_spaces.provider_sdk.items import Insight, RecallMode, SpaceView
from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import ProviderManifest

__all__ = ("Hit", "RecallReport", "RecallRequest", "SourceStatus", "SpaceReport", "Target")

SourceStatus: TypeAlias = Literal["ready", "empty", "query-required", "unsupported", "unavailable"]
"""What became of one Space in one read."""


@attrs.frozen(kw_only=True)
class RecallRequest:
    """One recall: ``limit`` results at most, 1..50."""

    query: str
    mode: RecallMode = "smart"
    limit: int = 10
    category: str | None = None
    source: str | None = None
    intent: str | None = None

    @property
    def filtered(self) -> bool:
        """Whether it asks for some memories only."""
        return any((self.category, self.source, self.intent))


@attrs.frozen(kw_only=True)
class Target:
    """A Space and the Provider child that serves it.

    Attributes:
        secrets: Values that must not show in anything the Provider says.
        capabilities: What the Provider can do, as JSON.
    """

    space: SpaceView
    provider_id: str
    manifest: ProviderManifest
    adapter: ProviderAdapter
    secrets: tuple[str, ...] = attrs.field(default=(), repr=False)
    capabilities: Mapping[str, Any] = attrs.field(
        init=False,
        repr=False,
        default=attrs.Factory(lambda self: _shown(self.manifest), takes_self=True),
    )

    @property
    def native(self) -> bool:
        """Whether it is a store of the Source's own data directory."""
        return self.manifest.origin == "native"

    @property
    def normalized(self) -> bool:
        """Whether scores are promised to be 0..1."""
        return self.manifest.score_semantics == "normalized-relevance"

    def named(self) -> dict[str, Any]:
        """Return ``{memoryBodyId, memoryBodyName, providerId, providerLabel}``."""
        return {
            "memoryBodyId": self.space.id,
            "memoryBodyName": self.space.name,
            "providerId": self.provider_id,
            "providerLabel": self.manifest.label,
        }


def _shown(manifest: ProviderManifest) -> Mapping[str, Any]:
    return manifest.capabilities.model_dump(mode="json", by_alias=True)


def insight_json(insight: Insight, target: Target) -> dict[str, Any]:
    """Return an insight with the Space and Provider it is of; absent values are left out."""
    fields: dict[str, Any] = {
        "id": insight.id,
        "content": insight.content,
        "category": insight.category,
        "importance": insight.importance,
        "tags": insight.tags,
        "entities": insight.entities,
        "source": insight.source,
        "score": insight.score,
        "confidence": insight.confidence,
        "intent": insight.intent,
        "matchedVia": insight.matched_via,
        "createdAt": insight.created_at,
        "depth": insight.depth,
        "edgeType": insight.edge_type,
        "externalUri": insight.external_uri,
        "memoryBodyId": target.space.id,
        "memoryBodyName": target.space.name,
        "memoryProviderId": target.provider_id,
        "memoryProviderLabel": target.manifest.label,
        "memoryCapabilities": dict(target.capabilities),
    }
    return {key: value for key, value in fields.items() if value is not None}


@attrs.frozen(kw_only=True)
class Hit:
    """One chosen result; ``federated_score`` only where several Providers were asked."""

    insight: Insight
    target: Target
    decision: Decision
    federated_score: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the insight with Space, Provider, tier and scores."""
        row = insight_json(self.insight, self.target)
        row["relevanceTier"] = self.decision.tier
        if self.decision.normalized_score is not None:
            row["normalizedScore"] = self.decision.normalized_score
        if self.federated_score is not None:
            row["federatedScore"] = self.federated_score
        return row


@attrs.frozen(kw_only=True)
class SpaceReport:
    """What one Space contributed; counts are of its own candidates.

    Attributes:
        hint: What is amiss.
        remark: What is worth knowing where nothing is.
        unreadable: How many memories of the Space are left out, for they cannot be read.
    """

    target: Target
    status: SourceStatus
    hint: str | None
    remark: str | None = None
    unreadable: int = 0
    judgement: Judgement
    decisions: tuple[Decision, ...]
    selected: int

    @property
    def retained(self) -> int:
        """Candidates that were kept."""
        return sum(decision.keep for decision in self.decisions)

    def to_json(self) -> dict[str, Any]:
        """Return the entry of ``sources``."""
        row = {
            **self.target.named(),
            "mode": "search",
            "status": self.status,
            "itemCount": self.retained,
            "unreadable": self.unreadable or None,
            "hint": _joined(self.remark, self.hint),
            "quality": self._quality(),
        }
        return {key: value for key, value in row.items() if value is not None}

    def _quality(self) -> dict[str, Any]:
        fallback = self.judgement.fallback_from
        return {
            "policyId": self.judgement.policy_id,
            **({} if fallback is None else {"fallbackFrom": fallback}),
            "fetched": len(self.decisions),
            "retained": self.retained,
            "selected": self.selected,
            "droppedLowScore": self._count("low-score", keep=False),
            "droppedNonPositiveScore": self._count("non-positive-score", keep=False),
            "droppedInvalidScore": self._count("invalid-score", keep=False),
            "unscored": self._count("unscored", keep=True),
            "unscaled": self._count("unscaled-score", keep=True),
        }

    def _count(self, reason: Reason, *, keep: bool) -> int:
        return sum(item.reason == reason and item.keep is keep for item in self.decisions)

    def line(self, *, remarks: bool = True) -> str | None:
        """Return what a person should know of this Space, after its name."""
        said = _joined(self.remark if remarks else None, self.hint)
        if said is None:
            return None
        cause = "unavailable: " if self.status == "unavailable" else ""
        return f"{self.target.space.name}: {cause}{said}"

    def worded(self, say: Callable[[str], str]) -> SpaceReport:
        """Return the same report with its hint and its remark as ``say`` words them."""
        hint, remark = (text if text is None else say(text) for text in (self.hint, self.remark))
        return attrs.evolve(self, hint=hint, remark=remark)


def _joined(*texts: str | None) -> str | None:
    return "; ".join(text for text in texts if text) or None


@attrs.frozen(kw_only=True)
class RecallReport:
    """The results, best first, and one report for each Space, in registry order."""

    request: RecallRequest
    results: tuple[Hit, ...]
    sources: tuple[SpaceReport, ...]

    @property
    def hint(self) -> str | None:
        """The lines of all Spaces, joined by LF."""
        return self._lines(remarks=True)

    @property
    def gaps(self) -> str | None:
        """The lines about what is amiss alone."""
        return self._lines(remarks=False)

    def _lines(self, *, remarks: bool) -> str | None:
        lines = (report.line(remarks=remarks) for report in self.sources)
        return "\n".join(line for line in lines if line is not None) or None

    def worded(self, say: Callable[[str], str]) -> RecallReport:
        """Return the same report with every hint as ``say`` words it."""
        return attrs.evolve(self, sources=tuple(report.worded(say) for report in self.sources))

    def to_json(self) -> dict[str, Any]:
        """Return ``{query, mode, results, sources, hint?}``."""
        value = {
            "query": self.request.query,
            "mode": self.request.mode,
            "results": [hit.to_json() for hit in self.results],
            "sources": [report.to_json() for report in self.sources],
        }
        return value if self.hint is None else {**value, "hint": self.hint}
