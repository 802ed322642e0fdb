"""The adapter: its threads, its files, its place in a Source (§6.1, §6.2)."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from dsh_mnemon_provider_holographic import MANIFEST, HolographicAdapter
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ListRequest,
    ProviderAdapter,
    ProviderContext,
    ProviderProtocol,
    RememberRequest,
    SearchRequest,
)
from dsh_mnemon_source_memory_spaces.testing import SpaceSetup, provider_fixture

GOLDEN = Path(__file__).parent / "golden" / "holographic"


class World:
    """Adapters over one data folder, closed at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: list[ProviderAdapter] = []

    def adapter(self, *spaces: SpaceSetup, **service: Any) -> HolographicAdapter:
        fixture = provider_fixture(
            MANIFEST, self.folder, spaces=spaces or (SpaceSetup(id="one"),), service=service
        )
        self.space = fixture.spaces[0]
        context = ProviderContext(
            instance_id="holographic", manifest=MANIFEST, memory_spaces=fixture.authority
        )
        adapter = HolographicAdapter(context, environment={"HERMES_HOME": str(self.folder)})
        self.made.append(adapter)
        return adapter


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    world = World(tmp_path)
    yield world
    for adapter in world.made:
        await adapter.aclose()


@pytest.mark.requirement("holographic:discover:one")
async def test_the_file_of_hermes_is_discovered(world: World) -> None:
    shutil.copy(GOLDEN / "memory_store.db", world.folder)
    adapter = world.adapter(dataPath="$HERMES_HOME/memory_store.db")
    (found,) = await adapter.discover({"dataPath": "$HERMES_HOME/memory_store.db"})
    assert found.external_id == str(world.folder / "memory_store.db")
    assert found.name == "Holographic"
    assert len((await adapter.list(world.space, ListRequest())).items) == 24


@pytest.mark.requirement("holographic:discover:one")
async def test_a_file_that_is_not_there_yet_is_discovered_too(world: World) -> None:
    assert len(await world.adapter().discover({})) == 1
    assert list(world.folder.iterdir()) == []


@pytest.mark.requirement("holographic:discover:fails")
async def test_a_file_that_cannot_be_used_is_no_namespace(world: World) -> None:
    with closing(sqlite3.connect(world.folder / "x.db")) as other:
        other.execute("CREATE TABLE notes (x)")
    with pytest.raises(ProviderProtocol):
        await world.adapter().discover({"dataPath": "x.db"})


@pytest.mark.requirement("holographic:status:unhealthy")
async def test_wrong_settings_are_unhealthy(world: World) -> None:
    status = await world.adapter(hrrDim=100).status(world.space)
    assert not status.healthy
    assert status.error is not None
    assert "hrrDim" in status.error


@pytest.mark.requirement("holographic:file:one-connection")
async def test_two_adapters_share_a_file(world: World) -> None:
    one, two = world.adapter(), world.adapter()
    async with anyio.create_task_group() as tasks:
        for number in range(6):
            adapter = (one, two)[number % 2]
            request = RememberRequest(content=f"Fact {number}.")
            tasks.start_soon(adapter.remember, world.space, request)
    await one.aclose()
    assert len((await two.list(world.space, ListRequest())).items) == 6
    names = {path.name for path in (world.folder / "state" / "holographic").iterdir()}
    assert "memory_store.db-wal" in names
    await two.aclose()
    names = {path.name for path in (world.folder / "state" / "holographic").iterdir()}
    assert names == {"memory_store.db"}


@pytest.mark.requirement("holographic:file:locked")
async def test_waiting_for_a_lock_blocks_neither_the_loop_nor_a_cancellation(world: World) -> None:
    adapter = world.adapter()
    await adapter.remember(world.space, RememberRequest(content="First."))
    path = world.folder / "state" / "holographic" / "memory_store.db"
    turns = 0
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with anyio.move_on_after(0.3) as scope:
            async with anyio.create_task_group() as tasks:
                request = RememberRequest(content="Second.")
                tasks.start_soon(adapter.remember, world.space, request)
                while True:
                    await checkpoint()
                    turns += 1
        assert scope.cancelled_caught
        assert turns > 20
        other.execute("ROLLBACK")
    items = (await adapter.list(world.space, ListRequest())).items
    assert [item.content for item in items] == ["First."]


@pytest.mark.requirement("holographic:plugin:light")
def test_numpy_is_not_loaded_before_it_is_needed() -> None:
    code = (
        "import sys, dsh_mnemon_provider_holographic as package;"
        "assert package.provider.id == 'holographic'; assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.requirement("holographic:search:limit")
async def test_what_hermes_writes_is_found_at_once(world: World) -> None:
    adapter = world.adapter()
    await adapter.remember(world.space, RememberRequest(content="First."))
    path = world.folder / "state" / "holographic" / "memory_store.db"
    with closing(sqlite3.connect(path)) as hermes:
        hermes.execute("INSERT INTO facts (content) VALUES ('A port of Hermes.')")
        hermes.commit()
    (found,) = (await adapter.search(world.space, SearchRequest(query="port"))).results
    assert (found.content, found.source) == ("A port of Hermes.", "external")
