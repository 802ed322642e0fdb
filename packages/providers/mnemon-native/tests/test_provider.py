"""The module, its configuration, and the adapter of the embedded engine (D46, §13)."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_provider_mnemon_native import MANIFEST, Config, provider
from dsh_mnemon_provider_mnemon_native._cli import CliAdapter
from dsh_mnemon_provider_mnemon_native._mapping import edge_of, label_of
from dsh_mnemon_provider_mnemon_native._records import Edge
from dsh_mnemon_provider_mnemon_native._store import opening
from dsh_mnemon_provider_mnemon_native.errors import (
    InvalidInput,
    SelfLink,
    StoreMissing,
    StoreUnwritable,
)
from dsh_mnemon_provider_mnemon_native.provider import MnemonNativeAdapter, create_adapter
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
    assert smart.hint is not None
    keyword = await adapter.search(SPACE, SearchRequest(query="atlas", mode="keyword"))
    assert [(row.score, row.matched_via) for row in keyword.results] == [(1.0, "keyword")]
    basic = await adapter.search(SPACE, SearchRequest(query="served at", mode="basic"))
    assert [row.score for row in basic.results] == [None]
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
    assert "1 unreadable items were left out" in ((await adapter.status(SPACE)).error or "")
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
    assert (await adapter.search(SPACE, SearchRequest(query="x"))).hint is None
    spoil(tmp_path / "base" / "data" / "one" / "mnemon.db")
    left_out = "6 unreadable items were left out"
    for mode in ("smart", "keyword", "basic"):
        answer = await adapter.search(SPACE, SearchRequest(query="x", mode=mode))
        assert answer.results == ()
        assert (answer.hint or "").endswith(left_out)


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
