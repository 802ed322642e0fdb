"""The contract of Sources as a test class to subclass (spec/core.md §5, §20)."""

# ruff: noqa: S101 - a contract is made of assertions

from __future__ import annotations

from pathlib import Path

from dsh_mnemon_core.source import SourceManifest
from dsh_mnemon_core.wire import from_wire, to_wire

from dsh_mnemon_testing._source_hooks import (
    SampleMutation,
    SampleOperation,
    SampleQuery,
    new_folder,
)
from dsh_mnemon_testing._source_reads import SourceReads
from dsh_mnemon_testing._source_writes import SourceWrites

__all__ = ("SampleMutation", "SampleOperation", "SampleQuery", "SourceContract")


class SourceContract(SourceReads, SourceWrites, contract=True):
    """Checks that a Source keeps its promises; subclass it as ``class TestMySource``.

    Factories: `make_source` (required), `configuration`, `secrets`.

    Give the Source a clock that stands still: what it shows is compared.

    Content: `seed`, `sample_queries`, `sample_mutations`, `sample_operations`, `writes`. Samples
    are made on a store that was seeded; tests about reading make every sample change that succeeds
    first.

    Flags, all True unless set to False: `has_projection`, `has_routes`, `has_actions`,
    `has_management`, `is_durable`. A False skips tests and must agree with the manifest.

    Adaptation: `scopes`, `stored` (for a backend that is no folder), `unsampled`, `ignored_files`,
    `patience`.

    Tests are left alone, see `guard`. Each one's docstring says what to check if it fails.
    """

    def test_manifest_round_trips(self, tmp_path: Path) -> None:
        """The manifest survives JSON unchanged.

        If it fails: keep the manifest to JSON values: no sets, bytes, paths or functions in an
        input schema or in the management descriptor.
        """
        manifest = self.make_source(tmp_path).manifest
        assert from_wire(SourceManifest, to_wire(manifest)) == manifest

    async def test_two_instances_share_nothing(self, tmp_path: Path) -> None:
        """What is written through one instance neither shows in another nor disturbs it.

        If it fails: look for module globals, class attributes and caches that all instances of the
        Source use, for a path that is not taken from the instance's own configuration, and for a
        `dispose` that closes something shared.
        """
        one, two, both = (new_folder(tmp_path / name) for name in ("one", "two", "both"))
        apart = self.configuration(one) != self.configuration(two)
        # Where the Host's configuration tells instances apart, both come from one definition.
        shared = self.make_source(both) if apart else None
        first, second = (self.started(tmp_path, name, shared) for name in ("one", "two"))
        empty = await self.shown(second)
        await self.fill(first)
        assert await self.shown(first) != empty, "filling changes nothing that shows"
        assert await self.shown(second) == empty, "one instance shows what the other stored"
        await first.dispose()
        assert await self.shown(second) == empty, "disposing one instance changed the other"
        await second.dispose()

    async def test_dispose_may_be_repeated(self, tmp_path: Path) -> None:
        """Disposing releases the resources once and is harmless the second time.

        If it fails: make `dispose` forget what it has closed. It runs at the end of a generation,
        and again when the closing of a program meets it.
        """
        source = await self.filled(tmp_path)
        await source.dispose()
        await source.dispose()
