"""Which Provider holds a new Space: hard rules, then a choice (spec/sources.md §4.5; pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeAlias

import attrs
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.instant import iso_utc
from dsh_mnemon_core.values import FrozenDict, json_clone
from pydantic import StringConstraints

from dsh_mnemon_source_memory_spaces._config import PersistenceStrategy, RequiredCapability
from dsh_mnemon_source_memory_spaces._inputs import Input, limited, read_input
from dsh_mnemon_source_memory_spaces.provider_sdk.ids import ProviderId
from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import (
    ProviderCapabilities,
    ProviderManifest,
)

__all__ = ("Candidate", "Prepared", "configured_request", "finalize", "prepare", "read_decision")

_EXTRAS: Final = ("graph", "entities", "related", "link", "forget")
_Confidence: TypeAlias = Literal["high", "medium", "low"]
_Reason: TypeAlias = Annotated[str, limited(1_000)]
_Prompt: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, max_length=4_000)]


class _Rules(Input):
    """Bounds of one placement; without a list every configured Provider is allowed."""

    allowed_provider_ids: tuple[ProviderId, ...] | None = None
    data_boundary: Literal["allow-remote", "local-only"] = "allow-remote"
    required_capabilities: tuple[RequiredCapability, ...] = ()
    preference: Literal["balanced", "local-first", "shared-first"] = "balanced"


class _Request(Input):
    """An automatic placement; under ``manual`` there is nothing to prepare."""

    mode: Literal["automatic"]
    prompt: _Prompt = ""
    rules: _Rules = _Rules()


class _Selection(Input):
    """What a model picked."""

    provider_id: ProviderId
    reason: _Reason
    confidence: _Confidence


class _Decision(Input):
    """A decision as it is stored with the Space."""

    mode: Literal["automatic"] = "automatic"
    provider_id: ProviderId
    decided_by: Literal["rules", "llm"]
    reason: _Reason
    confidence: _Confidence
    candidate_provider_ids: tuple[str, ...]
    applied_rules: tuple[str, ...]
    decided_at: str
    run_id: Annotated[str, limited(300)] | None = None
    subagent_provider: Annotated[str, limited(300)] | None = None

    def to_json(self) -> FrozenDict:
        """Return it in camelCase, absent values left out."""
        stored: FrozenDict = json_clone(self.model_dump(by_alias=True, exclude_none=True))
        return stored


@attrs.frozen(kw_only=True)
class Candidate:
    """A mounted Provider as the rules see it.

    Attributes:
        kind: ``local`` or ``remote``: where its data lies.
        configured: Whether a Space could be made there now.
    """

    id: str
    label: str
    kind: str
    configured: bool
    summary: str
    capabilities: ProviderCapabilities

    @classmethod
    def of(cls, provider_id: str, manifest: ProviderManifest, *, configured: bool) -> Candidate:
        """Describe a mounted Provider."""
        return cls(
            id=provider_id,
            label=manifest.label,
            kind=manifest.locality,
            configured=configured,
            summary=manifest.summary,
            capabilities=manifest.capabilities,
        )

    def has(self, capability: RequiredCapability) -> bool:
        """Tell whether it fulfils a required capability."""
        if capability == "exact-write":
            return self.capabilities.write_mode == "exact"
        return bool(getattr(self.capabilities, capability))

    def to_json(self) -> dict[str, Any]:
        """Return what a model may see of it; there is no setting in it."""
        return {
            "id": self.id,
            "label": self.label,
            "kind": self.kind,
            "summary": self.summary,
            "capabilities": self.capabilities.model_dump(by_alias=True),
        }


@attrs.frozen(kw_only=True)
class Prepared:
    """A placement after the hard rules.

    Attributes:
        prompt: What whoever configured it prefers.
        candidates: The Providers that are left, at least one, in mount order.
        applied_rules: ``allowed:a,b``, ``data-boundary:local-only``, ``requires:x``,
            ``preference:p``, in this order.
        decision: The decision, when the rules left one Provider only.
    """

    prompt: str
    candidates: tuple[Candidate, ...]
    applied_rules: tuple[str, ...]
    decision: FrozenDict | None = None

    @property
    def selector_brief(self) -> str:
        """What a model that chooses is told: two lines, then one for each candidate."""
        preference = self.applied_rules[-1].removeprefix("preference:")
        lines = [
            "Pick the one Provider that suits the new Memory Space best; say why and how sure.",
            f"All of these satisfy the rules. Lean towards: {preference}.",
        ]
        for candidate in self.candidates:
            can = candidate.capabilities
            able = ", ".join(flag for flag in _EXTRAS if getattr(can, flag)) or "nothing more"
            lines.append(
                f"- {candidate.id} ({candidate.label}, {candidate.kind}):"
                f" {' '.join(candidate.summary.split())} Writes: {can.write_mode}."
                f" Deletes: {can.deletion_mode}. Also offers: {able}."
            )
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return ``{prompt, candidates, appliedRules, selectorBrief, decision?}``."""
        told = {
            "prompt": self.prompt,
            "candidates": [candidate.to_json() for candidate in self.candidates],
            "appliedRules": list(self.applied_rules),
            "selectorBrief": self.selector_brief,
        }
        return told if self.decision is None else {**told, "decision": self.decision}


def configured_request(strategy: PersistenceStrategy) -> dict[str, Any]:
    """Return the configured strategy as the request of a placement."""
    rules = strategy.rules.model_dump(by_alias=True)
    return {"mode": strategy.mode, "prompt": strategy.prompt, "rules": rules}


def prepare(
    request: Mapping[str, Any], candidates: Sequence[Candidate], *, now: datetime
) -> Prepared:
    """Apply the hard rules of ``{mode: automatic, prompt?, rules?}``.

    Args:
        request: What is asked for; ids and capabilities named twice count once.
        candidates: Every mounted Provider.
        now: Time of a decision.

    Raises:
        InputError: The request does not fit; ``placement-none-allowed``,
            ``placement-provider-unknown``, or ``placement-none-eligible`` when nobody is left.
    """
    asked = read_input(_Request, request, "placement")
    rules = asked.rules
    allowed = None if rules.allowed_provider_ids is None else _once(rules.allowed_provider_ids)
    if allowed is not None:
        _check_allowed(allowed, candidates)
    required = _once(rules.required_capabilities)
    left = tuple(
        candidate
        for candidate in candidates
        if candidate.configured
        and (allowed is None or candidate.id in allowed)
        and (rules.data_boundary != "local-only" or candidate.kind == "local")
        and all(candidate.has(capability) for capability in required)
    )
    applied = (
        *([f"allowed:{','.join(allowed)}"] if allowed else []),
        *(["data-boundary:local-only"] if rules.data_boundary == "local-only" else []),
        *(f"requires:{capability}" for capability in required),
        f"preference:{rules.preference}",
    )
    if not left:
        raise InputError(
            "placement-none-eligible",
            f"no Provider that is set up satisfies the placement rules ({'; '.join(applied)})",
            details={"appliedRules": list(applied)},
        )
    prepared = Prepared(prompt=asked.prompt, candidates=left, applied_rules=applied)
    only, *others = left
    if others:
        return prepared
    selection = _Selection.model_validate(
        {
            "providerId": only.id,
            "reason": f"Only {only.label} satisfies the configured placement rules.",
            "confidence": "high",
        }
    )
    return attrs.evolve(prepared, decision=_decided(prepared, selection, "rules", now).to_json())


def finalize(
    prepared: Prepared,
    selection: Mapping[str, Any],
    *,
    now: datetime,
    run_id: str | None = None,
    subagent_provider: str | None = None,
) -> FrozenDict:
    """Return the decision that a model's ``{providerId, reason, confidence}`` makes.

    Where the rules decided alone, that decision stands.

    Raises:
        InputError: The selection does not fit, or ``placement-ineligible``.
    """
    if prepared.decision is not None:
        return prepared.decision
    picked = read_input(_Selection, selection, "selection")
    if picked.provider_id not in {candidate.id for candidate in prepared.candidates}:
        raise InputError(
            "placement-ineligible", f"Provider {picked.provider_id!r} is not one of the candidates"
        )
    decision = _decided(prepared, picked, "llm", now)
    known = {"run_id": run_id, "subagent_provider": subagent_provider}
    return decision.model_copy(update=known).to_json()


def read_decision(value: Mapping[str, Any]) -> FrozenDict:
    """Read a decision that a caller hands back.

    Raises:
        InputError: It is no decision.
    """
    return read_input(_Decision, value, "placement decision").to_json()


def _decided(
    prepared: Prepared, picked: _Selection, by: Literal["rules", "llm"], now: datetime
) -> _Decision:
    return _Decision.model_validate(
        {
            "providerId": picked.provider_id,
            "decidedBy": by,
            "reason": picked.reason,
            "confidence": picked.confidence,
            "candidateProviderIds": [candidate.id for candidate in prepared.candidates],
            "appliedRules": prepared.applied_rules,
            "decidedAt": iso_utc(now),
        }
    )


def _once(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))


def _check_allowed(allowed: Sequence[str], candidates: Sequence[Candidate]) -> None:
    if not allowed:
        raise InputError("placement-none-allowed", "automatic placement needs an allowed Provider")
    mounted = {candidate.id for candidate in candidates}
    unknown = next((provider for provider in allowed if provider not in mounted), None)
    if unknown is not None:
        raise InputError(
            "placement-provider-unknown", f"the rules allow {unknown!r}, which is not mounted"
        )
