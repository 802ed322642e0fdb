"""The part of the Provider contract that is about reading."""

# ruff: noqa: S101 - a contract is made of assertions

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from dsh_mnemon_testing.interruption import MOMENTS, interrupt

from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ListRequest,
    ProviderAdapter,
    SearchRequest,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.fields import read_settings
from dsh_mnemon_source_memory_spaces.testing._hooks import MODES, ProviderHooks, RunningProvider
from dsh_mnemon_source_memory_spaces.testing._judgement import check_graph, check_insights

Read = tuple[str, Callable[[], Awaitable[Any]]]


class ProviderReads(ProviderHooks, contract=True):
    """What a Provider may answer to a question."""

    @pytest.mark.parametrize("mode", MODES)
    async def test_search_finds_what_was_kept(self, tmp_path: Path, mode: str) -> None:
        """Every mode finds the sample a query is about, well formed, within the limit.

        If it fails: a limit of 1 gives one result, not none; an unknown mode is no error but served
        as well as you can; scores are what the manifest promises, and a missing score is ``None``.
        If the service needs time, wait in `settle`.
        """
        running = await self.filled(tmp_path)
        self.needs(running, "search", "remember")
        for sample in self.sample_searches():
            wanted = self.samples()[sample.finds].content
            found = await running.search(sample.query, mode=mode, limit=10)
            check_insights(found, running.manifest, f"search {sample.query!r}")
            contents = [item.content for item in found]
            derived = running.manifest.capabilities.write_mode != "exact"
            missed = f"{mode} search {sample.query!r} does not find {wanted!r}"
            assert wanted in contents or (derived and contents), missed
        everything = " ".join(sample.query for sample in self.sample_searches())
        for limit in (1, 2):
            found = await running.search(everything, mode=mode, limit=limit)
            assert 0 < len(found) <= limit, f"{len(found)} results for a limit of {limit}"

    async def test_search_finds_nothing_for_other_words(self, tmp_path: Path) -> None:
        """A query none of whose words occurs finds nothing (D63).

        If it fails: do not stretch scores over the result set, and do not fill up to the limit with
        recent or important memories. Set ``is_lexical = False`` for a service that ranks by
        similarity and has no floor.
        """
        running = await self.filled(tmp_path)
        self.needs(running, "search", "remember")
        if not self.is_lexical:
            pytest.skip("is_lexical = False")
        for mode in MODES:
            assert await running.search("zyxwvutsr qqqjjjxx", mode=mode) == [], mode

    async def test_an_empty_space_answers(self, tmp_path: Path) -> None:
        """A Space that holds nothing is healthy and answers every question with nothing.

        If it fails: an empty result is no error. Mind the statistics over no rows.
        """
        running = await self.started(tmp_path)
        flags = running.manifest.capabilities
        health = await running.adapter.status(running.space)
        assert health.healthy, health.error
        if flags.search:
            assert await running.search("anything at all") == []
        if flags.browse:
            assert await running.items() == []
            assert list(await running.adapter.metadata_sample(running.space, 6)) == []
        if flags.graph:
            graph = await running.adapter.graph(running.space)
            assert (graph.nodes, graph.edges) == ((), ())
        if flags.entities and _overrides(running.adapter, "entities"):
            assert list(await running.adapter.entities(running.space, 10)) == []

    async def test_list_shows_everything_once(self, tmp_path: Path) -> None:
        """Pages of one, followed by their cursors, are the whole listing, each item once.

        If it fails: order by something that does not change between pages, with the id as the last
        tie-breaker, and put into the cursor where the page ended rather than an offset that a new
        memory shifts. A Provider that cannot page answers one page without a cursor.
        """
        running = await self.filled(tmp_path)
        self.needs(running, "browse", "remember")
        whole = await running.items()
        check_insights(whole, running.manifest, "list")
        if running.manifest.capabilities.write_mode == "exact":
            kept = sorted(sample.content for sample in self.samples())
            assert sorted(item.content for item in whole) == kept
        seen: list[str] = []
        cursor: str | None = None
        for _ in range(len(whole) + 1):
            page = await running.adapter.list(running.space, ListRequest(limit=1, cursor=cursor))
            assert len(page.items) <= 1, "list gives more than its limit"
            seen += [item.id for item in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
            assert 0 < len(cursor) <= 2_000, "a cursor has 1..2,000 characters"
        if cursor is None and len(seen) > 1:
            assert seen == [item.id for item in whole]
        assert len(seen) == len(set(seen))

    async def test_list_filters_by_category(self, tmp_path: Path) -> None:
        """Asked for a category, a listing shows that category only.

        If it fails: compare ``request.category`` before the page is cut. A service that has no
        categories gives items without one; the Source filters those itself.
        """
        running = await self.filled(tmp_path)
        self.needs(running, "browse", "remember")
        request = ListRequest(category="preference")
        found = (await running.adapter.list(running.space, request)).items
        assert {item.category for item in found} <= {"preference", None}

    async def test_metadata_sample_is_small(self, tmp_path: Path) -> None:
        """A sample for titles and descriptions holds at most what was asked.

        If it fails: cut ``metadata_sample`` to its limit.
        """
        running = await self.filled(tmp_path)
        self.needs(running, "browse", "remember")
        found = await running.adapter.metadata_sample(running.space, 2)
        check_insights(found, running.manifest, "metadata_sample")
        assert 0 < len(found) <= 2

    async def test_graph_joins_what_it_shows(self, tmp_path: Path) -> None:
        """Nodes occur once, have a colour, and edges join nodes of the graph.

        If it fails: leave out edges to forgotten memories, and write colours as ``#rrggbb``.
        """
        running = await self.filled(tmp_path)
        self.needs(running, "graph", "remember")
        graph = await running.adapter.graph(running.space)
        check_graph(graph)
        assert graph.nodes, "a filled Space has no nodes"

    async def test_entities_are_counted(self, tmp_path: Path) -> None:
        """The entities named most come first, at most as many as asked.

        If it fails: count live memories only, order by count, largest first, and cut to ``limit``.
        A Provider without `entities` gives them as ``top_entities`` of `status`.
        """
        running = await self.filled(tmp_path)
        self.needs(running, "entities", "remember")
        if _overrides(running.adapter, "entities"):
            found = list(await running.adapter.entities(running.space, 2))
        else:
            stats = (await running.adapter.status(running.space)).stats
            assert stats is not None, "neither entities() nor statistics"
            found = list(stats.top_entities or ())[:2]
        counts = [item.count for item in found]
        assert found, "a filled Space names no entity"
        assert len(found) <= 2
        assert counts == sorted(counts, reverse=True)
        assert min(counts) > 0

    async def test_related_starts_from_a_known_memory(self, tmp_path: Path) -> None:
        """A walk does not return its start, keeps to its depth, and an unknown start is not found.

        If it fails: leave the start out, count ``depth`` in edges from 1, nearest first, and answer
        an unknown id with ``ProviderNotFound`` or with nothing.
        """
        running = await self.filled(tmp_path)
        self.needs(running, "related", "browse", "remember")
        for start in await running.items():
            for depth in (1, 5):
                found = await running.adapter.related(running.space, start.id, depth)
                check_insights(found, running.manifest, "related")
                assert start.id not in [item.id for item in found], "a walk returns its start"
                depths = [item.depth for item in found if item.depth is not None]
                assert depths == sorted(depths), "the nearest come first"
                assert all(1 <= steps <= depth for steps in depths)
        unknown = running.adapter.related(running.space, "no-such-memory", 2)
        assert not await self.refused(unknown)

    async def test_discovered_namespaces_are_distinct(self, tmp_path: Path) -> None:
        """Every namespace comes once, with an id, and settings its memory fields accept.

        If it fails: follow the pages to their end, and give in ``connection`` values of
        memory-scoped fields only. A listing that fails must raise: what is missing is removed.
        """
        running = await self.started(tmp_path)
        if not _overrides(running.adapter, "discover"):
            pytest.skip("no discover()")
        found = await running.adapter.discover(running.fixture.authority.service())
        ids = [item.external_id for item in found]
        assert len(ids) == len(set(ids)), "a namespace comes twice"
        for item in found:
            assert 0 < len(item.external_id) <= 2_000
            assert len(item.name) <= 100
            assert len(item.description) <= 1_000
            read_settings(running.manifest, "memory", item.connection)

    async def test_cancelled_reads_end_as_cancelled(self, tmp_path: Path) -> None:
        """A read that is cancelled ends soon, is no answer, and harms no later one.

        If it fails: look for ``except BaseException``, for an unhealthy status made of a
        cancellation, for a lock or a connection that is not given back. Work in a thread must be
        short, or abandoned on purpose.
        """
        running = await self.filled(tmp_path)
        for label, call in self._reads(running):
            expected = await call()
            for moment in MOMENTS:
                ending = await interrupt(call, moment)
                where = f"{label}, cancelled after {moment} turns"
                assert ending.error is None, f"{where}, raised {ending.error!r}"
                assert ending.seconds <= self.patience, f"{where}, went on for too long"
                if ending.returned:
                    assert ending.value == expected, f"{where}, answered something else"
            assert await call() == expected, f"{label} answers differently afterwards"

    async def test_reads_at_once_do_not_mix(self, tmp_path: Path) -> None:
        """Reads of two Spaces at the same time answer what they answer one by one.

        If it fails: an adapter keeps the Space, the query or a cursor in an attribute, or shares a
        database connection between threads. Everything of a call comes with the call.
        """
        running = await self.filled(tmp_path)
        reads = [*self._reads(running), *self._reads(running, other=True)]
        alone = [await call() for _, call in reads]
        together: dict[int, Any] = {}

        async def read(index: int) -> None:
            together[index] = await reads[index % len(reads)][1]()

        async with anyio.create_task_group() as tasks:
            for index in range(3 * len(reads)):
                tasks.start_soon(read, index)
        for index, answer in together.items():
            assert answer == alone[index % len(reads)], reads[index % len(reads)][0]

    def _reads(self, running: RunningProvider, *, other: bool = False) -> Iterator[Read]:
        """Yield every read the Provider has, each answering something that can be compared."""
        adapter, flags = running.adapter, running.manifest.capabilities
        space = running.other if other else running.space
        query = self.sample_searches()[0].query

        async def status() -> Any:
            return (await adapter.status(space)).healthy

        async def search() -> Any:
            answer = await adapter.search(space, SearchRequest(query=query))
            return sorted(item.id for item in answer.results)

        async def listing() -> Any:
            return [item.id for item in (await adapter.list(space, ListRequest())).items]

        async def graph() -> Any:
            return sorted(node.id for node in (await adapter.graph(space)).nodes)

        yield "status", status
        if flags.search:
            yield "search", search
        if flags.browse:
            yield "list", listing
        if flags.graph:
            yield "graph", graph


def _overrides(adapter: ProviderAdapter, method: str) -> bool:
    own = getattr(getattr(adapter, method), "__func__", None)
    return own is not getattr(ProviderAdapter, method)
