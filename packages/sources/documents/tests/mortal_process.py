"""A process whose children make one change each and die at its first, second, third, … step.

Arguments: workspace, kind of change, and root and document id of every child. Prints which died.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from dsh_mnemon_core.instant import utc_now
from dsh_mnemon_source_documents._inputs import Mutation
from dsh_mnemon_source_documents._library import Library

# Reading and locking do not count: what matters is what changes the store.
MATTERS = ("/active/", "/archived/", "/index.json", "/.pending.json", "/.history/")


def dying(real: Callable[..., Any], left: list[int]) -> Callable[..., Any]:
    def act(*arguments: Any, **more: Any) -> Any:
        if any(part in str(argument) for argument in arguments for part in MATTERS):
            if not left[0]:
                os._exit(9)
            left[0] -= 1
        return real(*arguments, **more)

    return act


async def change(workspace: str, kind: str, root: str, document_id: str) -> None:
    library = Library(Path(root), limit_bytes=1_000_000, clock=utc_now)
    steps = library.steps(workspace)
    if kind == "import":
        titles = ("One", "Two", "Three")
        texts = [Mutation(action="create", title=title, content="New") for title in titles]
        await library.take_in(workspace, texts)
        return
    if kind == "archive":
        step = steps.archive(document_id, expected=None, summary="Cold")
    elif kind == "create":
        step = steps.mutate(Mutation(action="create", title="Two", content="New"))
    else:
        field = "content" if kind == "update" else "title"
        step = steps.mutate(Mutation(action="update", id=document_id, **{field: "New"}))
    await library.change(workspace, step)


def child(number: int, workspace: str, kind: str, root: str, document_id: str) -> bool:
    process = os.fork()
    if not process:
        left = [number]
        os.replace, os.unlink = dying(os.replace, left), dying(os.unlink, left)
        anyio.run(change, workspace, kind, root, document_id)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 9


def main(workspace: str, kind: str, *jobs: str) -> None:
    pairs = zip(jobs[::2], jobs[1::2], strict=True)
    print(json.dumps([child(n, workspace, kind, *pair) for n, pair in enumerate(pairs)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
