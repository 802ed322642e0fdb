"""A process that writes entries and prints each one once it is acknowledged.

Arguments: root directory, prefix of the contents, number of entries, limit of MEMORY.md in bytes.
"""

from __future__ import annotations

import sys
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


async def main(root: str, prefix: str, count: str, limit: str) -> None:
    path = Path(root)
    memory = RuntimeMemory(path, path, limits=Limits(memory=int(limit)), clock=utc_now)
    for number in range(int(count)):
        content = f"{prefix} entry {number}"
        await write(memory, content)
        sys.stdout.write(f"{content}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
