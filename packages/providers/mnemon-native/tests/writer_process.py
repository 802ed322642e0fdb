"""A process that writes into a store until it is done or killed, and tells what was acknowledged.

Arguments: path of the database, ``remember``, ``import`` or ``originals``, a prefix, a count.
"""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore, StoreOptions
from dsh_mnemon_provider_mnemon_native._write.drafts import checked
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight
from dsh_mnemon_source_memory_spaces.provider_sdk import DraftInsight

BATCH = 5


async def write(store: MnemonStore, how: str, contents: list[str]) -> None:
    if how == "remember":
        for content in contents:
            await store.remember(NewInsight(content=content, entities=("Atlas",)))
            print(content, flush=True)
        return
    for start in range(0, len(contents), BATCH):
        part = contents[start : start + BATCH]
        if how == "import":
            draft = checked([DraftInsight(content=one, source="draft") for one in part])
            assert (await store.import_draft(draft)).count("added") == len(part)
        else:
            await store.remember_many([NewInsight(content=one) for one in part])
        print(*part, sep="\n", flush=True)


async def main(path: str, how: str, prefix: str, count: str) -> None:
    store = MnemonStore(Path(path), StoreOptions())
    await write(store, how, [f"{prefix} note {number}" for number in range(int(count))])
    await store.aclose()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
