"""The Provider over a ``mnemon`` command line tool (spec/mnemon-native.md §13)."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, cast

import anyio
import attrs
from anyio.to_thread import run_sync
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.instant import iso_utc, utc_now
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    DraftEdge,
    DraftInsight,
    EntityCount,
    Graph,
    Insight,
    ListRequest,
    NativeAdapter,
    NativeSettings,
    Page,
    ProviderError,
    RememberRequest,
    Result,
    ScoreSemantics,
    SearchAnswer,
    SearchRequest,
    SpaceStatus,
    SpaceView,
    WriteOutcomeUnknown,
)

from dsh_mnemon_provider_mnemon_native._client import Client
from dsh_mnemon_provider_mnemon_native._config import Config
from dsh_mnemon_provider_mnemon_native._json import object_of
from dsh_mnemon_provider_mnemon_native._mapping import new_insight
from dsh_mnemon_provider_mnemon_native._replies import insights, read_graph, read_stats
from dsh_mnemon_provider_mnemon_native._store.folders import Folders
from dsh_mnemon_provider_mnemon_native._store.opening import check_file
from dsh_mnemon_provider_mnemon_native._write.drafts import checked
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight, check_insight
from dsh_mnemon_provider_mnemon_native._write.links import check_ends
from dsh_mnemon_provider_mnemon_native.descriptor import PROVIDER_ID

__all__ = ("CliAdapter",)

_SCHEMA_VERSION: Final = "1"
"""The version of drafts."""

_EVERYTHING: Final = 100_000
_ARCHIVE: Final = "dsh-mnemon-runtime-archive"
_MERGE: Final = "dsh-mnemon-merge"


class CliAdapter(NativeAdapter):
    """The operations of the tool; what it prints is bounded, so large stores need the engine."""

    id = PROVIDER_ID
    score_semantics: ScoreSemantics = "normalized-relevance"

    def __init__(self, native: NativeSettings, config: Config, *, timeout_ms: int) -> None:
        self._native, self._folders = native, Folders(native.data_dir)
        self._client = Client(native, max_insights=config.max_insights, timeout_ms=timeout_ms)

    async def _ask(self, space: SpaceView, *arguments: str, write: bool = False) -> Any:
        # The tool would make a store in place of one that is gone.
        await run_sync(check_file, self._folders.database(space.id))
        return await self._client.json(space.id, *arguments, write=write)

    # -- the Space --------------------------------------------------------------------------------

    async def status(self, space: SpaceView) -> SpaceStatus:
        """Count what a store holds."""
        try:
            return SpaceStatus(healthy=True, stats=read_stats(await self._ask(space, "status")))
        except ProviderError as error:
            return SpaceStatus(healthy=False, error=error.message)

    async def search(self, space: SpaceView, request: SearchRequest) -> SearchAnswer:
        """Search by the tool's ranking, by keywords, or for contents that hold the text."""
        flags = ["--limit", str(request.limit)]
        if request.mode == "keyword":
            answer = await self._ask(space, *_command("search", request.query, flags))
            return SearchAnswer(results=tuple(insights(answer)))
        given = {"--cat": request.category, "--source": request.source}
        if request.mode == "basic":
            flags.append("--basic")
        else:
            given["--intent"] = request.intent
        flags += [part for flag, value in given.items() if value for part in (flag, value)]
        answer = await self._ask(space, *_command("recall", request.query, flags))
        return SearchAnswer(results=tuple(insights(answer)), remark=_remark(answer))

    async def list(self, space: SpaceView, request: ListRequest) -> Page:
        """Return one page; the tool lists from the beginning every time."""
        start = _place(request.cursor)
        wanted, category = (request.query or "").lower(), request.category
        found = [
            insight
            for insight in await self._all(space, _EVERYTHING)
            if category in {None, insight.category}
            and (wanted in insight.content.lower() or wanted in insight.id.lower())
        ]
        end = start + request.limit
        return Page(
            items=tuple(found[start:end]), next_cursor=str(end) if len(found) > end else None
        )

    async def metadata_sample(self, space: SpaceView, limit: int) -> Sequence[Insight]:
        """Return the most important insights."""
        return await self._all(space, limit)

    async def _all(self, space: SpaceView, limit: int) -> Sequence[Insight]:
        listing = ("recall", "", "--basic", "--limit", str(limit))
        return insights(await self._ask(space, "--readonly", *listing) or [])

    async def graph(self, space: SpaceView, cursor: str | None = None) -> Graph:
        """Return the whole graph, read from the page the tool draws."""
        del cursor  # there is one page
        await run_sync(check_file, self._folders.database(space.id))
        drawing = ("viz", "--format", "html", "--output", "-")
        page = await self._client.text(space.id, *drawing)
        known = {insight.id: insight for insight in await self._all(space, _EVERYTHING)}
        nodes, edges = await run_sync(read_graph, page, known)
        return Graph(nodes=nodes, edges=edges, generated_at=iso_utc(utc_now()))

    async def entities(self, space: SpaceView, limit: int) -> Sequence[EntityCount]:
        """Return the entities named most; the tool tells of twenty."""
        named = read_stats(await self._ask(space, "status")).top_entities or ()
        return sorted(named, key=lambda one: (-one.count, one.entity))[:limit]

    async def related(
        self, space: SpaceView, id: str, depth: int, edge: str | None = None
    ) -> Sequence[Insight]:
        """Walk the edges from one insight."""
        flags = ["--depth", str(depth), *(["--edge", edge] if edge else [])]
        return insights(await self._ask(space, *_command("related", id, flags)))

    # -- writing ----------------------------------------------------------------------------------

    async def remember(self, space: SpaceView, request: RememberRequest) -> Result:
        """Keep one insight.

        Raises:
            InvalidInput: A limit of the tool is broken, its 8,000 bytes too; nothing was written.
        """
        new = _checked(request)
        flags = ["--cat", new.category, "--imp", str(new.importance), "--source", new.source]
        for flag, values in (("--tags", new.tags), ("--entities", new.entities)):
            flags += [flag, ",".join(values)] if values else []
        answer = await self._ask(space, *_command("remember", new.content, flags), write=True)
        return _result(answer)

    async def remember_many(
        self, space: SpaceView, requests: Sequence[RememberRequest]
    ) -> Sequence[Result]:
        """Keep originals as they are: those that are not there yet, as one import.

        Raises:
            WriteOutcomeUnknown: The tool did not report every insight as added; some may be.
        """
        new = [_checked(request) for request in requests]
        if not new:
            return []
        kept: dict[str, str] = {}
        for insight in await self._all(space, _EVERYTHING):
            kept.setdefault(insight.content, insight.id)
        missing = list({one.content: one for one in new if one.content not in kept}.values())
        added = await self._import_originals(space, missing) if missing else {}
        results: list[Result] = []
        for one in new:
            # Equal contents of one batch are written once.
            action = "added" if one.content not in kept else "skipped"
            id = kept.setdefault(one.content, added.get(one.content, ""))
            results.append({"action": action, "id": id, "content": one.content})
        return results

    async def _import_originals(
        self, space: SpaceView, missing: Sequence[NewInsight]
    ) -> dict[str, str]:
        rows = [_row(attrs.asdict(one)) for one in missing]
        draft = {"schema_version": _SCHEMA_VERSION, "source": _ARCHIVE, "insights": rows}
        answer = await self._import(space, draft, "--no-diff")
        results = cast("Sequence[Mapping[str, Any]]", answer.get("results") or ())
        done = {one["content"]: one["id"] for one in results if one.get("action") == "added"}
        counts = [answer.get(key, 0) for key in ("imported", "errors", "updated", "skipped")]
        if counts != [len(missing), 0, 0, 0] or done.keys() != {one.content for one in missing}:
            raise WriteOutcomeUnknown(
                "mnemon import gave an invalid or partial result; some originals may be stored"
            )
        return done

    async def import_draft(
        self, space: SpaceView, insights: Sequence[DraftInsight], edges: Sequence[DraftEdge]
    ) -> Result:
        """Import insights and edges; identical content is skipped."""
        await self.check_draft(insights, edges)
        draft = {
            "schema_version": _SCHEMA_VERSION,
            "source": _MERGE,
            "insights": [_row(attrs.asdict(insight)) for insight in insights],
            "edges": [_row(attrs.asdict(edge)) for edge in edges],
        }
        answer = await self._import(space, draft)
        failed = [
            {"index": one.get("index"), "code": "import-failed", "message": str(one["error"])}
            for one in answer.get("results") or ()
            if one.get("error")
        ]
        keys = ("imported", "skipped", "updated", "edges_inserted")
        counts = {key: answer.get(key, 0) for key in keys}
        changed = counts["imported"] or counts["edges_inserted"]
        return {**counts, "action": "imported" if changed else "skipped", "errors": failed}

    async def check_draft(
        self, insights: Sequence[DraftInsight], edges: Sequence[DraftEdge]
    ) -> None:
        """Refuse what the tool would refuse, and name the place, which the tool does not."""
        await run_sync(checked, insights, edges)

    async def _import(self, space: SpaceView, draft: Any, *flags: str) -> Mapping[str, Any]:
        async with _draft_file(draft) as file:
            return _result(await self._ask(space, "import", str(file), *flags, write=True))

    async def link(
        self,
        space: SpaceView,
        source_id: str,
        target_id: str,
        type: str,
        weight: float,
        reason: str | None = None,
    ) -> Result:
        """Join two insights in both directions; one is not joined to itself, as the tool would."""
        check_ends(source_id, target_id)
        flags = ["--type", type, "--weight", str(weight)]
        flags += ["--meta", json.dumps({"reason": reason}, ensure_ascii=False)] if reason else []
        ends = ("--", source_id, target_id)
        return _result(await self._ask(space, "link", *flags, *ends, write=True))

    async def forget(self, space: SpaceView, id: str) -> Result:
        """Hide an insight from every read; its row stays in the file."""
        return _result(await self._ask(space, *_command("forget", id, []), write=True))

    # -- stores -----------------------------------------------------------------------------------

    def ready(self) -> bool:
        """Whether the tool is there."""
        return self._client.binary() is not None

    async def create_store(self, store_id: str) -> None:
        """Make an empty store."""
        self._folders.database(store_id)
        await self._client.text(store_id, "store", "create", store_id, write=True)

    async def set_default_store(self, store_id: str) -> None:
        """Make a store the one the tool works on."""
        self._folders.database(store_id)
        await self._client.text(store_id, "store", "set", store_id, write=True)

    async def remove_store(self, store_id: str) -> None:
        """Delete a store with all it holds."""
        self._folders.database(store_id)
        await self._client.text(store_id, "store", "remove", store_id, write=True)

    async def embedding_status(self) -> Mapping[str, Any]:
        """Tell what the tool knows of embeddings in its default store."""
        settings = self._native.embedding
        status: dict[str, Any] = {
            "enabled": settings.enabled,
            "available": False,
            "model": settings.model,
            "endpoint": settings.endpoint,
            "protocol": settings.protocol,
        }
        try:
            store = await run_sync(self._folders.default)
            answer = _result(await self._client.json(store, "embed", "--status"))
        except ProviderError as error:
            return {**status, "error": error.message}
        keys = ("embedding_available", "ollama_available")
        status["available"] = any(answer.get(key) is True for key in keys)
        return status


def _command(name: str, word: str, flags: Sequence[str]) -> list[str]:
    """Return a command; a word that looks like a flag stands behind the end of the flags."""
    return [name, *flags, "--", word] if word.startswith("-") else [name, word, *flags]


def _checked(request: RememberRequest) -> NewInsight:
    """Return what to write, within the tool's limits, an archived original too (D38)."""
    return check_insight(attrs.evolve(new_insight(request), exact=False))


_DRAFT_FIELDS: Final = frozenset(
    (
        *("content", "category", "importance", "tags", "entities", "source", "created_at"),
        *("source_index", "target_index", "edge_type", "weight", "reason"),
    )
)


def _row(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return an insight or an edge of a draft, without what is not given."""
    return {key: value for key, value in fields.items() if key in _DRAFT_FIELDS and value}


@asynccontextmanager
async def _draft_file(draft: Any) -> AsyncGenerator[Path]:
    """Hold a draft in a file that only this user may read."""
    file = await run_sync(_private_file, draft)
    try:
        yield file
    finally:
        with anyio.CancelScope(shield=True):
            await run_sync(_remove, file)


def _remove(file: Path) -> None:
    file.unlink()
    file.parent.rmdir()


def _private_file(draft: Any) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="dsh-mnemon-"))
    file = folder / "draft.json"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(draft, stream, ensure_ascii=False)
    return file


def _result(answer: Any) -> Mapping[str, Any]:
    """Return an answer that is an object.

    Raises:
        WriteOutcomeUnknown: It is none.
    """
    if not isinstance(answer, Mapping):
        raise WriteOutcomeUnknown("mnemon did not answer with an object")
    return cast("Mapping[str, Any]", answer)


def _remark(answer: Any) -> str | None:
    hint = object_of(answer).get("hint")
    return hint if isinstance(hint, str) else None


def _place(cursor: str | None) -> int:
    if cursor is not None and not (cursor.isascii() and cursor.isdecimal()):
        raise InputError("cursor-invalid", "this cursor is not one of this query; begin again")
    return int(cursor or 0)
