"""What is left is found and named."""

import anyio
import pytest
from dsh_mnemon_core.fiber import Plugin, open_root
from dsh_mnemon_testing.leaks import leaks, new_tasks, running

pytestmark = pytest.mark.requirement("testing:runner:leaks")


async def test_new_task_is_found_and_an_old_one_is_not():
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.sleep_forever, name="old")
        await anyio.lowlevel.checkpoint()
        known = running()
        tasks.start_soon(anyio.sleep_forever, name="new")
        found = await new_tasks(known)
        assert [task.name for task in found] == ["new"]
        assert list(leaks((), (), found)) == ["the task new runs on"]
        tasks.cancel_scope.cancel()


async def test_task_that_ends_by_itself_is_no_leak():
    known = running()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.lowlevel.checkpoint)
        assert await new_tasks(known) == []


async def test_fiber_and_generation_are_named():
    async with open_root() as root:
        fiber = await root.mount(Plugin(name="notes", apply=lambda *_: None))
        found = list(leaks(["generation:1"], [fiber], ()))
    assert found == ["a lease holds generation:1", "the Fiber notes is active"]
    assert list(leaks((), [fiber], ())) == []
