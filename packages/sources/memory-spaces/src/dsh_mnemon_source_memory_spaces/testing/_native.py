"""The part of the Provider contract for Providers of origin ``native``: stores and imports."""

# ruff: noqa: S101 - a contract is made of assertions

from __future__ import annotations

from pathlib import Path

import pytest
from dsh_mnemon_core.errors import MnemonError

from dsh_mnemon_source_memory_spaces.provider_sdk import (
    DraftEdge,
    DraftInsight,
    NativeAdapter,
)
from dsh_mnemon_source_memory_spaces.testing._hooks import ProviderHooks, RunningProvider


class NativeStores(ProviderHooks, contract=True):
    """What the Source relies on when it makes, removes and merges native Spaces."""

    async def test_stores_come_and_go(self, tmp_path: Path) -> None:
        """A store is made once under a legal name, and the default one is not removed.

        If it fails: refuse a taken name and anything but ``[a-zA-Z0-9][a-zA-Z0-9_-]*``; removing
        deletes the folder with all it holds, the name is free again.
        """
        running, adapter = await self._started(tmp_path)
        assert adapter.ready()
        folder = running.folder / "data" / "fresh"
        await adapter.create_store("fresh")
        assert folder.is_dir(), f"the store is not in {folder}"
        for refused in ("fresh", "", "../up", ".hidden", "a/b"):
            with pytest.raises(MnemonError):
                await adapter.create_store(refused)
        await adapter.set_default_store("fresh")
        with pytest.raises(MnemonError):
            await adapter.remove_store("fresh")
        await adapter.set_default_store(running.space.id)
        await adapter.remove_store("fresh")
        assert not folder.exists()
        for unknown in ("fresh", "never-there"):
            with pytest.raises(MnemonError):
                await adapter.set_default_store(unknown)
            with pytest.raises(MnemonError):
                await adapter.remove_store(unknown)
        await adapter.remember(running.other, self.samples()[0])
        await adapter.remove_store(running.other.id)
        await adapter.create_store(running.other.id)
        assert await running.contents(running.other) == [], "a removed store came back"

    async def test_an_import_can_be_repeated(self, tmp_path: Path) -> None:
        """An import brings memories and edges, and the same import again brings nothing.

        If it fails: skip identical content and count it as ``skipped``; keep ``created_at``;
        imported, updated and skipped add up to the memories of the draft.
        """
        running, adapter = await self._started(tmp_path)
        insights = [
            DraftInsight(
                content=sample.content,
                category=sample.category,
                importance=sample.importance,
                entities=sample.entities,
                created_at="2025-03-04T05:06:07.000Z",
            )
            for sample in self.samples()
        ]
        edges = [DraftEdge(source_index=0, target_index=1, edge_type="semantic")]
        first = await adapter.import_draft(running.space, insights, edges)
        counts = (first["imported"], first["updated"], first["skipped"])
        assert counts == (len(insights), 0, 0), first
        assert not first.get("errors")
        before = await running.items()
        assert sorted(item.content for item in before) == sorted(i.content for i in insights)
        assert {(item.created_at or "")[:19] for item in before} == {"2025-03-04T05:06:07"}
        second = await adapter.import_draft(running.space, insights, edges)
        assert second["imported"] == 0, second
        assert second["updated"] + second["skipped"] == len(insights)
        assert [item.id for item in await running.items()] == [item.id for item in before]
        if running.manifest.capabilities.graph:
            joined = (await adapter.graph(running.space)).edges
            by_content = {item.content: item.id for item in before}
            wanted = tuple(by_content[insights[index].content] for index in (0, 1))
            assert wanted in [(edge.source_id, edge.target_id) for edge in joined]

    async def test_embeddings_are_reported(self, tmp_path: Path) -> None:
        """The state of embeddings is told without a model being there, and without the key.

        If it fails: answer ``enabled``, ``available``, ``model``, ``endpoint`` and ``protocol``;
        what is not there is no error.
        """
        _, adapter = await self._started(tmp_path)
        status = await adapter.embedding_status()
        assert {"enabled", "available", "model", "endpoint", "protocol"} <= {*status}
        assert not [key for key in status if "key" in key.lower()]

    async def _started(self, tmp_path: Path) -> tuple[RunningProvider, NativeAdapter]:
        running = await self.started(tmp_path)
        if not isinstance(running.adapter, NativeAdapter):
            pytest.skip(f"{running.manifest.type_id} is not native")
        return running, running.adapter
