"""The half of the Source contract that is about reading: facts, projections, queries."""

# ruff: noqa: S101 - a contract is made of assertions

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import anyio
import attrs
import pytest
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.source import QueryRequest, SourceFacts
from dsh_mnemon_core.values import json_clone
from dsh_mnemon_core.view import Contribution, ProjectionMode
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_testing._secrecy import named_secrets, strings
from dsh_mnemon_testing._source_hooks import SourceHooks
from dsh_mnemon_testing.interruption import MOMENTS, interrupt
from dsh_mnemon_testing.running import DEFAULT_CHARACTERS, VIEW_ID, RunningSource

CEILINGS: Final = (1, 2, 100, DEFAULT_CHARACTERS)
"""Projection ceilings every Source must keep to, characters."""

MODES: Final[tuple[ProjectionMode, ...]] = ("eager", "routed")
"""Both projection modes."""


class SourceReads(SourceHooks, contract=True):
    """What reading a Source may and may not do."""

    async def test_facts_stay_within_the_manifest(self, tmp_path: Path) -> None:
        """Facts name this instance, a known availability and only what the manifest declares.

        If it fails: compare ``capabilities``, ``route_ids`` and ``action_ids`` of the facts with
        the manifest, look for a key, type or role that is written by hand instead of taken from the
        context, and see that the revision is a text of at most 500 characters.
        """
        source = self.started(tmp_path)
        for scope in self.scopes(tmp_path / "scopes"):
            await source.facts(scope)
        await self.fill(source)
        for scope in self.scopes(tmp_path / "scopes"):
            facts = await source.facts(scope)
            assert facts.availability != "unavailable", f"unavailable: {facts.hints}"
            assert isinstance(facts.revision, str)
            json_clone(facts.hints, "facts hints")

    async def test_facts_and_projections_write_nothing(self, tmp_path: Path) -> None:
        """Once open, asking for facts and projections leaves the store as it is.

        If it fails: look for access times, caches, repaired Markdown or indexes that ``facts`` or
        ``project`` write. Only the first opening may repair; anything else waits for a mutation.
        Files that only locks touch belong into ``ignored_files``.
        """
        source = await self.filled(tmp_path)
        await source.dispose()
        source = self.started(tmp_path)
        await source.project()  # opens the store, which may bring it into normal form
        before = self.stored(source.folder)
        for scope in self.scopes(tmp_path / "scopes"):
            await source.facts(scope, "agent.root-turn")
            for mode in MODES:
                for characters in CEILINGS:
                    await source.project(characters, mode=mode, scope=scope)
            await source.project(1, include=False, scope=scope)
        assert self.stored(source.folder) == before

    @pytest.mark.parametrize("characters", CEILINGS)
    async def test_projection_fits_its_ceiling(self, tmp_path: Path, characters: int) -> None:
        """Every fragment has the asked mode and at most the asked characters.

        If it fails: cut the text to ``request.max_characters`` (`sdk.truncate` does) and count code
        points, not bytes. A notice such as "more below" counts too.
        """
        self.needs("has_projection")
        source = await self.filled(tmp_path)
        for mode in MODES:
            contribution = await source.project(characters, mode=mode)
            assert contribution.fragments, "asked for a projection, it returned no fragment"
            for fragment in contribution.fragments:
                assert len(fragment.text) <= characters
                assert fragment.mode == mode
                assert fragment.source_instance_key == source.key
                assert 0 < len(fragment.id) <= 300
                assert 0 < len(fragment.revision) <= 500
        whole = (await source.project()).fragments
        assert any(fragment.text for fragment in whole), "a filled store shows no text"

    async def test_grant_has_its_consistency_and_no_secret(self, tmp_path: Path) -> None:
        """The ReadGrant is of this instance, as consistent as declared, and holds no secret.

        If it fails: take ``consistency`` from the manifest, and keep out of the grant, the text,
        the presentation and the hints whatever came from ``context.secrets`` or from a setting
        named like a secret. A grant names what may be read, never how to log in.
        """
        source = await self.filled(tmp_path)
        contribution = await source.project()
        grant = contribution.read_grant
        if self.has_routes:
            assert grant is not None, "a Source with routes must return a ReadGrant"
        if grant is not None:
            assert grant.source_instance_key == source.key
            assert grant.consistency == source.definition.manifest.consistency
            json_clone(grant.value, "grant value")
            for label, limit in (("id", 300), ("schema", 300), ("revision", 500)):
                assert 0 < len(getattr(grant, label)) <= limit, f"grant {label}"
        shown = list(strings([to_wire(contribution), to_wire(await source.facts())]))
        for secret in self._secret_values(source):
            assert not any(secret in text for text in shown), "a secret left the Source"

    def _secret_values(self, source: RunningSource) -> list[str]:
        configured = named_secrets(source.live.configuration)
        return [value for value in (*self.secrets(source.folder).values(), *configured) if value]

    async def test_no_fragment_without_a_projection(self, tmp_path: Path) -> None:
        """Asked for the grant only, a Source returns no fragment.

        If it fails: look at ``request.include_projection`` before making text; Core asks with
        False when the Strategy wants the routes of a Source but not its text.
        """
        source = await self.filled(tmp_path)
        for mode in MODES:
            contribution = await source.project(1, mode=mode, include=False)
            assert tuple(contribution.fragments) == ()

    async def test_query_stays_within_its_ceilings(self, tmp_path: Path) -> None:
        """A read returns at most the items and characters of its route.

        If it fails: honour ``request.route.max_results`` and ``max_characters``, which Core narrows
        for each call. Leave an item out whole rather than cutting it, and say ``truncated``.
        """
        self.needs("has_routes")
        source = await self.filled(tmp_path)
        for sample in self.sample_queries():
            for results, characters in ((1, 16_384), (16, 1), (16, 100), (16, 16_384)):
                found = await source.query(
                    sample.route, sample.input, results=results, characters=characters
                )
                where = f"{sample.route}, {results} items of {characters} characters"
                assert len(found.items) <= results, where
                assert sum(len(item.text) for item in found.items) <= characters, where

    async def test_query_is_bound_to_its_question(self, tmp_path: Path) -> None:
        """Evidence names the View, the route and the Source that were asked, and finds something.

        If it fails: copy ``view_id`` from ``request.view.id``, ``route_id`` from
        ``request.route.id`` (the View's id of the route, not your own) and the instance key from
        the route. A sample that finds nothing proves nothing: give one that does.
        """
        self.needs("has_routes")
        source = await self.filled(tmp_path)
        for sample in self.sample_queries():
            found = await source.query(sample.route, sample.input)
            assert found.view_id == VIEW_ID
            assert found.route_id == f"{source.key}/{sample.route}"
            assert found.source_instance_key == source.key
            assert found.items, f"the sample query of {sample.route} finds nothing"

    async def test_query_honours_its_grant(self, tmp_path: Path) -> None:
        """A read answers from its own grant; a snapshot is not the live state.

        If it fails: read ``request.grant.value`` in ``query`` and refuse a grant you did not make,
        or find nothing under it. For ``exact-snapshot`` answer from what the grant captured, not
        from the store as it is now.
        """
        self.needs("has_routes")
        source = await self.filled(tmp_path)
        grant = await source.grant()
        forged = attrs.evolve(grant, id=f"{grant.id}-forged", value={}, revision="forged")
        first: dict[int, Any] = {}
        for index, sample in enumerate(self.sample_queries()):
            first[index] = _texts(await source.query(sample.route, sample.input, grant=grant))
            try:
                found = await source.query(sample.route, sample.input, grant=forged)
            except Exception:  # noqa: S112 - refused, in whatever way
                continue
            assert not found.items, f"{sample.route} reads under a grant nobody gave"
        if grant.consistency == "exact-snapshot":
            await self.writes(source)
            for index, sample in enumerate(self.sample_queries()):
                again = await source.query(sample.route, sample.input, grant=grant)
                assert _texts(again) == first[index], f"{sample.route} shows the live state"
                live = await source.query(sample.route, sample.input)
                assert _texts(live) != first[index], "writes() added nothing the sample finds"

    async def test_cancelled_reads_end_as_cancelled(self, tmp_path: Path) -> None:
        """A read that is cancelled, before or while it runs, ends soon and is not an answer.

        If it fails: look for ``except BaseException`` or a bare ``except``, for an error or an
        "unavailable" made of a cancellation, for a shield around a read, and for state that a read
        leaves half changed. Answering in full is fine when the call had got that far.
        """
        source = await self.filled(tmp_path)
        async for label, call in self._reads(source):
            expected = await call()
            for moment in MOMENTS:
                ending = await interrupt(call, moment)
                where = f"{label}, cancelled after {moment} turns"
                assert ending.error is None, f"{where}, raised {ending.error!r}"
                assert ending.seconds <= self.patience, f"{where}, went on for too long"
                if ending.returned:
                    assert ending.value == expected, f"{where}, answered something else"
            assert await call() == expected, f"{label} answers differently afterwards"

    async def _reads(
        self, source: RunningSource
    ) -> AsyncIterator[tuple[str, Callable[[], Awaitable[Any]]]]:
        """Yield every read with a name, ready to be sent with nothing before it."""
        revision = (await source.facts()).revision

        async def facts() -> Any:
            return to_wire(await source.facts())

        async def project() -> Any:
            return _pinned(await source.project(revision=revision))

        yield "facts", facts
        yield "project", project
        for sample in self.sample_queries():
            asked = source.query_request(sample.route, sample.input, await source.grant())

            async def query(asked: QueryRequest = asked) -> Any:
                return _texts(await source.dispatch(asked))

            yield f"query {sample.route}", query

    async def test_concurrent_projections_do_not_mix(self, tmp_path: Path) -> None:
        """Projections for different scopes, modes and sizes at once are those made one by one.

        If it fails: ``project`` keeps something of a former call in an attribute, such as the last
        scope, revision or limit. Take all of it from the request; key a capture by scope and
        revision.
        """
        source = await self.filled(tmp_path)
        scopes = self.scopes(tmp_path / "scopes")
        wanted: list[tuple[OperationScope, ProjectionMode, int]] = [
            (scope, mode, characters)
            for scope in scopes
            for mode in MODES
            for characters in (1, 100, DEFAULT_CHARACTERS)
        ]
        alone: dict[int, Any] = {}
        for index, (scope, mode, characters) in enumerate(wanted):
            facts = await source.facts(scope)
            alone[index] = await _projected(source, scope, facts, mode, characters)
        together: dict[int, Any] = {}

        async def project(index: int, facts: SourceFacts) -> None:
            scope, mode, characters = wanted[index]
            together[index] = await _projected(source, scope, facts, mode, characters)

        known = [await source.facts(scope) for scope, _, _ in wanted]
        async with anyio.create_task_group() as tasks:
            for index, facts in reversed(list(enumerate(known))):
                tasks.start_soon(project, index, facts)
        assert together == alone


async def _projected(
    source: RunningSource,
    scope: OperationScope,
    facts: SourceFacts,
    mode: ProjectionMode,
    characters: int,
) -> Any:
    return _pinned(
        await source.project(characters, mode=mode, scope=scope, revision=facts.revision)
    )


def _pinned(contribution: Contribution) -> Any:
    """Return what matters of a contribution; ids of grants and fragments may be new each time."""
    grant = contribution.read_grant
    return {
        "fragments": [(item.mode, item.text, item.revision) for item in contribution.fragments],
        "grant": None if grant is None else to_wire(grant.value),
    }


def _texts(evidence: Any) -> list[str]:
    return [item.text for item in evidence.items]
