"""The module, its configuration, and the adapter of the embedded engine (D46, §13)."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_provider_mnemon_native import MANIFEST, Config, provider
from dsh_mnemon_provider_mnemon_native._adapter import MnemonNativeAdapter
from dsh_mnemon_provider_mnemon_native._cli import CliAdapter
from dsh_mnemon_provider_mnemon_native._mapping import edge_of, is_drawn, label_of
from dsh_mnemon_provider_mnemon_native._records import Edge
from dsh_mnemon_provider_mnemon_native._store import opening
from dsh_mnemon_provider_mnemon_native.errors import (
    InvalidInput,
    SelfLink,
    StoreMissing,
    StoreUnwritable,
)
from dsh_mnemon_provider_mnemon_native.provider import create_adapter
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    EDGES,
    DraftInsight,
    EmbeddingSettings,
    ListRequest,
    NativeSettings,
    ProviderConfig,
    ProviderContext,
    ProviderNotConfigured,
    RememberRequest,
    SearchRequest,
    SpaceView,
)
from pydantic import ValidationError

pytestmark = pytest.mark.requirement("native:provider")

SPACE = SpaceView(id="one", name="One")


@pytest.fixture
async def make(
    anyio_backend: str, tmp_path: Path
) -> AsyncGenerator[Callable[..., MnemonNativeAdapter]]:
    del anyio_backend
    made: list[MnemonNativeAdapter] = []

    def adapter(embedding: EmbeddingSettings | None = None, **config: Any) -> MnemonNativeAdapter:
        native = NativeSettings(
            data_dir=tmp_path / "base", embedding=embedding or EmbeddingSettings()
        )
        made.append(MnemonNativeAdapter(native, Config(**config)))
        return made[-1]

    yield adapter
    for one in made:
        await one.aclose()


def context(native: NativeSettings | None) -> ProviderContext:
    authority: Any = None
    return ProviderContext(
        instance_id="mnemon-native",
        manifest=MANIFEST,
        memory_spaces=authority,
        config=ProviderConfig(timeout_ms=500),
        native=native,
    )


@pytest.mark.requirement("native:config")
def test_the_configuration_has_three_settings() -> None:
    assert Config() == Config(engine="embedded", ranking="hybrid", max_insights=0)
    given = {"engine": "cli", "ranking": "compatible", "maxInsights": 5}
    assert Config.model_validate(given).max_insights == 5
    for bad in ({"engine": "go"}, {"ranking": "x"}, {"maxInsights": -1}, {"store": "x"}):
        with pytest.raises(ValidationError):
            Config.model_validate(bad)


def test_the_engine_is_chosen_and_needs_the_sources_folder(tmp_path: Path) -> None:
    native = NativeSettings(data_dir=tmp_path)
    assert isinstance(create_adapter(context(native), Config()), MnemonNativeAdapter)
    assert isinstance(create_adapter(context(native), Config(engine="cli")), CliAdapter)
    with pytest.raises(ProviderNotConfigured):
        create_adapter(context(None), Config())
    assert list(tmp_path.iterdir()) == []
    assert provider.id == MANIFEST.type_id == "mnemon-native"


def test_the_engine_is_imported_by_the_first_call_that_asks_a_space(tmp_path: Path) -> None:
    script = f"""
import sys, anyio
from pathlib import Path
from dsh_mnemon_provider_mnemon_native import Config
from dsh_mnemon_provider_mnemon_native._adapter import MnemonNativeAdapter
from dsh_mnemon_source_memory_spaces.provider_sdk import NativeSettings, SpaceView

ENGINE = {{f"dsh_mnemon_provider_mnemon_native.{{name}}" for name in ("_engine", "_hybrid")}}

async def use() -> None:
    adapter = MnemonNativeAdapter(NativeSettings(data_dir=Path({str(tmp_path)!r})), Config())
    assert adapter.ready()
    await adapter.create_store("one")
    assert not ENGINE & set(sys.modules), "too much is imported"
    assert (await adapter.status(SpaceView(id="one", name="One"))).healthy
    assert ENGINE <= set(sys.modules)
    await adapter.aclose()

anyio.run(use)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_the_manifest_says_what_it_is() -> None:
    flags = MANIFEST.capabilities.model_dump()
    assert [name for name, value in flags.items() if value is True] == [
        *("search", "browse", "graph", "entities", "related", "remember", "link", "forget")
    ]
    assert (MANIFEST.origin, MANIFEST.locality) == ("native", "local")
    assert (MANIFEST.capabilities.write_mode, MANIFEST.capabilities.deletion_mode) == (
        "exact",
        "soft",
    )
    assert MANIFEST.score_semantics == "normalized-relevance"


@pytest.mark.requirement("native:repeat")
async def test_a_skipped_write_names_what_it_repeats(
    make: Callable[..., MnemonNativeAdapter],
) -> None:
    adapter = make()
    await adapter.create_store("one")
    first = await adapter.remember(SPACE, RememberRequest(content="Atlas uses Kafka"))
    again = await adapter.remember(SPACE, RememberRequest(content="Atlas uses Kafka"))
    assert (again["action"], again["id"], again["replaced_id"]) == (
        "skipped",
        first["id"],
        first["id"],
    )
    assert first["entities"] == ["Kafka"]
    assert first["edges_created"] == {"temporal": 0, "entity": 0, "causal": 0, "semantic": 0}
    second = await adapter.remember(SPACE, RememberRequest(content="Kafka is used by Atlas"))
    assert [one["id"] for one in second["semantic_candidates"]] == [first["id"]]
    assert second["causal_candidates"][0]["via_edge"] == "temporal"
    json.dumps([first, again, second])


@pytest.mark.requirement("native:forget")
async def test_forgetting_says_that_it_is_soft(make: Callable[..., MnemonNativeAdapter]) -> None:
    adapter = make()
    await adapter.create_store("one")
    kept = await adapter.remember(SPACE, RememberRequest(content="gone soon"))
    gone = await adapter.forget(SPACE, kept["id"])
    assert (gone["status"], gone["deletion_mode"]) == ("deleted", "soft")
    assert "file" in gone["message"]


async def test_the_modes_of_search(make: Callable[..., MnemonNativeAdapter]) -> None:
    adapter = make(ranking="compatible")
    await adapter.create_store("one")
    for content in ("Atlas backs up nightly", "Tea is served at noon"):
        await adapter.remember(SPACE, RememberRequest(content=content))
    smart = await adapter.search(SPACE, SearchRequest(query="atlas", intent="entity"))
    assert (smart.results[0].intent, smart.results[0].matched_via) == ("ENTITY", "temporal")
    assert (smart.hint, smart.remark is None) == (None, False)
    keyword = await adapter.search(SPACE, SearchRequest(query="atlas", mode="keyword"))
    assert [(row.score, row.matched_via) for row in keyword.results] == [(1.0, "keyword")]
    basic = await adapter.search(SPACE, SearchRequest(query="served at", mode="basic"))
    assert [row.score for row in basic.results] == [None]
    wild = await adapter.search(SPACE, SearchRequest(query="tea%n__n", mode="basic"))
    assert [row.content for row in wild.results] == ["Tea is served at noon"]
    with pytest.raises(InvalidInput):
        await adapter.search(SPACE, SearchRequest(query="x", intent="WHERE"))
    with pytest.raises(InvalidInput):
        await adapter.remember(SPACE, RememberRequest(content="x", entities=("a,b",)))


async def test_pruning_is_a_setting(make: Callable[..., MnemonNativeAdapter]) -> None:
    adapter = make(max_insights=1)
    await adapter.create_store("one")
    for number in range(3):
        await adapter.remember(SPACE, RememberRequest(content=f"young {number}"))
    assert (await adapter.status(SPACE)).stats.total_insights == 3  # type: ignore[union-attr]


async def test_a_status_counts_and_reports(
    make: Callable[..., MnemonNativeAdapter], tmp_path: Path
) -> None:
    adapter = make()
    missing = await adapter.status(SPACE)
    assert not missing.healthy
    assert "one" in (missing.error or "")
    await adapter.create_store("one")
    await adapter.remember(SPACE, RememberRequest(content="x", entities=("E",)))
    status = await adapter.status(SPACE)
    assert status.healthy
    assert status.error is None
    assert status.stats is not None
    assert status.stats.by_category == {"general": 1}
    spoil(tmp_path / "base" / "data" / "one" / "mnemon.db")
    await adapter.list(SPACE, ListRequest())
    status = await adapter.status(SPACE)
    assert (status.healthy, status.error) == (True, None)
    assert (status.note or "").startswith("1 row is left out")
    assert (status.note or "").endswith("mnemon.db")
    assert not (await adapter.status(SpaceView(id="../x", name="x"))).healthy


@pytest.mark.requirement("native:link")
@pytest.mark.parametrize("type", EDGES)
async def test_a_memory_is_not_linked_to_itself(
    make: Callable[..., MnemonNativeAdapter], type: str
) -> None:
    adapter = make()
    await adapter.create_store("one")
    id = (await adapter.remember(SPACE, RememberRequest(content="x")))["id"]
    with pytest.raises(SelfLink) as raised:
        await adapter.link(SPACE, id, id, type, 0.5)
    assert raised.value.code == "link-self"
    assert (await adapter.graph(SPACE)).edges == ()


async def test_a_store_that_cannot_be_made_leaves_nothing_behind(
    make: Callable[..., MnemonNativeAdapter], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = make()
    with monkeypatch.context() as failing:
        failing.setattr(opening, "migrate", _full)
        with pytest.raises(StoreUnwritable):
            await adapter.create_store("one")
    assert not (tmp_path / "base" / "data" / "one").exists()
    await adapter.create_store("one")
    assert (await adapter.status(SPACE)).healthy


def _full(*_: Any) -> None:
    raise sqlite3.OperationalError("database or disk is full")


@pytest.mark.requirement("native:unreadable")
async def test_a_search_says_how_much_was_left_out(
    make: Callable[..., MnemonNativeAdapter], tmp_path: Path
) -> None:
    adapter = make()
    await adapter.create_store("one")
    for content in ("x one", "x two", "x three", "x four", "x five", "x six"):
        await adapter.remember(SPACE, RememberRequest(content=content))
    assert (await adapter.search(SPACE, SearchRequest(query="x"))).unreadable == 0
    assert (await adapter.list(SPACE, ListRequest(limit=3))).unreadable == 0
    spoil(tmp_path / "base" / "data" / "one" / "mnemon.db")
    for mode in ("smart", "keyword", "basic"):
        answer = await adapter.search(SPACE, SearchRequest(query="x", mode=mode))
        assert (answer.results, answer.unreadable) == ((), 6)
    page = await adapter.list(SPACE, ListRequest(limit=3))
    assert (page.items, page.unreadable) == ((), 6)
    status = await adapter.status(SPACE)
    assert (status.healthy, (status.note or "")[:7]) == (True, "6 rows ")


@pytest.mark.requirement("native:unreadable")
async def test_a_graph_says_how_many_edges_were_left_out(
    make: Callable[..., MnemonNativeAdapter], tmp_path: Path
) -> None:
    adapter = make()
    await adapter.create_store("one")
    one, two = [
        (await adapter.remember(SPACE, RememberRequest(content=content)))["id"]
        for content in ("tea", "coffee")
    ]
    await adapter.link(SPACE, one, two, "semantic", 0.5)
    whole = await adapter.graph(SPACE)
    assert (len(whole.edges), whole.unreadable) == (4, 0)
    connection = sqlite3.connect(tmp_path / "base" / "data" / "one" / "mnemon.db")
    connection.execute("UPDATE edges SET weight = 'heavy' WHERE edge_type = 'semantic'")
    connection.commit()
    connection.close()
    less = await adapter.graph(SPACE)
    assert (len(less.edges), less.unreadable) == (2, 2)


@pytest.mark.requirement("native:basic:literal")
async def test_basic_takes_the_text_as_it_stands(make: Callable[..., MnemonNativeAdapter]) -> None:
    adapter = make()
    await adapter.create_store("one")
    for content in ("100% sure", "a_b", r"C:\temp", "axb"):
        await adapter.remember(SPACE, RememberRequest(content=content))
    for text, found in {"%": "100% sure", "_B": "a_b", "\\": r"C:\temp", "A_b": "a_b"}.items():
        answer = await adapter.search(SPACE, SearchRequest(query=text, mode="basic"))
        assert [row.content for row in answer.results] == [found]


@pytest.mark.requirement("native:edges:drawn")
@pytest.mark.parametrize("type", EDGES)
async def test_a_graph_tells_links_that_somebody_drew(
    make: Callable[..., MnemonNativeAdapter], type: str
) -> None:
    adapter = make()
    await adapter.create_store("one")
    contents = ("the index is gone because of Kafka", "therefore the Kafka index is slow", "other")
    ids = [
        (await adapter.remember(SPACE, RememberRequest(content=content)))["id"]
        for content in contents
    ]
    assert not any(edge.drawn for edge in (await adapter.graph(SPACE)).edges)
    await adapter.link(SPACE, ids[0], ids[1], type, 0.4, "one\nteam")
    await adapter.link(SPACE, ids[1], ids[2], type, 0)
    drawn = {
        (edge.source_id, edge.target_id, edge.type, edge.weight, edge.reason)
        for edge in (await adapter.graph(SPACE)).edges
        if edge.drawn
    }
    both = [(ids[0], ids[1], 0.4, "one\nteam"), (ids[1], ids[2], 0.0, None)]
    assert drawn == {
        end for a, b, weight, why in both
        for end in ((a, b, type, weight, why), (b, a, type, weight, why))
    }  # fmt: skip


def test_what_is_drawn_shows_in_the_metadata() -> None:
    asked: list[dict[str, str]] = [
        {"created_by": "claude"}, {"reason": "why"}, {}, {"created_by": "me", "sub_type": "x"},
    ]  # fmt: skip
    own: list[dict[str, str]] = [
        {"created_by": "auto", "cosine": "0.9"}, {"entity": "E"}, {"overlap": "0.2"},
        {"sub_type": "backbone", "direction": "precedes"}, {"reason": "proximity"},
    ]  # fmt: skip
    assert [is_drawn(metadata) for metadata in asked + own] == [True] * 4 + [False] * 5


def spoil(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE insights SET created_at = 'soon'")
    connection.commit()
    connection.close()


async def test_a_store_of_the_first_versions_is_taken_over(
    make: Callable[..., MnemonNativeAdapter], tmp_path: Path
) -> None:
    adapter = make()
    await adapter.create_store("one")
    await adapter.remember(SPACE, RememberRequest(content="from long ago"))
    await adapter.aclose()
    os.rename(tmp_path / "base" / "data" / "one" / "mnemon.db", tmp_path / "base" / "mnemon.db")
    page = await make().list(SpaceView(id="default", name="d"), ListRequest())
    assert [item.content for item in page.items] == ["from long ago"]


async def test_an_import_takes_archived_originals(
    make: Callable[..., MnemonNativeAdapter],
) -> None:
    adapter = make()
    await adapter.create_store("one")
    insights = [DraftInsight(content="x" * 8_192), DraftInsight(content="two")]
    done = await adapter.import_draft(SPACE, insights, [])
    assert (done["action"], done["imported"], done["errors"]) == ("imported", 2, [])
    again = await adapter.import_draft(SPACE, insights, [])
    assert (again["action"], again["skipped"]) == ("skipped", 2)
    with pytest.raises(StoreMissing):
        await adapter.import_draft(SpaceView(id="two", name="t"), insights, [])


async def test_a_check_refuses_what_an_import_refuses(
    make: Callable[..., MnemonNativeAdapter], tmp_path: Path
) -> None:
    adapter = make()
    await adapter.check_draft([DraftInsight(content="x" * 8_192)], [])
    for wrong in (
        DraftInsight(content="x" * 8_193),
        DraftInsight(content="x", created_at="2020-01-01"),
        DraftInsight(content="x", tags=("t" * 101,)),
        DraftInsight(content="x", entities=("e",) * 51),
    ):
        with pytest.raises(InvalidInput) as checked:
            await adapter.check_draft([DraftInsight(content="good"), wrong], [])
        with pytest.raises(InvalidInput) as refused:
            await adapter.import_draft(SPACE, [DraftInsight(content="good"), wrong], [])
        assert checked.value.message == refused.value.message
        assert checked.value.details["field"].startswith("insights[1].")
    assert not (tmp_path / "base").exists()


async def test_readiness_is_that_of_the_folder(
    make: Callable[..., MnemonNativeAdapter], tmp_path: Path
) -> None:
    assert make().ready()
    (tmp_path / "base").write_text("a file", encoding="utf-8")
    assert not make().ready()


@pytest.mark.requirement("native:embedding")
async def test_embeddings_that_are_on_are_probed(
    make: Callable[..., MnemonNativeAdapter],
) -> None:
    off = await make().embedding_status()
    assert (off["enabled"], off["available"]) == (False, False)
    on = EmbeddingSettings(enabled=True, endpoint="http://127.0.0.1:1/v1")
    status = await make(on).embedding_status()
    assert (status["available"], status["protocol"]) == (False, "openai")
    assert status["error"]


def test_labels_and_edges_of_the_graph() -> None:
    assert label_of("one\n two") == "one two"
    assert label_of("x" * 61) == "x" * 59 + "…"

    def shown(type: str, metadata: str) -> tuple[str, str]:
        edge = edge_of(
            Edge(
                source_id="a",
                target_id="b",
                type=type,
                weight=1.0,
                metadata=metadata,
                created_at="",
            )
        )
        return edge.label, edge.color

    assert shown("causal", '{"sub_type":"enables"}') == ("enables", "#e74c3c")
    assert shown("strange", "{broken") == ("strange", "#95a5a6")
    assert shown("entity", "[]") == ("entity", "#2ecc71")
