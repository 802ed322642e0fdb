"""Recorded calls of the command line tool, replayed on the engine (spec/mnemon-native.md §14).

The engine is given the recorded ids, for the order of equals depends on them. Times are ignored;
wording of errors is never compared (D19).
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import pytest
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_provider_mnemon_native._compatible.intent import intent_override
from dsh_mnemon_provider_mnemon_native._embedding import Embedder
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore, StoreOptions
from dsh_mnemon_provider_mnemon_native._ranking import Query, Scope
from dsh_mnemon_provider_mnemon_native._records import Row
from dsh_mnemon_provider_mnemon_native._store.folders import Folders
from dsh_mnemon_provider_mnemon_native._store.opening import create_file
from dsh_mnemon_provider_mnemon_native._store.transaction import Session
from dsh_mnemon_provider_mnemon_native._vectors import pack
from dsh_mnemon_provider_mnemon_native._write.decay import days_since, effective_importance
from dsh_mnemon_provider_mnemon_native._write.drafts import Draft, checked
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    DraftEdge,
    DraftInsight,
    EmbeddingSettings,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.http import MockTransport, Request, Response

GOLDEN = Path(__file__).parent / "golden" / "mnemon-native"

SWITCHES = {"--no-diff", "--basic", "--readonly", "--dry-run", "--status", "--all", "--verbose"}

# Faults of the command line alone: its words, not the engine's.
USAGE = (
    "arg(s)",
    "flag needs an argument",
    "unknown command",
    "unknown flag",
    "unknown shorthand",
    "strconv",
    "read file",
    "parse JSON",
    "unsupported format",
    "invalid metadata JSON",
    "unsupported schema_version",
)

# What the engine leaves to the tool; here another program does it to the file.
OTHERS = {"gc", "embed"}

ONE = {"content": "one"}
DRAFTS: dict[str, Any] = {
    "bad-version.json": {"schema_version": "2", "insights": [ONE]},
    "empty.json": {"schema_version": "1", "insights": []},
    "no-content.json": {"schema_version": "1", "insights": [{}]},
    "bad-imp.json": {"schema_version": "1", "insights": [{**ONE, "importance": 9}]},
    "bad-date.json": {"schema_version": "1", "insights": [{**ONE, "created_at": "2026-01-01"}]},
    "bad-edge.json": {
        "schema_version": "1",
        "insights": [ONE, {"content": "two"}],
        "edges": [{"source_index": 0, "target_index": 5, "edge_type": "causal"}],
    },
    "self-edge.json": {
        "schema_version": "1",
        "insights": [ONE, {"content": "two"}],
        "edges": [{"source_index": 1, "target_index": 1, "edge_type": "causal"}],
    },
    "edge-type.json": {
        "schema_version": "1",
        "insights": [ONE, {"content": "two"}],
        "edges": [{"source_index": 0, "target_index": 1, "edge_type": "zzz"}],
    },
}


def load(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "transcript.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def draft_of(data: Mapping[str, Any], *, diff: bool) -> Draft:
    """Read the tool's file format."""

    def made(kind: Any, fields: Mapping[str, Any]) -> Any:
        known = {field.name for field in attrs.fields(kind)}
        values = {key: value for key, value in fields.items() if key in known}
        return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})

    insights = [made(DraftInsight, {"content": "", **one}) for one in data["insights"]]
    edges = [made(DraftEdge, one) for one in data.get("edges", ())]
    return checked(insights, edges, source=data.get("source"), diff=diff)


def new_ids(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the ids the tool gave to new insights, in order."""
    for case in cases:
        answer = case.get("stdout_json")
        name = next(iter(Call(case["argv"]).words), "")
        if name == "remember" and answer:
            yield answer["id"]
        elif name == "import" and answer:
            yield from (one["id"] for one in answer["results"] if one["action"] == "added")


def embedding_service(vectors: Mapping[str, Sequence[float]]) -> MockTransport:
    """Answer as Ollama does, with the recorded vectors."""

    def answer(request: Request) -> Response:
        if request.method == "GET":
            return Response(200, json={"models": []})
        text = json.loads(request.content)["input"]
        if text not in vectors:
            return Response(500, json={"error": "no vector"})
        return Response(200, json={"embeddings": [vectors[text]]})

    return MockTransport(answer)


class Switched(Embedder):
    """An embedder that is there for some calls and not for others."""

    on = False

    async def vector(self, text: str) -> tuple[float, ...] | None:
        return await super().vector(text) if self.on else None


class Call:
    """One command line taken apart."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.words: list[str] = []
        self.options: dict[str, str] = {}
        rest = iter(argv)
        for word in rest:
            if word in SWITCHES:
                self.options[word] = ""
            elif word.startswith("--"):
                self.options[word] = next(rest, "")
            else:
                self.words.append(word)

    def get(self, name: str, default: str = "") -> str:
        return self.options.get(name, default)

    def has(self, name: str) -> bool:
        return name in self.options

    def number(self, name: str, default: int) -> int:
        return int(self.get(name, str(default)))

    @property
    def scope(self) -> Scope:
        return Scope(category=self.options.get("--cat"), source=self.options.get("--source"))

    def list(self, name: str) -> tuple[str, ...]:
        return tuple(part for part in self.get(name).split(",") if part)


class Replay:
    """The command line tool played by the engine, and its answers compared with the recorded."""

    def __init__(self, root: Path, folder: Path, ids: Iterator[str]) -> None:
        self.folders, self.folder, self.ids = Folders(root), folder, ids
        file = folder / "vectors.json"
        vectors = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
        self.vectors: Mapping[str, Sequence[float]] = vectors or {}
        self.time = datetime(2026, 11, 30, 9, 26, 6, 250_000, tzinfo=UTC)
        self.embedder = (
            None
            if vectors is None
            else Switched(
                EmbeddingSettings(enabled=True, endpoint="http://127.0.0.1:9"),
                transport=embedding_service(vectors),
            )
        )
        self.store: MnemonStore | None = None

    async def opened(self, call: Call) -> MnemonStore:
        """Return the store a call works on; a read-only call gets one of its own."""
        path = self.folders.database(call.get("--store", self.folders.default()))
        if self.store is None or self.store.path != path or call.has("--readonly"):
            await self.aclose()
            options = StoreOptions(
                clock=lambda: self.time,
                new_id=lambda: next(self.ids),
                embedder=self.embedder,
                read_only=call.has("--readonly"),
            )
            if not options.read_only:
                path.parent.mkdir(parents=True, exist_ok=True)
                if not path.exists():
                    # The tool makes a store that is named for the first time.
                    create_file(path)
            self.store = MnemonStore(path, options)
        return self.store

    async def aclose(self) -> None:
        if self.store is not None:
            await self.store.aclose()
            self.store = None

    def has_draft(self, name: str) -> bool:
        return name in DRAFTS or (self.folder / name).exists()

    async def play(self, case: Mapping[str, Any]) -> None:
        self.time += timedelta(seconds=1)
        if self.embedder is not None:
            self.embedder.on = "MNEMON_EMBED_ENDPOINT" in case.get("env", {})
        call = Call(case["argv"])
        name, *words = call.words or [""]
        if case["exit"]:
            if name in OTHERS or any(mark in case["stderr_first_line"] for mark in USAGE):
                return
            if name == "import" and not self.has_draft(Path(words[0]).name):
                return  # refused for a content that is not recorded
            with pytest.raises(MnemonError):
                await getattr(self, f"run_{name}")(call, words, {})
            return
        await getattr(self, f"run_{name}")(call, words, case)
        if call.has("--readonly"):
            await self.aclose()

    def same(self, expected: Sequence[Mapping[str, Any]], actual: Sequence[Row]) -> None:
        """Compare rows, in order."""
        assert [(one["id"], one["content"]) for one in expected] == [
            (row.id, row.content) for row in actual
        ]
        for one, row in zip(expected, actual, strict=True):
            for key in {"category", "importance", "access_count", "source"} & one.keys():
                assert getattr(row, key) == one[key], key
            for key in {"tags", "entities"} & one.keys():
                assert list(getattr(row, key)) == one[key]

    # -- commands ---------------------------------------------------------------------------------

    async def run_store(self, call: Call, words: list[str], case: Mapping[str, Any]) -> None:
        operation, *names = words
        if operation == "list":
            default = self.folders.default()
            listed = [f"{'* ' if n == default else '  '}{n}" for n in self.folders.stores()]
            assert listed == [
                line for line in case["stdout_text"].splitlines() if not line.startswith("  (")
            ]
        elif operation == "create":
            self.folders.create(names[0])
        elif operation == "set":
            self.folders.set_default(names[0])
        else:
            self.folders.remove(names[0])

    async def run_status(self, call: Call, words: list[str], case: Mapping[str, Any]) -> None:
        store = await self.opened(call)
        counted, expected = await store.status(), case["stdout_json"]
        for key in ("total_insights", "deleted_insights", "edge_count", "oplog_count"):
            assert getattr(counted, key) == expected[key], key
        assert counted.by_category == expected["by_category"]
        found = [(one.entity, one.count) for one in counted.top_entities or ()]
        recorded = [(one["entity"], one["count"]) for one in expected["top_entities"]]
        assert [count for _, count in found] == [count for _, count in recorded]
        least = min((count for _, count in recorded), default=0)
        assert {one for one in found if one[1] > least} == {
            one for one in recorded if one[1] > least
        }

    async def run_log(self, call: Call, words: list[str], case: Mapping[str, Any]) -> None:
        entries = await (await self.opened(call)).log(call.number("--limit", 20))
        lines = case["stdout_text"].splitlines()[2:]
        assert [entry.operation for entry in entries] == [line.split()[1] for line in lines]

    async def run_import(self, call: Call, words: list[str], case: Mapping[str, Any]) -> None:
        name = Path(words[0]).name
        file = self.folder / name
        data = json.loads(file.read_text(encoding="utf-8")) if file.exists() else DRAFTS[name]
        draft = draft_of(data, diff=not call.has("--no-diff"))
        if call.has("--dry-run"):
            assert f"{len(draft.entries)} insights, {len(draft.edges)}" in case["stdout_text"]
            return
        done, expected = await (await self.opened(call)).import_draft(draft), case["stdout_json"]
        assert done.count("added") == expected["imported"]
        assert done.count("skipped") == expected["skipped"]
        assert done.edges_inserted == expected["edges_inserted"]
        assert (len(done.faults), list(done.pruned)) == (expected["errors"], [])
        for one in expected["results"]:
            written = done.results[one["index"]]
            assert (written.id, written.action) == (one["id"], one["action"])
            assert written.content == one["content"]

    async def run_remember(self, call: Call, words: list[str], case: Mapping[str, Any]) -> None:
        text = " ".join(words)
        if recipe := re.fullmatch(r"(.)\*(\d+)", text):
            text = recipe[1] * int(recipe[2])
        store = await self.opened(call)
        new = NewInsight(
            content=text,
            category=call.get("--cat", "general"),
            importance=call.number("--imp", 3),
            source=call.get("--source", "user"),
            tags=call.list("--tags"),
            entities=call.list("--entities"),
            entity_mode=call.get("--entity-mode", "merge"),  # type: ignore[arg-type]
            diff=not call.has("--no-diff"),
        )
        done, expected = await store.remember(new), case["stdout_json"]
        outcome = done.outcome
        assert outcome.action == expected["action"]
        assert outcome.suggestion == expected["diff_suggestion"]
        if outcome.row is None:
            assert outcome.replaced_id == expected["replaced_id"]
            return
        self.same([expected], [outcome.row])
        assert attrs.asdict(outcome.edges) == expected["edges_created"]
        assert outcome.embedded == expected["embedded"]
        assert outcome.row.effective_importance == pytest.approx(
            expected["effective_importance"], abs=1e-5
        )
        near = expected["semantic_candidates"]
        self.same(near, [one.row for one in done.semantic])
        for one, candidate in zip(near, done.semantic, strict=True):
            assert candidate.similarity == pytest.approx(one["similarity"], abs=1e-6)
            assert candidate.auto_linked == one["auto_linked"]
        causes = expected["causal_candidates"]
        self.same(causes, [one.row for one in done.causal])
        for one, candidate in zip(causes, done.causal, strict=True):
            assert candidate.hop == one["hop"]
            assert candidate.via == one["via_edge"]
            assert candidate.signal == one["causal_signal"]
            assert candidate.sub_type == one["suggested_sub_type"]

    async def run_link(self, call: Call, words: list[str], case: Mapping[str, Any]) -> None:
        made = await (await self.opened(call)).link(
            *words,
            type=call.get("--type", "semantic"),
            weight=float(call.get("--weight", "0.5")),
            metadata=json.loads(call.get("--meta", "{}")),
        )
        expected = case["stdout_json"]
        assert made.type == expected["edge_type"]
        assert made.weight == expected["weight"]
        assert made.metadata == expected["metadata"]

    async def run_forget(self, call: Call, words: list[str], case: Mapping[str, Any]) -> None:
        await (await self.opened(call)).forget(words[0])

    def by_others(self, path: Path, operation: str, changes: Mapping[str, Any]) -> None:
        """Change insights as another program does, by id, and log it."""
        assignments = (
            "access_count = access_count + 3, last_accessed_at = :time, updated_at = :time"
        )
        if operation == "embed:backfill":
            assignments = "embedding = :value, updated_at = :time"
        time = self.time.strftime("%Y-%m-%dT%H:%M:%SZ")
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            for id, value in changes.items():
                values = {"id": id, "time": time, "value": value}
                connection.execute(f"UPDATE insights SET {assignments} WHERE id = :id", values)
            for id in changes or [None]:
                connection.execute(
                    "INSERT INTO oplog (operation, insight_id, created_at) VALUES (?, ?, ?)",
                    (operation, id, time),
                )
            connection.execute("COMMIT")

    async def run_gc(self, call: Call, words: list[str], case: Mapping[str, Any]) -> None:
        store, expected = await self.opened(call), case["stdout_json"]
        if call.has("--keep"):
            self.by_others(store.path, "gc_keep", {expected["id"]: None})
            kept = await store.show(expected["id"])
            assert (kept.content, kept.access_count) == (
                expected["content"],
                expected["new_access"],
            )
            return

        def weights(session: Session) -> list[tuple[float, int, Row]]:
            found = []
            for row in session.rows.select("WHERE deleted_at IS NULL"):
                days, edges = days_since(row, self.time), session.rows.degree(row.id)
                weight = effective_importance(row.importance, row.access_count, days, edges)
                found.append((weight, edges, row))
            return found

        weighed = await store._read(weights)
        threshold = float(call.get("--threshold", "0.5"))
        weak = [
            one
            for one in sorted(weighed, key=lambda one: one[0])
            if one[0] < threshold and one[2].importance < 4 and one[2].access_count < 3
        ][: call.number("--limit", 20)]
        candidates = expected["candidates"] or []
        assert len(weighed) == expected["total_insights"]
        assert [edges for _, edges, _ in weak] == [one["edge_count"] for one in candidates]
        self.same([one["insight"] for one in candidates], [row for _, _, row in weak])
        self.by_others(store.path, "gc", {})

    async def run_related(self, call: Call, words: list[str], case: Mapping[str, Any]) -> None:
        steps = await (await self.opened(call)).related(
            words[0],
            depth=call.number("--depth", 2),
            type=call.options.get("--edge"),
        )
        expected = case["stdout_json"]
        self.same(expected, [step.row for step in steps])
        assert [(step.depth, step.via) for step in steps] == [
            (one["depth"], one["via_edge_type"]) for one in expected
        ]

    async def run_search(self, call: Call, words: list[str], case: Mapping[str, Any]) -> None:
        store = await self.opened(call)
        found = await store.search(" ".join(words), call.number("--limit", 10))
        expected = case["stdout_json"] or []
        self.same(expected, [row for row, _ in found])
        assert [score for _, score in found] == pytest.approx([one["score"] for one in expected])

    async def run_recall(self, call: Call, words: list[str], case: Mapping[str, Any]) -> None:
        store, limit = await self.opened(call), call.number("--limit", 10)
        if call.has("--basic"):
            found = await store.basic(" ".join(words), limit, call.scope)
            self.same(case["stdout_json"] or [], found)
            return
        intent = intent_override(call.options.get("--intent"))
        query = Query(text=" ".join(words), limit=limit, scope=call.scope, intent=intent)
        recalled, expected = await store.recall(query), case["stdout_json"]["results"]
        if "insight" in (expected or [{}])[0]:
            expected = [{**one, **one["insight"]} for one in expected]
            expected = [{k: v for k, v in one.items() if k != "access_count"} for one in expected]
            assert [ranked.score for _, ranked in recalled.rows] == pytest.approx(
                [one["score"] for one in expected], abs=1e-3
            )
        self.same(expected, [row for row, _ in recalled.rows])

    async def run_embed(self, call: Call, words: list[str], case: Mapping[str, Any]) -> None:
        store, expected = await self.opened(call), case["stdout_json"]
        if call.has("--status"):
            await store.status()
            vectors = read(store.path, "SELECT id FROM insights WHERE embedding NOTNULL")
            assert len(vectors) == expected["embedded"]
            return
        lacking = read(
            store.path,
            "SELECT id, content FROM insights WHERE embedding IS NULL AND deleted_at IS NULL",
        )
        made = {id: pack(self.vectors[content]) for id, content in lacking}
        assert (len(made), 0) == (expected.get("succeeded", 0), expected.get("failed", 0))
        if made:
            self.by_others(store.path, "embed:backfill", made)

    async def run_viz(self, call: Call, words: list[str], case: Mapping[str, Any]) -> None:
        if "viz_nodes" not in case:
            return
        page = await (await self.opened(call)).graph(limit=1_000)
        recorded = [node.split('"')[1] for node in case["viz_nodes"]]
        assert recorded == [row.id for row in page.rows]
        ends = [edge.split('"')[1::2][:2] for edge in case["viz_edges"]]
        assert ends == [[edge.source_id, edge.target_id] for edge in page.edges]


def read(path: Path, query: str) -> list[tuple[Any, ...]]:
    """Ask a store's file apart from the engine."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


EDGES = (
    "SELECT source_id, target_id, edge_type, round(weight, 2), metadata FROM edges ORDER BY rowid"
)
VECTORS = "SELECT id, embedding FROM insights WHERE embedding NOTNULL ORDER BY rowid"
COLUMNS = (
    "SELECT id, content, category, importance, tags, entities, source, access_count,"
    " deleted_at IS NULL FROM insights ORDER BY rowid"
)


@pytest.mark.requirement("native:golden:transcript")
@pytest.mark.parametrize("name", ["", "embedded"])
async def test_recorded_calls_have_the_recorded_outcome(tmp_path: Path, name: str) -> None:
    folder = GOLDEN / name
    cases = load(folder)
    replay = Replay(tmp_path, folder, new_ids(cases))
    for number, case in enumerate(cases, 1):
        try:
            await replay.play(case)
        except (AssertionError, pytest.fail.Exception) as error:
            error.add_note(f"call {number}: {case['argv']}")
            raise
    await replay.aclose()
    written, recorded = replay.folders.database("default"), tmp_path / "recorded.db"
    shutil.copy(folder / "store.db", recorded)
    for query in (COLUMNS, VECTORS, EDGES):
        assert read(written, query) == read(recorded, query)
