"""The half of the Source contract that is about changing: actions and management."""

# ruff: noqa: S101 - a contract is made of assertions

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.evidence import Receipt
from dsh_mnemon_core.source import Manages, Mutates

from dsh_mnemon_testing._source_hooks import DURABLE, SampleMutation, SourceHooks
from dsh_mnemon_testing.interruption import MOMENTS, Ending, interrupt
from dsh_mnemon_testing.running import RunningSource


class SourceWrites(SourceHooks, contract=True):
    """What changing a Source must say and must not leave behind."""

    async def test_receipts_say_what_happened(self, tmp_path: Path) -> None:
        """Committed, partial and failed changes are told apart, and the store agrees.

        If it fails: a committed change must move the facts revision and be there for a fresh
        instance; one that failed must say so, or raise a `MnemonError`, and leave the revision
        alone. Say ``unknown`` when you cannot know. `sdk.create_receipt` makes consistent Receipts.
        """
        self.needs("has_actions")
        source = self.started(tmp_path)
        await self.seed(source)
        completions = {sample.completion for sample in self.sample_mutations()}
        assert completions & {*DURABLE}, "sample_mutations() has none that succeeds"
        assert completions - {*DURABLE}, "sample_mutations() has none that fails"
        for sample in self.sample_mutations():
            before = (await source.facts()).revision
            answer = await self.perform(source, sample)
            after = (await source.facts()).revision
            _check_answer(sample, answer)
            if sample.completion == "committed":
                assert after != before, f"{sample.action} committed, but the revision stayed"
            if sample.completion == "failed":
                assert after == before, f"{sample.action} failed, but the revision moved"
        await self._check_durable(tmp_path, source)

    async def test_cancelled_change_leaves_a_whole_store(self, tmp_path: Path) -> None:
        """A change that is cancelled ends soon, claims nothing false and leaves a whole store.

        If it fails: let the cancellation pass instead of answering with a Receipt about it. Before
        the first byte is written a change stops; from the commit on it is shielded to its end, and
        nothing lies in between. A change that is cancelled before it begins writes nothing.
        """
        self.needs("has_actions")
        samples = [item for item in self.sample_mutations() if item.completion in DURABLE]
        assert samples, "sample_mutations() has none that succeeds"
        sample = samples[0]
        for moment in MOMENTS:
            name = f"moment-{moment}"
            source = self.started(tmp_path, name)
            await self.seed(source)
            before = await self.shown(source)
            request = await source.mutate_request(sample.action, sample.input)
            ending = await interrupt(partial(source.execute, request), moment)
            where = f"{sample.action}, cancelled after {moment} turns"
            _check_ending(ending, where, self.patience)
            after = await self.shown(source)
            if moment == 0 and ending.cancelled:
                assert after == before, f"{where}, wrote all the same"
            if ending.returned and sample.completion == "committed":
                assert after != before, f"{where}, committed but shows nothing"
            await self._check_durable(tmp_path, source, name)

    async def _check_durable(
        self, tmp_path: Path, source: RunningSource, name: str = "one"
    ) -> None:
        """Compare what an instance shows with what a fresh one over the same folder shows."""
        if self.is_durable:
            live = await self.shown(source)
            await source.dispose()
            again = self.started(tmp_path, name)
            assert await self.shown(again) == live, "a fresh instance shows another state"
            await again.dispose()

    async def test_stale_management_is_refused(self, tmp_path: Path) -> None:
        """A management mutation needs confirmation and the current revision, whoever asks.

        If it fails: compare ``request.expected_revision`` and ``request.confirmed`` inside your own
        transaction. Core's check comes first but is only an early one: the store may move between.
        """
        self.needs("has_management")
        assert self.sample_operations(), "sample_operations() is empty"
        for index, sample in enumerate(self.sample_operations()):
            source = await self.filled(tmp_path, f"managed-{index}")
            before = await self.shown(source)
            for refused in ({"expected_revision": "stale"}, {"confirmed": False}):
                arguments: Any = refused
                with pytest.raises(MnemonError):
                    await source.manage(sample.operation, sample.input, **arguments)
                assert await self.shown(source) == before, f"{refused} changed the store"
            result = await source.manage(sample.operation, sample.input)
            assert result.revision == (await source.facts()).revision
            assert await self.shown(source) != before, f"{sample.operation} changed nothing"

    async def test_flags_and_samples_match_the_manifest(self, tmp_path: Path) -> None:
        """What the subclass says its Source lacks, the manifest lacks; the rest has a sample.

        If it fails: set the flag it names to what the manifest says, give samples for the routes
        and actions it names, or list these in ``unsampled``.
        """
        source = self.started(tmp_path)
        manifest, runtime = source.definition.manifest, source.live.runtime
        assert self.has_projection == ("project" in manifest.capabilities), "has_projection"
        assert self.has_routes == bool(manifest.routes), "has_routes"
        assert self.has_actions == bool(manifest.actions), "has_actions"
        assert self.has_actions <= isinstance(runtime, Mutates), "has_actions, but no mutate()"
        if self.has_management:
            assert manifest.management is not None, "has_management, but no descriptor"
            assert isinstance(runtime, Manages), "has_management, but no manage()"
        declared = {item.id for item in manifest.routes} | {item.id for item in manifest.actions}
        sampled = {sample.route for sample in self.sample_queries()}
        sampled |= {sample.action for sample in self.sample_mutations()}
        assert declared - sampled - {*self.unsampled} == set(), "without a sample"
        assert {*self.unsampled} & sampled == set(), "unsampled, but with a sample"


def _check_answer(sample: SampleMutation, answer: Receipt | MnemonError) -> None:
    if isinstance(answer, MnemonError):
        assert sample.completion == "failed", f"{sample.action} raised {answer!r}"
    else:
        assert answer.completion == sample.completion, f"{sample.action}: {answer}"


def _check_ending(ending: Ending, where: str, patience: float) -> None:
    assert ending.error is None, f"{where}, raised {ending.error!r}"
    assert ending.seconds <= patience, f"{where}, went on for too long"
    if ending.returned:
        assert ending.value.status == "succeeded", f"{where}, answered {ending.value.status}"
