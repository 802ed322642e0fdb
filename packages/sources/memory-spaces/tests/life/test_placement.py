"""Placement beyond the recorded cases (spec/sources.md §4.5)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_source_memory_spaces._placement import Candidate, finalize, prepare
from dsh_mnemon_source_memory_spaces.testing import reference_manifest

NOW = datetime(2026, 3, 1, tzinfo=UTC)
AUTOMATIC: dict[str, Any] = {"mode": "automatic"}


def candidate(name: str, *, configured: bool = True, **manifest: Any) -> Candidate:
    return Candidate.of(name, reference_manifest(name, **manifest), configured=configured)


@pytest.mark.requirement("memory-spaces:placement:rules")
@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({}, "field-required"),
        ({"mode": "manual"}, "mode-unsupported"),
        ({**AUTOMATIC, "rules": {"allowedProviderIds": []}}, "placement-none-allowed"),
        ({**AUTOMATIC, "rules": {"allowedProviderIds": ["gamma"]}}, "placement-provider-unknown"),
        ({**AUTOMATIC, "rules": {"allowedProviderIds": ["off"]}}, "placement-none-eligible"),
        ({**AUTOMATIC, "rules": {"dataBoundary": "local-only"}}, "placement-none-eligible"),
        ({**AUTOMATIC, "prompt": "x" * 4_001}, "text-too-long"),
    ],
)
def test_what_leaves_nobody_is_refused(request_: dict[str, Any], code: str) -> None:
    known = [candidate("far", locality="remote"), candidate("off", configured=False)]
    with pytest.raises(InputError) as caught:
        prepare(request_, known, now=NOW)
    assert caught.value.code == code


@pytest.mark.requirement("memory-spaces:placement:brief")
def test_a_model_sees_what_providers_can_do_and_no_setting() -> None:
    none = dict.fromkeys(("graph", "entities", "related", "link", "forget"), False)
    known = [
        candidate("one", label="One", summary="First\nline."),
        candidate("two", capabilities=none),
    ]
    prepared = prepare({**AUTOMATIC, "rules": {"preference": "local-first"}}, known, now=NOW)
    _, lean, one, two = prepared.selector_brief.splitlines()
    assert "local-first" in lean
    assert one.startswith("- one (One, local): First line.")
    assert "graph, entities, related, link, forget" in one
    assert "nothing more" in two
    told = prepared.to_json()
    assert "decision" not in told
    assert set(told["candidates"][0]) == {"id", "label", "kind", "summary", "capabilities"}
    assert told["candidates"][0]["capabilities"]["writeMode"] == "exact"


@pytest.mark.requirement("memory-spaces:placement:choice")
def test_where_the_rules_decided_a_selection_changes_nothing() -> None:
    prepared = prepare(AUTOMATIC, [candidate("one")], now=NOW)
    other = {"providerId": "two", "reason": "x", "confidence": "low"}
    assert finalize(prepared, other, now=NOW) is prepared.decision


@pytest.mark.requirement("memory-spaces:placement:choice")
@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"providerId": "three"}, "placement-ineligible"),
        ({"reason": " "}, "text-required"),
        ({"reason": "x" * 1_001}, "text-too-long"),
        ({"confidence": "sure"}, "confidence-unsupported"),
        ({"confidence": None}, "confidence-unsupported"),
        ({"extra": 1}, "key-unknown"),
    ],
)
def test_a_selection_that_does_not_fit_is_refused(change: dict[str, Any], code: str) -> None:
    prepared = prepare(AUTOMATIC, [candidate("one"), candidate("two")], now=NOW)
    selection = {"providerId": "one", "reason": "x", "confidence": "low", **change}
    with pytest.raises(InputError) as caught:
        finalize(prepared, selection, now=NOW)
    assert caught.value.code == code
