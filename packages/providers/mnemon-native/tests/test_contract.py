"""The contract every Provider keeps, for both rankings of the embedded engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_provider_mnemon_native import provider
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderModule, RecallMode
from dsh_mnemon_source_memory_spaces.testing import (
    ProviderContract,
    RunningProvider,
)
from dsh_mnemon_testing import deviates

MODES = ("smart", "keyword", "basic")


@pytest.mark.requirement("native:contract")
class TestMnemonNative(ProviderContract):
    """The embedded engine with its own ranking."""

    def make_provider(self, tmp_path: Path) -> ProviderModule:
        return provider

    @deviates("mode basic finds contents that hold the query as it stands, in one piece (§6)")
    @pytest.mark.parametrize("mode", MODES)
    async def test_search_finds_what_was_kept(self, tmp_path: Path, mode: RecallMode) -> None:
        running = await self.filled(tmp_path)
        queries = {
            sample.query: self.samples()[sample.finds].content for sample in self.sample_searches()
        }
        if mode == "basic":
            queries = {sample.content[4:30].upper(): sample.content for sample in self.samples()}
        for query, wanted in queries.items():
            for limit in (1, 10):
                found = await running.search(query, mode=mode, limit=limit)
                assert 0 < len(found) <= limit
                assert len({item.id for item in found}) == len(found)
            assert wanted in [item.content for item in found]
        assert len(await running.search("" if mode == "basic" else "Mara", mode=mode, limit=2)) == 2

    async def damage(self, running: RunningProvider) -> None:
        file = running.folder / "data" / running.space.id / "mnemon.db"
        await running.adapter.aclose()
        file.write_bytes(b"no database at all" * 400)


@pytest.mark.requirement("native:contract")
class TestCompatibleRanking(TestMnemonNative):
    """The embedded engine, ranking as the command line tool does."""

    is_lexical = False

    def child_config(self, tmp_path: Path) -> Mapping[str, Any]:
        return {"ranking": "compatible"}
