"""A process that creates, updates and archives, and prints every change once it is acknowledged.

Arguments: root directory, workspace, number of changes, number of processes. A line is
``{"id", "action", "revision", "hash"}``.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

import anyio
from dsh_mnemon_core.instant import utc_now
from dsh_mnemon_source_documents._changes import Step, Steps
from dsh_mnemon_source_documents._inputs import Mutation
from dsh_mnemon_source_documents._library import Library
from dsh_mnemon_source_documents._search import Request


def choose(steps: Steps, mine: list[str], number: int, chance: random.Random) -> Step:
    kind = chance.choice(("create", "update", "retitle", "archive")) if mine else "create"
    if kind == "create":
        body = f"Document {number} of {os.getpid()}\n\n正文 {chance.random()}"
        return steps.mutate(Mutation(action="create", title=f"Note {number} 记", content=body))
    if kind == "archive":
        return steps.archive(mine.pop(0), expected=None, summary="Cold")
    content = f"Rewritten {number}, {chance.random()}" if kind == "update" else None
    return steps.mutate(
        Mutation(action="update", id=chance.choice(mine), title=f"Again {number}", content=content)
    )


async def work(root: Path, workspace: str, count: int) -> None:
    library = Library(root, limit_bytes=1_000_000_000, clock=utc_now)
    chance = random.Random(os.getpid())
    mine: list[str] = []
    for number in range(count):
        step = choose(library.steps(workspace), mine, number, chance)
        _, answer = await library.change(workspace, step)
        document = answer["document"]
        if answer["action"] == "created":
            mine.append(document["id"])
        said = {
            "id": document["id"],
            "action": answer["action"],
            "revision": document["revision"],
            "hash": document["contentHash"],
        }
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()
        if number % 5 == 0:
            await library.search(Request(query="正文 document"))
    await library.close()


def main(root: str, workspace: str, count: str, processes: str) -> None:
    children: list[int] = []
    # Forked before anything runs, because importing takes longer than writing.
    for _ in range(1, int(processes)):
        child = os.fork()
        if not child:
            children = []
            break
        children.append(child)
    anyio.run(work, Path(root), workspace, int(count))
    failed = [child for child in children if os.waitpid(child, 0)[1]]
    sys.exit(bool(failed))


if __name__ == "__main__":
    main(*sys.argv[1:])
