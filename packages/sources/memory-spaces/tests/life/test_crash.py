"""What is left when a process is killed in the middle: at each step, by a real kill (§4.3, D31)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_source_memory_spaces._spaces import NewSpace
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderModule
from dsh_mnemon_source_memory_spaces.testing import ReferenceService

KILLER = Path(__file__).with_name("space_killer.py")

Open = Callable[..., Awaitable[Any]]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the killer forks")


def killed(what: str, folder: Path) -> list[Path]:
    """Return the roots that were left, in the order of how far each got; the last is whole."""
    subprocess.run([sys.executable, str(KILLER), what, str(folder)], check=True, timeout=100)
    roots = sorted(folder.iterdir(), key=lambda root: int(root.name))
    assert len(roots) > 10
    return roots


@pytest.mark.requirement("memory-spaces:create:crash")
async def test_a_space_has_its_name_or_does_not_exist(
    open_life: Open, native: ProviderModule, stores: ReferenceService, tmp_path: Path
) -> None:
    told = {"First": "The first one", "Second": "The second one"}
    shown: list[tuple[str, ...]] = []
    for root in killed("create", tmp_path / "killed"):
        stores.namespaces.clear()  # those of the root before
        life = await open_life(native, root=root)
        catalogue = await life.spaces.current()
        assert catalogue.faults == ()
        found = {path.parent.name for path in (root / "data").glob("*/mnemon.db")}
        assert found == {space.id for space in catalogue.spaces}
        assert all(told[space.name] == space.description for space in catalogue.spaces)
        shown.append(tuple(space.name for space in catalogue.spaces))
        # What was cut off before there was a store is forgotten in a while.
        life.clock.now = datetime.now(UTC) + timedelta(minutes=11)
        await life.spaces.create(NewSpace(name="Later", description="Made afterwards"))
        names = [space.name for space in (await life.spaces.current()).spaces]
        assert names == [*shown[-1], "Later"]
        assert not (root / "data" / ".dsh-memory-bodies.pending.json").exists()
    assert set(shown) == {(), ("First",), ("First", "Second")}
    assert shown[-1] == ("First", "Second")


@pytest.mark.requirement("memory-spaces:merge:crash")
async def test_a_merge_that_was_cut_off_is_told(
    open_life: Open, native: ProviderModule, tmp_path: Path
) -> None:
    partly = 0
    roots = killed("merge", tmp_path / "killed")
    for root in roots:
        life = await open_life(native, root=root)
        catalogue = await life.spaces.current()
        target, source = catalogue.spaces
        begun = [(item.target_id, item.source_id) for item in catalogue.pending_merges]
        assert begun in ([], [(target.id, source.id)])
        copied = (root / "data" / target.id / "copied").exists()
        # Once something was copied, it is told until the sources are switched off.
        assert begun or not copied or target.active
        partly += bool(begun and copied)
    assert partly >= 3
    assert catalogue.pending_merges == ()
