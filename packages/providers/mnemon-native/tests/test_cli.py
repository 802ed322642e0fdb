"""The Provider over a command line tool, played by a script (spec/mnemon-native.md §13)."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_provider_mnemon_native._cli import CliAdapter
from dsh_mnemon_provider_mnemon_native._client import Client, find_binary
from dsh_mnemon_provider_mnemon_native._config import Config
from dsh_mnemon_provider_mnemon_native._replies import insights, read_graph, read_stats
from dsh_mnemon_provider_mnemon_native._store.folders import Folders
from dsh_mnemon_provider_mnemon_native.errors import (
    InvalidInput,
    SelfLink,
    StoreDamaged,
    StoreLocked,
    StoreMissing,
)
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    DraftEdge,
    DraftInsight,
    EmbeddingSettings,
    EntityCount,
    Insight,
    ListRequest,
    NativeSettings,
    ProviderNotFound,
    ProviderProtocol,
    ProviderRejected,
    ProviderTimeout,
    ProviderUnavailable,
    RememberRequest,
    SearchRequest,
    SpaceView,
    WriteOutcomeUnknown,
)
from pydantic import SecretStr

pytestmark = pytest.mark.requirement("native:cli")

GOLDEN = Path(__file__).parent / "golden" / "mnemon-native"
SPACE = SpaceView(id="one", name="One")
ROWS: list[dict[str, Any]] = [
    {"id": "a", "content": "first note", "category": "fact", "importance": 5, "tags": ["t"]},
    {"id": "b", "content": "second note", "category": "general", "importance": 3},
    {"id": "c", "content": "third thing", "category": "fact", "importance": 1},
]


class Tool:
    """The script, its replies and what it was asked."""

    def __init__(self, folder: Path, base: Path) -> None:
        self.folder, self.base = folder, base
        folder.mkdir()
        self.path = folder / "mnemon"
        script = (Path(__file__).with_name("fake_mnemon.py")).read_text(encoding="utf-8")
        self.path.write_text(f"#!{sys.executable}\n{script}", encoding="utf-8")
        self.path.chmod(0o755)
        self.replies()
        Folders(base).create("one")

    def replies(self, **replies: Any) -> None:
        (self.folder / "replies.json").write_text(json.dumps(replies), encoding="utf-8")

    def calls(self) -> list[dict[str, Any]]:
        lines = (self.folder / "calls.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    @property
    def last(self) -> list[str]:
        words: list[str] = self.calls()[-1]["words"]
        return words

    def adapter(self, *, timeout_ms: int = 10_000, limit: int = 0, **native: Any) -> CliAdapter:
        settings = NativeSettings(**{"data_dir": self.base, "cli_path": str(self.path), **native})
        config = Config(engine="cli", max_insights=limit)
        return CliAdapter(settings, config, timeout_ms=timeout_ms)


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    return Tool(tmp_path / "bin", tmp_path / "base")


async def test_a_call_names_base_and_store_and_passes_settings(tool: Tool) -> None:
    embedding = EmbeddingSettings(
        enabled=True, endpoint="http://e", model="m", api_key=SecretStr("key-1234567")
    )
    tool.replies(forget={"out": {"id": "-a", "status": "deleted"}})
    adapter = tool.adapter(embedding=embedding, limit=7)
    assert await adapter.forget(SPACE, "-a") == {"id": "-a", "status": "deleted"}
    call = tool.calls()[-1]
    assert (call["base"], call["store"]) == (str(tool.base), "one")
    assert call["words"] == ["forget", "--", "-a"]
    assert call["env"] == {
        "MNEMON_MAX_INSIGHTS": "7",
        "MNEMON_EMBED_ENDPOINT": "http://e",
        "MNEMON_EMBED_MODEL": "m",
        "MNEMON_EMBED_API_KEY": "key-1234567",
        "MNEMON_EMBED_PROTOCOL": "",
    }


async def test_a_status_is_read_or_unhealthy(tool: Tool) -> None:
    recorded = json.loads((GOLDEN / "transcript.jsonl").read_text("utf-8").splitlines()[1])
    tool.replies(status={"out": recorded["stdout_json"]})
    status = await tool.adapter().status(SPACE)
    assert status.healthy
    assert status.stats is not None
    assert status.stats.db_size_bytes == 4096
    tool.replies(status={"code": 1, "err": "Error: open database: database is locked\nUsage:"})
    status = await tool.adapter().status(SPACE)
    assert (status.healthy, status.error) == (
        False,
        "mnemon status exited 1: open database: database is locked",
    )
    assert not (await tool.adapter().status(SpaceView(id="gone", name="g"))).healthy


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (
            SearchRequest(query="q", mode="smart", limit=3, category="fact", intent="WHY"),
            ["recall", "q", "--limit", "3", "--cat", "fact", "--intent", "WHY"],
        ),
        (
            SearchRequest(query="-q", mode="basic", source="user", intent="WHY"),
            ["recall", "--limit", "10", "--basic", "--source", "user", "--", "-q"],
        ),
        (
            SearchRequest(query="q", mode="keyword", category="fact"),
            ["search", "q", "--limit", "10"],
        ),
    ],
)
async def test_searches_run_their_command(
    tool: Tool, request_: SearchRequest, words: list[str]
) -> None:
    tool.replies(recall={"out": {"results": ROWS, "hint": "few"}}, search={"out": ROWS})
    answer = await tool.adapter().search(SPACE, request_)
    assert tool.last == words
    assert [row.id for row in answer.results] == ["a", "b", "c"]
    assert (answer.hint, answer.remark) == (None, None if words[0] == "search" else "few")


async def test_listing_pages_over_the_whole_list(tool: Tool) -> None:
    tool.replies(recall={"out": ROWS})
    adapter = tool.adapter()
    first = await adapter.list(SPACE, ListRequest(limit=2))
    assert [row.id for row in first.items] == ["a", "b"]
    second = await adapter.list(SPACE, ListRequest(limit=2, cursor=first.next_cursor))
    assert ([row.id for row in second.items], second.next_cursor) == (["c"], None)
    assert tool.last == ["--readonly", "recall", "", "--basic", "--limit", "100000"]
    found = await adapter.list(SPACE, ListRequest(query="NOTE", category="fact"))
    assert [row.id for row in found.items] == ["a"]
    assert len(await adapter.metadata_sample(SPACE, 6)) == 3
    assert tool.last[-1] == "6"
    with pytest.raises(InputError):
        await adapter.list(SPACE, ListRequest(cursor="-1"))


async def test_a_graph_is_read_from_the_page_that_is_drawn(tool: Tool) -> None:
    lines = (GOLDEN / "transcript.jsonl").read_text("utf-8").splitlines()
    drawn = next(case for case in map(json.loads, lines) if "viz_nodes" in case)
    page = f"<script>[{','.join(drawn['viz_nodes'])}],[{','.join(drawn['viz_edges'])}]</script>"
    known = {"id": json.loads(drawn["viz_nodes"][0][4:42]), "content": "known text"}
    tool.replies(viz={"out": page}, recall={"out": [known]})
    graph = await tool.adapter().graph(SPACE)
    assert (len(graph.nodes), len(graph.edges)) == (30, 220)
    assert graph.nodes[0].label == "known text"
    assert {edge.type for edge in graph.edges} == {
        "temporal",
        "semantic",
        "causal",
        "entity",
        "supersedes",
    }
    assert graph.next_cursor is None


def test_a_page_with_odd_strings_is_read() -> None:
    page = (
        '{id:"a",label:"l",title:"",color:"#111111",x:1},'
        r'{id:"b",label:"say \"hi\"},{from:",title:"\x",color:"#222222"},'
        '{from:"a",to:"b",label:"why",color:{color:"#333333"}},'
        '{from:"a",to:"gone",label:"",color:{color:"#333333"}}'
    )
    nodes, edges = read_graph(page, {"b": Insight(id="b", content="B", category="fact")})
    assert [(node.label, node.category) for node in nodes] == [("l", None), ("B", "fact")]
    assert [(edge.target_id, edge.type) for edge in edges] == [("b", None)]


def test_what_is_no_insight_is_dropped() -> None:
    assert insights({"results": "none"}) == []
    assert insights(None) == []
    found = insights(
        [
            "text",
            {"id": "a"},
            {
                "insight": {"id": "b", "content": "x", "importance": True, "tags": ["t", 1]},
                "via": "w",
            },
        ]
    )
    assert [(row.id, row.importance, row.tags, row.matched_via) for row in found] == [
        ("b", None, ("t",), "w")
    ]
    assert read_stats(["odd"]).total_insights == 0


async def test_entities_and_relations(tool: Tool) -> None:
    named = [{"entity": "b", "count": 2}, {"entity": "a", "count": 2}, {"entity": "c"}]
    tool.replies(status={"out": {"top_entities": named}}, related={"out": ROWS})
    adapter = tool.adapter()
    assert await adapter.entities(SPACE, 1) == [EntityCount(entity="a", count=2)]
    assert len(await adapter.related(SPACE, "a", 2, "causal")) == 3
    assert tool.last == ["related", "a", "--depth", "2", "--edge", "causal"]
    await adapter.related(SPACE, "a", 1)
    assert tool.last == ["related", "a", "--depth", "1"]


async def test_remembering_passes_every_value(tool: Tool) -> None:
    tool.replies(remember={"out": {"action": "added", "id": "n"}})
    request = RememberRequest(
        content="- a list", category="fact", importance=4, tags=("a", "b"), entities=("E",)
    )
    assert (await tool.adapter().remember(SPACE, request))["id"] == "n"
    assert tool.last == [
        *("remember", "--cat", "fact", "--imp", "4", "--source", "user"),
        *("--tags", "a,b", "--entities", "E", "--", "- a list"),
    ]
    await tool.adapter().remember(SPACE, RememberRequest(content="plain"))
    assert tool.last[:2] == ["remember", "plain"]
    for refused in (
        RememberRequest(content="x" * 8_001, exact=True),
        RememberRequest(content="x", tags=("a,b",)),
    ):
        with pytest.raises(InvalidInput):
            await tool.adapter().remember(SPACE, refused)


def added(*contents: str) -> dict[str, Any]:
    results = [
        {"index": i, "id": f"n{i}", "content": c, "action": "added"} for i, c in enumerate(contents)
    ]
    return {"imported": len(contents), "errors": 0, "updated": 0, "skipped": 0, "results": results}


async def test_originals_are_imported_once(tool: Tool) -> None:
    tool.replies(recall={"out": ROWS}, **{"import": {"out": added("one", "two")}})
    requests = [RememberRequest(content=c) for c in ("one", "first note", "two", "one")]
    adapter = tool.adapter()
    results = await adapter.remember_many(SPACE, requests)
    assert [(one["action"], one["id"]) for one in results] == [
        ("added", "n0"),
        ("skipped", "a"),
        ("added", "n1"),
        ("skipped", "n0"),
    ]
    draft = tool.calls()[-1]["draft"]
    assert (draft["mode"], draft["source"]) == ("0o600", "dsh-mnemon-runtime-archive")
    assert [one["content"] for one in draft["insights"]] == ["one", "two"]
    assert tool.last[-1] == "--no-diff"
    assert not await exists(tool.last[1])
    assert await adapter.remember_many(SPACE, []) == []
    known = await adapter.remember_many(SPACE, requests[1:2])
    assert [one["action"] for one in known] == ["skipped"]
    with pytest.raises(InvalidInput):
        await adapter.remember_many(SPACE, [RememberRequest(content="x" * 8_001)])


async def exists(path: str) -> bool:
    return await anyio.Path(path).exists()


@pytest.mark.parametrize(
    "answer",
    [
        {**added("one"), "errors": 1},
        {**added("one"), "imported": 2},
        added("other"),
        {**added("one"), "results": [{"id": "n", "content": "one", "action": "skipped"}]},
        {},
        [],
    ],
)
async def test_a_partial_import_of_originals_is_no_success(tool: Tool, answer: Any) -> None:
    tool.replies(recall={"out": []}, **{"import": {"out": answer}})
    with pytest.raises(WriteOutcomeUnknown):
        await tool.adapter().remember_many(SPACE, [RememberRequest(content="one")])


async def test_an_import_reports_counts_and_faults(tool: Tool) -> None:
    answer = {
        **added("one"),
        "edges_inserted": 1,
        "results": [{"index": 1, "error": "no room"}],
    }
    tool.replies(**{"import": [{"out": answer}, {"out": {"skipped": 1, "imported": 0}}]})
    adapter = tool.adapter()
    insights_ = [
        DraftInsight(content="one", created_at="2026-01-01T00:00:00Z"),
        DraftInsight(content="two"),
    ]
    edges = [DraftEdge(source_index=0, target_index=1, edge_type="causal", reason="r")]
    done = await adapter.import_draft(SPACE, insights_, edges)
    assert (done["action"], done["imported"], done["edges_inserted"]) == ("imported", 1, 1)
    assert done["errors"] == [{"index": 1, "code": "import-failed", "message": "no room"}]
    draft = tool.calls()[-1]["draft"]
    assert draft["source"] == "dsh-mnemon-merge"
    assert draft["insights"] == [
        {"content": "one", "created_at": "2026-01-01T00:00:00Z"},
        {"content": "two"},
    ]
    again = await adapter.import_draft(SPACE, insights_, edges)
    assert (again["action"], again["skipped"]) == ("skipped", 1)


async def test_what_the_tool_would_refuse_is_named_by_its_place_and_never_sent(tool: Tool) -> None:
    adapter = tool.adapter()
    wrong = [DraftInsight(content="one"), DraftInsight(content="x" * 8_001)]
    for call in (adapter.check_draft(wrong, []), adapter.import_draft(SPACE, wrong, [])):
        with pytest.raises(InvalidInput) as caught:
            await call
        assert caught.value.details["field"] == "insights[1].content"
    assert not (tool.folder / "calls.jsonl").exists()


async def test_links_and_stores(tool: Tool) -> None:
    tool.replies(link={"out": {"status": "linked"}})
    adapter = tool.adapter()
    await adapter.link(SPACE, "a", "b", "causal", 0.5, "because")
    assert tool.last == [
        *("link", "--type", "causal", "--weight", "0.5", "--meta", '{"reason": "because"}'),
        *("--", "a", "b"),
    ]
    with pytest.raises(SelfLink) as refused:
        await adapter.link(SPACE, "a", "a", "causal", 0.5)
    assert refused.value.code == "link-self"
    await adapter.link(SPACE, "a", "b", "causal", 1.0)
    assert "--meta" not in tool.last
    await adapter.create_store("two")
    assert tool.last == ["store", "create", "two"]
    await adapter.set_default_store("two")
    assert tool.last == ["store", "set", "two"]
    await adapter.remove_store("two")
    assert tool.last == ["store", "remove", "two"]
    with pytest.raises(InvalidInput):
        await adapter.create_store("../two")


async def test_embeddings_are_told_of(tool: Tool) -> None:
    tool.replies(embed={"out": {"ollama_available": True}})
    assert (await tool.adapter().embedding_status())["available"]
    tool.replies(embed={"code": 1, "err": "Error: no"})
    status = await tool.adapter().embedding_status()
    assert (status["available"], status["error"]) == (False, "mnemon embed exited 1: no")


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ({"code": 1, "err": "Error: insight x not found"}, ProviderNotFound),
        ({"code": 1, "err": "Error: database not found: /x"}, StoreMissing),
        ({"code": 1, "err": "Error: database is locked"}, StoreLocked),
        ({"code": 1, "out": "something else key-1234567"}, ProviderRejected),
        ({"code": 2}, ProviderRejected),
        ({"out": "no json"}, WriteOutcomeUnknown),
        ({"out": "[]"}, WriteOutcomeUnknown),
        ({"sleep": 30}, WriteOutcomeUnknown),
    ],
)
async def test_what_goes_wrong_is_told_apart(
    tool: Tool, reply: Any, error: type[Exception]
) -> None:
    tool.replies(forget=reply)
    embedding = EmbeddingSettings(api_key=SecretStr("key-1234567"))
    adapter = tool.adapter(timeout_ms=1_500, embedding=embedding)
    with pytest.raises(error) as raised:
        await adapter.forget(SPACE, "x")
    assert type(raised.value) is error
    assert "key-1234567" not in str(raised.value)


async def test_a_read_that_cannot_be_read_is_no_answer(tool: Tool) -> None:
    tool.replies(related=[{"out": "no json"}, {"sleep": 30}])
    adapter = tool.adapter(timeout_ms=1_500)
    with pytest.raises(ProviderProtocol):
        await adapter.related(SPACE, "a", 1)
    with pytest.raises(ProviderTimeout):
        await adapter.related(SPACE, "a", 1)
    with pytest.raises(StoreMissing):
        await adapter.related(SpaceView(id="gone", name="g"), "a", 1)


async def test_the_tool_makes_no_store_in_place_of_one_that_is_gone(tool: Tool) -> None:
    adapter, file = tool.adapter(), tool.base / "data" / "one" / "mnemon.db"
    file.write_bytes(b"")
    with pytest.raises(StoreDamaged):
        await adapter.search(SPACE, SearchRequest(query="x"))
    file.unlink()
    with pytest.raises(StoreMissing):
        await adapter.graph(SPACE)
    assert not (tool.folder / "calls.jsonl").exists()


async def test_calls_of_one_base_run_one_at_a_time(tool: Tool) -> None:
    tool.replies(status={"out": {}, "sleep": 0.2})
    adapters = [tool.adapter(), tool.adapter()]
    began = anyio.current_time()
    async with anyio.create_task_group() as tasks:
        for adapter in adapters:
            tasks.start_soon(adapter.status, SPACE)
    assert anyio.current_time() - began >= 0.4


async def test_files_are_looked_up_and_removed_off_the_event_loop(
    tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[tuple[str, bool]] = []

    def watched(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*arguments: Any, **options: Any) -> Any:
            threads.append((name, threading.current_thread() is threading.main_thread()))
            return call(*arguments, **options)

        return noting

    module = "dsh_mnemon_provider_mnemon_native._client.find_binary"
    monkeypatch.setattr(module, watched("find", find_binary))
    monkeypatch.setattr(Path, "unlink", watched("unlink", Path.unlink))
    monkeypatch.setattr(Path, "rmdir", watched("rmdir", Path.rmdir))
    tool.replies(**{"import": {"out": {"imported": 1}}})
    await tool.adapter().import_draft(SPACE, [DraftInsight(content="one")], [])
    assert {name for name, _ in threads} >= {"find", "unlink", "rmdir"}
    assert not any(on_the_loop for _, on_the_loop in threads)


def until(happened: Callable[[], bool]) -> None:
    """Block until something has happened, or too long."""
    end = time.monotonic() + 20
    while not happened() and time.monotonic() < end:
        time.sleep(0.01)


async def test_a_draft_is_removed_when_its_import_is_cancelled(
    tool: Tool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    drafts = tmp_path / "drafts"
    drafts.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(drafts))
    tool.replies(**{"import": {"out": {}, "sleep": 30}})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tool.adapter().import_draft, SPACE, [DraftInsight(content="one")], [])
        record = tool.folder / "calls.jsonl"
        await anyio.to_thread.run_sync(until, record.exists)
        assert [*drafts.iterdir()]
        tasks.cancel_scope.cancel()
    assert [*drafts.iterdir()] == []


async def test_without_the_tool_nothing_is_ready(tool: Tool) -> None:
    adapter = tool.adapter(cli_path=str(tool.folder / "missing"))
    assert not adapter.ready()
    with pytest.raises(ProviderUnavailable):
        await adapter.forget(SPACE, "x")
    assert tool.adapter().ready()


def test_the_tool_is_looked_for_in_order(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    usual = home / ".local" / "bin" / "mnemon"
    usual.parent.mkdir(parents=True)
    shutil.copy(tool.path, usual)
    monkeypatch.setenv("HOME", str(home))
    nowhere: dict[str, str] = {"PATH": ""}
    assert find_binary(None, nowhere) == usual
    assert find_binary(None, {"PATH": str(tool.folder)}) == tool.path
    named = {"PATH": "", "MNEMON_CLI_PATH": str(tool.path)}
    assert find_binary(None, named) == tool.path
    assert find_binary("~/.local/bin/mnemon", named) == usual
    assert find_binary(str(tmp_path / "none"), named) is None
    usual.unlink()
    monkeypatch.setattr("dsh_mnemon_provider_mnemon_native._client._USUAL_PLACES", ())
    assert find_binary(None, nowhere) is None
    settings = NativeSettings(data_dir=tmp_path)
    assert Client(settings, max_insights=0, timeout_ms=1, env=lambda: nowhere).binary() is None


def test_every_method_is_there(make: Callable[[], CliAdapter]) -> None:
    assert make().id == "mnemon-native"
    assert make().score_semantics == "normalized-relevance"


@pytest.fixture
def make(tool: Tool) -> Callable[[], CliAdapter]:
    return tool.adapter
