"""Processes that write entries and print each one once it is acknowledged.

Arguments: root directory, prefix of the contents, number of entries, limit of MEMORY.md in bytes,
number of processes.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

import anyio
from dsh_mnemon_core.instant import utc_now
from dsh_mnemon_source_runtime._memory import RuntimeMemory
from dsh_mnemon_source_runtime.contracts import Limits, Mutation
from dsh_mnemon_source_runtime.errors import RuntimeCapacityError, RuntimeConflictError


async def write(memory: RuntimeMemory, content: str) -> None:
    mutation = Mutation(action="add", target="memory", content=content)
    while True:
        try:
            await memory.change("memory", memory.steps().mutate(mutation))
        except RuntimeCapacityError:
            plan = await memory.plan(mutation)
            step = memory.steps().archive(mutation, revision=plan["revision"], run_id="test")
            try:
                await memory.change("memory", step)
            except RuntimeConflictError:
                continue
        return


async def fill(root: Path, prefix: str, count: int, limit: int) -> None:
    memory = RuntimeMemory(root, root, limits=Limits(memory=limit), clock=utc_now)
    for number in range(count):
        content = f"{prefix} entry {number}"
        await write(memory, content)
        sys.stdout.write(f"{content}\n")
        sys.stdout.flush()


def main(root: str, prefix: str, count: str, limit: str, processes: str) -> None:
    own = 0
    children: list[int] = []
    # Forked before anything runs, because importing takes longer than writing.
    for number in range(1, int(processes)):
        child = os.fork()
        if not child:
            own, children = number, []
            break
        children.append(child)
    anyio.run(partial(fill, Path(root), f"{prefix} {own}", int(count), int(limit)))
    failed = [child for child in children if os.waitpid(child, 0)[1]]
    sys.exit(bool(failed))


if __name__ == "__main__":
    main(*sys.argv[1:])
