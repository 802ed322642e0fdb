"""Recorded recalls: order, way, meta, scores and signals (spec/mnemon-native.md §7, §14)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest
from dsh_mnemon_provider_mnemon_native._compatible.intent import intent_override
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore, Recalled, StoreOptions
from dsh_mnemon_provider_mnemon_native._ranking import Query, Scope

from .scan_index import ScanIndex

GOLDEN = Path(__file__).parent / "golden" / "mnemon-native"

INDEXES: dict[str, StoreOptions] = {
    "scan": StoreOptions(read_only=True, index=lambda connection, *_: ScanIndex(connection)),
    "quick": StoreOptions(),
}


def load(name: str) -> Any:
    return json.loads((GOLDEN / name).read_text(encoding="utf-8"))


def recorded(name: str) -> list[Any]:
    return [
        pytest.param(case, id=f"{number}")
        for number, case in enumerate(load(name), 1)
        if case.get("stable", True)
    ]


def with_vectors() -> list[Any]:
    """Return the verbose recalls of the transcript with embeddings."""
    lines = (GOLDEN / "embedded" / "transcript.jsonl").read_text(encoding="utf-8").splitlines()
    cases: list[Any] = []
    for case in map(json.loads, lines):
        if "--verbose" not in case["argv"] or "recall" not in case["argv"]:
            continue
        argv = [word for word in case["argv"] if word not in {"--readonly", "--verbose"}]
        results = [
            {**one, "id": one["insight"]["id"], "full": one["insight"]}
            for one in case["stdout_json"]["results"]
        ]
        cases.append({"argv": argv, "results": results, "meta": case["stdout_json"].get("meta")})
    return [pytest.param(case, id=f"{number}") for number, case in enumerate(cases, 1)]


async def recall(
    folder: Path, store: str, argv: list[str], options: StoreOptions, vectors: Mapping[str, Any]
) -> Recalled:
    path = folder / "data" / "default" / "mnemon.db"
    path.parent.mkdir(parents=True)
    shutil.copy(GOLDEN / store, path)
    _, text, *rest = argv
    given = dict(zip(rest[::2], rest[1::2], strict=True))
    query = Query(
        text=text,
        limit=int(given.get("--limit", "10")),
        scope=Scope(category=given.get("--cat"), source=given.get("--source")),
        intent=intent_override(given.get("--intent")),
        vector=tuple(vectors[text]) if text in vectors else None,
    )
    opened = MnemonStore(path, options)
    try:
        return await opened.recall(query)
    finally:
        await opened.aclose()


def check(recalled: Recalled, case: Mapping[str, Any]) -> None:
    expected = case["results"]
    rows = [ranked for _, ranked in recalled.rows]
    assert [row.id for row in rows] == [one["id"] for one in expected]
    assert [row.via for row in rows] == [one["via"] for one in expected]
    assert [row.superseded for row in rows] == [one.get("superseded", False) for one in expected]
    for row, one in zip(rows, expected, strict=True):
        assert row.score == pytest.approx(one["score"], abs=1e-9)
        assert attrs.asdict(row.signals) == pytest.approx(one["signals"], abs=1e-9)
    meta, answer = case.get("meta"), recalled.answer
    if meta is not None:
        found = {
            "intent": answer.intent,
            "intent_source": answer.intent_source,
            "anchor_count": answer.anchor_count,
            "traversed": answer.traversed,
            "hint": answer.hint,
        }
        assert found == {"hint": None, **meta}


@pytest.mark.requirement("native:golden:recall")
@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("case", recorded("recall.json"))
async def test_a_recall_is_ranked_as_recorded(
    tmp_path: Path, case: dict[str, Any], index: str
) -> None:
    check(await recall(tmp_path, "store.db", case["argv"], INDEXES[index], {}), case)


@pytest.mark.requirement("native:golden:recall")
@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("case", with_vectors())
async def test_a_recall_with_vectors_is_ranked_as_recorded(
    tmp_path: Path, case: dict[str, Any], index: str
) -> None:
    vectors = load("embedded/vectors.json")
    options = INDEXES[index]
    check(await recall(tmp_path, "embedded/store.db", case["argv"], options, vectors), case)


@pytest.mark.requirement("native:golden:legacy")
@pytest.mark.parametrize("case", recorded("legacy/recall.json"))
async def test_a_store_of_the_old_line_is_recalled(tmp_path: Path, case: dict[str, Any]) -> None:
    """Its own order is not ours (§7.5): what a query says of an insight is."""
    options = StoreOptions(read_only=True)
    argv = [*case["argv"][:2], "--limit", "1000"]
    if "--intent" in case["argv"]:
        argv += ["--intent", case["argv"][case["argv"].index("--intent") + 1]]
    recalled = await recall(tmp_path, "legacy/store.db", argv, options, {})
    assert recalled.answer.intent == case["meta"]["intent"]
    signals = {ranked.id: ranked.signals for _, ranked in recalled.rows}
    for one in case["results"]:
        found = signals[one["id"]]
        assert found.keyword == pytest.approx(one["signals"]["keyword"], abs=1e-9)
        assert found.entity == pytest.approx(one["signals"]["entity"], abs=1e-9)
