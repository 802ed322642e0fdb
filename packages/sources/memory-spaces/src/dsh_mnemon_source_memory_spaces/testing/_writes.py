"""The part of the Provider contract that is about keeping, joining and forgetting."""

# ruff: noqa: S101 - a contract is made of assertions

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
from dsh_mnemon_testing.interruption import MOMENTS, interrupt

from dsh_mnemon_source_memory_spaces._receipts import completion_of
from dsh_mnemon_source_memory_spaces.provider_sdk import RememberRequest, SearchRequest
from dsh_mnemon_source_memory_spaces.testing._hooks import ProviderHooks
from dsh_mnemon_source_memory_spaces.testing._judgement import check_result
from dsh_mnemon_source_memory_spaces.testing.fixture import SpaceSetup

LITERAL: Final = (
    "</memory> {{not a template}} ${HOME} %s \\n stay as they are",
    "Two  spaces,\ta tab and\na second line.",
    "夜间备份保存在二号机房，「引号」也保留。 🧭",
    "# A heading\n\n- a list, **bold**, `code` and a trailing dash -",
)
"""Contents that must come back as they were given."""

LONG: Final = "An archived entry of the longest kind. " * 210
"""8,190 characters: what an archived original may have (D38)."""


class ProviderWrites(ProviderHooks, contract=True):
    """What a Provider must do with what it is given."""

    async def test_a_write_says_what_it_did(self, tmp_path: Path) -> None:
        """Keeping a memory is answered by an object that says so, with the new id.

        If it fails: answer with ``action`` (such as ``stored``, ``queued``, ``skipped``), or a
        ``status`` that spec/sources.md §4.9 knows, and with ``id`` where the text is kept as it is.
        What failed is raised, not answered.
        """
        running = await self.started(tmp_path)
        self.needs(running, "remember")
        for sample in self.samples():
            result = check_result(await running.adapter.remember(running.space, sample), "remember")
            if running.manifest.capabilities.write_mode == "exact":
                assert completion_of(result) == "committed", f"{result} proves nothing"
                assert result.get("id"), "an exact write names the memory it made"
            else:
                assert completion_of(result) != "failed", f"{result}: what failed is raised"

    async def test_a_write_keeps_what_it_was_given(self, tmp_path: Path) -> None:
        """Category, importance, tags and entities come back as they were given, or not at all.

        If it fails: a value the service cannot hold is left out, never replaced by another one.
        """
        running = await self.filled(tmp_path)
        self.needs(running, "remember", "browse")
        self.needs_exact(running)
        given = {sample.content: sample for sample in self.samples()}
        for item in await running.items():
            sample = given[item.content]
            assert item.category in (sample.category, None)
            assert item.importance in (sample.importance, None)
            assert set(item.tags or ()) <= {*sample.tags}
            assert {*sample.entities} <= set(item.entities or sample.entities)

    async def test_text_is_kept_literally(self, tmp_path: Path) -> None:
        """Markup, templates, white space and any script come back character by character.

        If it fails: do not strip, escape, normalise or render what is stored. A Provider that has
        to change a text declares ``write_mode="async-extracting"``.
        """
        running = await self.started(tmp_path)
        self.needs(running, "remember", "browse")
        self.needs_exact(running)
        for content in LITERAL:
            await running.adapter.remember(running.space, RememberRequest(content=content))
        await self.settle(running)
        assert await running.contents() == sorted(LITERAL)

    async def test_an_archived_original_is_kept_whole(self, tmp_path: Path) -> None:
        """The longest original is kept whole by an exact write, alone and in a batch.

        If it fails: an exact write takes what Runtime may hold (D38). What cannot be kept whole is
        refused by ``ProviderRejected``, with nothing written.
        """
        running = await self.started(tmp_path)
        self.needs(running, "remember", "browse")
        self.needs_exact(running)
        requests = [
            RememberRequest(content=f"{start} {LONG}"[:8_190], exact=True)
            for start in ("First:", "Second:")
        ]
        result = await self.refused(running.adapter.remember_many(running.space, requests))
        await self.settle(running)
        kept = [] if result is None else sorted(item.content for item in requests)
        assert await running.contents() == kept

    async def test_a_batch_answers_each_request(self, tmp_path: Path) -> None:
        """Several memories kept at once are answered one by one, in order.

        If it fails: `remember_many` returns as many results as it got requests, a repeated content
        included, and none at all for no request.
        """
        running = await self.started(tmp_path)
        self.needs(running, "remember")
        samples = [*self.samples(), self.samples()[0]]
        results = await running.adapter.remember_many(running.space, samples)
        assert len(results) == len(samples)
        for result in results:
            check_result(result, "remember_many")
        if running.manifest.capabilities.write_mode == "exact":
            ids = [result.get("id") for result in results[: len(self.samples())]]
            assert len({*ids}) == len(ids), "two memories have the same id"
        assert list(await running.adapter.remember_many(running.space, [])) == []

    async def test_writes_at_once_are_all_kept(self, tmp_path: Path) -> None:
        """Memories kept at the same time are all there.

        If it fails: a write reads, waits and writes back; let it be one transaction, or take turns.
        """
        running = await self.started(tmp_path)
        self.needs(running, "remember", "browse")
        self.needs_exact(running)
        contents = [f"Note number {number} was taken at once." for number in range(8)]

        async def remember(content: str) -> None:
            await running.adapter.remember(running.space, RememberRequest(content=content))

        async with anyio.create_task_group() as tasks:
            for content in contents:
                tasks.start_soon(remember, content)
        await self.settle(running)
        assert await running.contents() == sorted(contents)

    async def test_spaces_and_instances_do_not_mix(self, tmp_path: Path) -> None:
        """What is kept in one Space is in no other, nor in another instance.

        If it fails: take the namespace from the Space of the call and its connection, not from what
        the factory saw first; keep no state in a module. A service shared by both instances is told
        apart by its settings: give them in `service`.
        """
        running = await self.filled(tmp_path, "one")
        self.needs(running, "remember", "browse")
        another = await self.started(tmp_path, "two")
        assert await running.contents() != []
        assert await running.contents(running.other) == []
        assert await another.contents() == []

    async def test_a_foreign_space_is_refused(self, tmp_path: Path) -> None:
        """A Space the authority does not know is neither read nor written.

        If it fails: ask the authority for the connection of the Space at every call; a native
        engine refuses a store that is not there, and a name that is no name, such as ``../one``.
        """
        running = await self.filled(tmp_path)
        self.needs(running, "remember")
        for foreign in ("stranger", "../one"):
            space = SpaceSetup(id=foreign, external_id=foreign).view()
            written = await self.refused(running.adapter.remember(space, self.samples()[0]))
            assert written is None, f"wrote into {foreign!r}"
            if running.manifest.capabilities.search:
                request = SearchRequest(query=self.sample_searches()[0].query)
                found = await self.refused(running.adapter.search(space, request))
                assert found is None or not found.results, f"read from {foreign!r}"

    async def test_forgetting_takes_away(self, tmp_path: Path) -> None:
        """A forgotten memory is neither listed nor found, and nothing else is missing.

        If it fails: leave forgotten memories out of every read, indexes included, and answer with
        ``deleted``, ``forgotten`` or ``invalidated``.
        """
        running = await self.filled(tmp_path)
        self.needs(running, "forget", "browse", "remember")
        assert running.manifest.capabilities.deletion_mode != "unsupported"
        before = await running.items()
        gone = before[0]
        result = await running.adapter.forget(running.space, gone.id)
        assert completion_of(check_result(result, "forget")) == "committed", result
        await self.settle(running)
        after = [item.id for item in await running.items()]
        assert after == [item.id for item in before if item.id != gone.id]
        if running.manifest.capabilities.search:
            assert gone.id not in [item.id for item in await running.search(gone.content)]

    async def test_forgetting_nothing_forgets_nothing(self, tmp_path: Path) -> None:
        """An unknown id is refused, or answered without a claim that something was forgotten.

        If it fails: raise ``ProviderNotFound``, or answer ``skipped``.
        """
        running = await self.filled(tmp_path)
        self.needs(running, "forget", "browse", "remember")
        before = await running.contents()
        result = await self.refused(running.adapter.forget(running.space, "no-such-memory"))
        assert result is None or not _claims(result), f"claims {result}"
        assert await running.contents() == before

    async def test_joined_memories_are_related(self, tmp_path: Path) -> None:
        """Two joined memories lead to each other, along that kind of edge only.

        If it fails: keep the edge's type, and refuse to join what is not there; an edge of the
        graph that tells a reason tells the one it was given.
        """
        running = await self.filled(tmp_path)
        self.needs(running, "link", "related", "browse", "remember")
        first, second = (await running.items())[:2]
        link = partial(running.adapter.link, running.space, type="causal", weight=0.5)
        check_result(await link(source_id=first.id, target_id=second.id, reason="why"), "link")
        await self.settle(running)
        found = await running.adapter.related(running.space, first.id, 1, "causal")
        assert second.id in [item.id for item in found]
        if running.manifest.capabilities.graph:
            edges = (await running.adapter.graph(running.space)).edges
            told = {e.reason for e in edges if (e.source_id, e.type) == (first.id, "causal")}
            assert told <= {None, "why"}, f"a link was made because of 'why', not {told}"
        result = await self.refused(link(source_id=first.id, target_id="no-such-memory"))
        assert result is None or not _claims(result), f"claims {result}"

    async def test_a_cancelled_write_is_whole_or_not_there(self, tmp_path: Path) -> None:
        """A write that is cancelled ends soon; afterwards it is wholly there or not at all.

        If it fails: let the cancellation pass. Before the first byte is written nothing happens;
        from the commit on the write is shielded to its end. An answered write is there.
        """
        running = await self.started(tmp_path)
        self.needs(running, "remember", "browse")
        self.needs_exact(running)
        for moment in MOMENTS:
            content = f"Kept or not, cancelled after {moment} turns."
            request = RememberRequest(content=content, tags=("cancelled",))
            call = partial(running.adapter.remember, running.space, request)
            ending = await interrupt(call, moment)
            where = f"remember, cancelled after {moment} turns"
            assert ending.error is None, f"{where}, raised {ending.error!r}"
            assert ending.seconds <= self.patience, f"{where}, went on for too long"
            await self.settle(running)
            kept = (await running.contents()).count(content)
            assert kept <= 1, f"{where}, is there {kept} times"
            if ending.returned:
                assert kept == 1, f"{where}, answered but is not there"
            if moment == 0 and ending.cancelled:
                assert kept == 0, f"{where}, wrote all the same"


def _claims(result: Mapping[str, Any]) -> bool:
    """Tell whether a result says that something was changed, now or soon."""
    return completion_of(result) in ("committed", "accepted", "partial")
