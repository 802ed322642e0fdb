"""What must not outlive a runner: leased generations, Fibers, tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import anyio
from anyio import TaskInfo
from anyio.lowlevel import checkpoint
from dsh_mnemon_core.fiber import Fiber

__all__ = ("LeakedResources", "leaks", "new_tasks", "running")

_PATIENCE: Final = 20
"""Scheduler turns a finished task may need to be gone."""


class LeakedResources(AssertionError):
    """Raised when something outlived the runner; the message names every piece."""


def running() -> tuple[object, ...]:
    """Return what the tasks that run now are running: their coroutines."""
    return tuple(task.coro for task in anyio.get_running_tasks())


async def new_tasks(known: Sequence[object]) -> list[TaskInfo]:
    """Return the tasks that are not among the ``known`` and do not end by themselves at once.

    Args:
        known: What `running` returned before. Coroutines, since an id may be used again.
    """
    found: list[TaskInfo] = []
    for _ in range(_PATIENCE):
        found = [task for task in anyio.get_running_tasks() if _is_new(task, known)]
        if not found:
            break
        await checkpoint()
    return found


def _is_new(task: TaskInfo, known: Sequence[object]) -> bool:
    # anyio drives each step of a fixture and a test by a task of its own test runner.
    name: str = getattr(task.coro, "__qualname__", "")
    return task.coro not in known and not name.startswith("TestRunner.")


def leaks(
    generations: Iterable[str], fibers: Iterable[Fiber], tasks: Iterable[TaskInfo]
) -> Iterator[str]:
    """Say what is left.

    Args:
        generations: Ids of generations that are not drained, so that a lease holds them.
        fibers: Every Fiber that was mounted.
        tasks: Tasks that were not there before.
    """
    for generation in generations:
        yield f"a lease holds {generation}"
    for fiber in fibers:
        if fiber.state != "disposed":
            yield f"the Fiber {fiber.plugin.name} is {fiber.state}"
    for task in tasks:
        yield f"the task {task.name} runs on"
