"""Processes that make Spaces and print each one once it is acknowledged.

Arguments: root directory, prefix of the names, number of Spaces, number of processes.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

import anyio
from dsh_mnemon_core.fiber import open_root
from dsh_mnemon_source_memory_spaces._children import ChildEntry, Children, mount_children
from dsh_mnemon_source_memory_spaces._config import Config, settings
from dsh_mnemon_source_memory_spaces._registry.store import Registry
from dsh_mnemon_source_memory_spaces._services import authority
from dsh_mnemon_source_memory_spaces._spaces import NewSpace, Spaces
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderConflict
from dsh_mnemon_source_memory_spaces.testing import (
    NativeReferenceAdapter,
    reference_manifest,
    reference_provider,
)


class Folders(NativeReferenceAdapter):
    """An engine whose stores are folders that nobody can make twice."""

    async def create_store(self, store_id: str) -> None:
        folder = anyio.Path(self.context.memory_spaces.data_dir() / "data" / store_id)
        try:
            await folder.mkdir(parents=True)
        except FileExistsError:
            raise ProviderConflict(f"there is a store {store_id} already") from None
        await (folder / "mnemon.db").touch()


def modules() -> list[ChildEntry]:
    native = reference_manifest("mnemon-native", origin="native", fields=[], secrets=[])
    return [
        ChildEntry(use=reference_provider(manifest=native, adapter=Folders)),
        ChildEntry(use=reference_provider(manifest=reference_manifest("alpha"))),
    ]


async def fill(root: Path, prefix: str, count: int) -> None:
    in_force = settings(Config.model_validate({"dataDir": str(root)}), {}, "source:s")
    registry = Registry(root)
    async with open_root() as context:
        children = Children(
            await mount_children(context, "s", modules()),
            authority=authority(registry),
            config=in_force.provider,
            native=in_force.native,
        )
        spaces = Spaces(registry, children, settings=in_force)
        for number in range(count):
            name = f"{prefix} space {number}"
            far = bool(number % 2)
            new = NewSpace(
                name=name,
                description="made",
                provider_id="alpha" if far else None,
                connection={"apiKey": "hush", "project": name} if far else None,
            )
            space = await spaces.create(new)
            await spaces.update(space.id, description=f"changed {number}")
            await spaces.committed(space.id)
            sys.stdout.write(f"{space.id}\t{name}\tchanged {number}\n")
            sys.stdout.flush()


def main(root: str, prefix: str, count: str, processes: str) -> None:
    own = 0
    children: list[int] = []
    # Forked before anything runs, because importing takes longer than writing.
    for number in range(1, int(processes)):
        child = os.fork()
        if not child:
            own, children = number, []
            break
        children.append(child)
    anyio.run(partial(fill, Path(root), f"{prefix} {own}", int(count)))
    failed = [child for child in children if os.waitpid(child, 0)[1]]
    sys.exit(bool(failed))


if __name__ == "__main__":
    main(*sys.argv[1:])
