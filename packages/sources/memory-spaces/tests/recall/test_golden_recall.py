"""Recorded cases of recall: policies, fusion, recovery (spec/sources.md §4.7)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import AuthorityError, InputError
from dsh_mnemon_core.wire import from_wire
from dsh_mnemon_source_memory_spaces._children import Children, MountedChildren
from dsh_mnemon_source_memory_spaces._inputs import read_input
from dsh_mnemon_source_memory_spaces._reads import SearchInput
from dsh_mnemon_source_memory_spaces._recall.anchors import recovery_plan
from dsh_mnemon_source_memory_spaces._recall.pipeline import recall
from dsh_mnemon_source_memory_spaces._recall.quality import (
    POLICIES,
    Quality,
    Scored,
    Thresholds,
)
from dsh_mnemon_source_memory_spaces._recall.report import RecallRequest
from dsh_mnemon_source_memory_spaces._registry.records import (
    Catalogue,
    ServiceRecord,
    SpaceRecord,
)
from dsh_mnemon_source_memory_spaces._targets import Targets
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    Insight,
    ProviderConfig,
    ProviderManifest,
    ProviderUnavailable,
    SearchAnswer,
    SearchRequest,
    SpaceView,
)
from dsh_mnemon_source_memory_spaces.testing.reference import (
    NativeReferenceAdapter,
    ReferenceAdapter,
    reference_manifest,
    reference_provider,
)
from dsh_mnemon_testing.golden import golden

GOLDEN = Path(__file__).parents[1] / "golden"
QUALITY = golden(GOLDEN, "spaces-recall-quality")
SEARCH = golden(GOLDEN, "spaces-search")
RECOVERY = golden(GOLDEN, "spaces-recovery")


def thresholds(config: dict[str, Any]) -> Thresholds:
    return Thresholds(
        low=config["lowScoreThreshold"],
        high=config["highScoreThreshold"],
        multiplier=config["candidateMultiplier"],
        max_medium=config["maxMediumResults"],
        max_unknown=config["maxUnknownResults"],
    )


def numbered(cases: list[Any]) -> list[Any]:
    return [pytest.param(case, id=f"{number}") for number, case in enumerate(cases, 1)]


# -- policies -------------------------------------------------------------------------------------


@pytest.mark.requirement("memory-spaces:recall:policies")
@pytest.mark.parametrize("case", numbered(QUALITY.cases))
def test_a_policy_decides_and_chooses_as_recorded(case: dict[str, Any]) -> None:
    policy_id, wanted = case["input"]["policy"], case["input"]["requestedLimit"]
    config = {**QUALITY.data["config"], **case["input"].get("config", {})}
    quality = Quality(policy_id, POLICIES[policy_id], thresholds(config))
    rows = case["input"].get("candidates", QUALITY.data["candidates"])
    ids = [row[0] for row in rows]
    scored = [
        Scored(float(score) if isinstance(score, str) else score, normalized)
        for _, score, normalized in rows
    ]
    judged = quality.judge(scored, wanted)
    expected = case["expected"]
    assert quality.for_limit(wanted) == (quality, expected["candidateLimit"])
    assert judged.fallback_from is None
    assert {
        id_: f"{'keep' if d.keep else 'drop'}/{d.tier}/{d.reason}"
        for id_, d in zip(ids, judged.decisions, strict=True)
    } == expected["decisions"]
    assert [
        {
            "id": ids[position],
            "tier": judged.decisions[position].tier,
            **(
                {}
                if judged.decisions[position].normalized_score is None
                else {"normalizedScore": judged.decisions[position].normalized_score}
            ),
        }
        for position in judged.selected
    ] == expected["selected"]


@pytest.mark.requirement("memory-spaces:recall:candidates")
@pytest.mark.parametrize("case", numbered(QUALITY.data["candidateLimits"]))
def test_more_candidates_are_fetched_than_wanted(case: dict[str, Any]) -> None:
    for policy_id, policy in POLICIES.items():
        quality = Quality(policy_id, policy, thresholds(QUALITY.data["config"]))
        assert quality.for_limit(case["requestedLimit"])[1] == case["expected"]


# -- recovery -------------------------------------------------------------------------------------


@pytest.mark.requirement("memory-spaces:recall:recovery")
@pytest.mark.parametrize("case", numbered(RECOVERY.cases))
def test_a_query_has_the_recorded_plan(case: dict[str, Any]) -> None:
    plan = recovery_plan(case["input"])
    shown = plan and {
        "kind": plan.kind,
        "terms": list(plan.terms),
        "query": plan.query,
        "requiredMatches": plan.required_matches,
    }
    assert shown == case["expected"]


@pytest.mark.requirement("memory-spaces:recall:recovery")
@pytest.mark.parametrize("case", numbered(RECOVERY.data["matchCounts"]))
def test_a_content_holds_the_recorded_number_of_terms(case: dict[str, Any]) -> None:
    plan = recovery_plan(case["input"]["query"])
    assert plan is not None
    assert {
        "requiredMatches": plan.required_matches,
        "matches": plan.matches(case["input"]["content"]),
    } == case["expected"]


# -- complete recalls -----------------------------------------------------------------------------

RESULT_KEYS = ("id", "memoryBodyId", "score", "federatedScore", "relevanceTier", "normalizedScore")
CODES = {
    r"memory space is not active": "space-inactive",
    r"unknown memory space": "space-unknown",
    r"(\w+) is required": "text-required",
    r"(\w+) must be one of": "{}-unsupported",
}


def code_of(text: str) -> str | None:
    """Return the code of what the original says, where a pattern knows it."""
    for pattern, code in CODES.items():
        if match := re.search(pattern, text):
            return code.format(*match.groups())
    return None


def insight(row: dict[str, Any]) -> Insight:
    """Build a recorded result; in JSON a score that is no finite number is a text."""
    score = row.get("score")
    told = {**row, "score": float(score)} if isinstance(score, str) else row
    return from_wire(Insight, told)


class Recorded:
    """Providers that answer as a case says, and what they were asked."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.given = case["input"]
        self.asked: list[dict[str, Any]] = []

    async def search(self, space: SpaceView, request: SearchRequest) -> SearchAnswer:
        self.asked.append(
            {
                "space": space.id,
                "query": request.query,
                "mode": request.mode,
                "limit": request.limit,
            }
        )
        if space.id in self.given.get("failingSpaces", ()):
            raise ProviderUnavailable("connection refused")
        rows = self.given["results"].get(space.id, ())
        if request.mode == "keyword" and "nativeKeywordResults" in self.given:
            rows = self.given["nativeKeywordResults"]
        return SearchAnswer(
            results=tuple(map(insight, rows)),
            hint=self.given.get("hints", {}).get(space.id),
        )

    def manifest(self, provider: str) -> ProviderManifest:
        normalized = provider in self.given["normalizedProviders"]
        native = provider == "mnemon-native"
        said: dict[str, Any] = {
            "label": provider.replace("-", " ").title(),
            "score_semantics": "normalized-relevance" if normalized else "provider-native",
        }
        if native:
            said |= {"origin": "native", "fields": [], "secrets": []}
        return reference_manifest(provider, **said)

    def targets(self, mount: Callable[..., MountedChildren]) -> Targets:
        asked = self

        class Adapter(ReferenceAdapter):
            async def search(self, space: SpaceView, request: SearchRequest) -> SearchAnswer:
                return await asked.search(space, request)

        class Native(Adapter, NativeReferenceAdapter):
            pass

        providers = list(dict.fromkeys(space["provider"] for space in self.given["spaces"]))
        manifests = {provider: self.manifest(provider) for provider in providers}
        modules = [
            reference_provider(
                manifest=manifest, adapter=Native if manifest.origin == "native" else Adapter
            )
            for manifest in manifests.values()
        ]
        children = Children(
            mount(*modules),
            authority=lambda _: None,
            config=ProviderConfig(),  # type: ignore[arg-type, return-value]
        )
        services = tuple(
            ServiceRecord(provider_id=provider, enabled=True, configured=True)
            for provider in providers
            if provider != "mnemon-native"
        )
        spaces = tuple(
            SpaceRecord(
                id=space["id"],
                name=space.get("name", space["id"]),
                description="",
                active=space.get("active", True),
                provider_id=space["provider"],
                created_at="2026-03-01T00:00:00.000Z",
                updated_at="2026-03-01T00:00:00.000Z",
            )
            for space in self.given["spaces"]
        )
        return Targets(Catalogue(spaces=spaces, services=services, manifests=manifests), children)


@pytest.mark.requirement("memory-spaces:recall:recorded")
@pytest.mark.parametrize("case", SEARCH.cases, ids=SEARCH.ids())
async def test_a_recall_is_as_recorded(
    case: dict[str, Any], mount: Callable[..., MountedChildren]
) -> None:
    recorded = Recorded(case)
    targets = recorded.targets(mount)
    config = {**SEARCH.data["defaults"]["quality"], **case["input"].get("quality", {})}
    quality = Quality(config["policy"], POLICIES[config["policy"]], thresholds(config))
    expected = case["expected"]

    async def run() -> dict[str, Any]:
        asked = read_input(SearchInput, case["input"]["request"], "search")
        request = RecallRequest(
            query=asked.query,
            mode=asked.mode,
            limit=asked.limit or SEARCH.data["defaults"]["limit"],
            category=asked.category,
            source=asked.source,
            intent=asked.intent,
        )
        chosen = targets.all(asked.memory_body_ids)
        report = await recall(request, chosen, quality=quality, seconds=5)
        return report.to_json()

    if "error" in expected:
        with pytest.raises((InputError, AuthorityError)) as caught:
            await run()
        # Of a text that no pattern knows, only that it is a refusal is known.
        code = code_of(expected["error"])
        assert code in (None, caught.value.code)
    else:
        report = await run()
        results = [
            {key: row[key] for key in RESULT_KEYS if key in row} for row in report["results"]
        ]
        assert results == [
            {key: row[key] for key in RESULT_KEYS if key in row} for row in expected["results"]
        ]
        assert report["sources"] == expected["sources"]
        assert (report["mode"], report.get("hint")) == (expected["mode"], expected.get("hint"))
    assert recorded.asked == case["providerRequests"]
