"""Kill processes in the middle of making or merging Spaces, once at each step they take.

Arguments: ``create`` or ``merge``, and a folder that gets one root for each kill, ``0``, ``1`` and
so on. The last root is of the process that took fewer steps than it was allowed, and so ended.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from dsh_mnemon_core.fiber import open_root
from dsh_mnemon_source_memory_spaces._children import ChildEntry, Children, mount_children
from dsh_mnemon_source_memory_spaces._config import Config, settings
from dsh_mnemon_source_memory_spaces._registry.store import Registry
from dsh_mnemon_source_memory_spaces._services import authority
from dsh_mnemon_source_memory_spaces._spaces import NewSpace, Spaces
from dsh_mnemon_source_memory_spaces.provider_sdk import RememberRequest
from dsh_mnemon_source_memory_spaces.testing import (
    NativeReferenceAdapter,
    ReferenceService,
    reference_manifest,
    reference_provider,
)

STEPS = ("mkdir", "open", "replace", "rename", "unlink", "fsync")
"""What changes the disk, or may."""


class Fuse:
    """Kills the process before its n-th step."""

    def __init__(self, steps: int) -> None:
        self.left = steps
        self.armed = False

    def step(self) -> None:
        if self.armed:
            self.left -= 1
            if self.left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def wrap(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **named: Any) -> Any:
            self.step()
            return call(*args, **named)

        return wrapped


class Slow(NativeReferenceAdapter):
    """An engine that imports in several steps, each of which is on the disk."""

    fuse: Fuse

    async def import_draft(self, space: Any, insights: Sequence[Any], edges: Sequence[Any]) -> Any:
        copied = self._root / "data" / space.id / "copied"
        for insight in insights:
            self.fuse.step()
            with copied.open("a", encoding="utf-8") as file:
                file.write(f"{insight.content}\n")
        return await super().import_draft(space, insights, edges)


async def work(root: Path, what: str, fuse: Fuse) -> None:
    service = ReferenceService()
    native = reference_manifest("mnemon-native", origin="native", fields=[], secrets=[])
    Slow.fuse = fuse
    module = reference_provider(service, manifest=native, adapter=Slow)
    in_force = settings(Config.model_validate({"dataDir": str(root)}), {}, "source:s")
    registry = Registry(root)
    async with open_root() as context:
        children = Children(
            await mount_children(context, "s", [ChildEntry(use=module)]),
            authority=authority(registry),
            config=in_force.provider,
            native=in_force.native,
        )
        spaces = Spaces(registry, children, settings=in_force)
        if what == "create":
            fuse.armed = True
            await spaces.create(NewSpace(name="First", description="The first one"))
            await spaces.create(NewSpace(name="Second", description="The second one"))
            return
        ids = [
            (await spaces.create(NewSpace(name=name, description=name))).id
            for name in ("Target", "Source")
        ]
        for number in range(3):
            request = RememberRequest(content=f"memory {number}")
            service.namespaces[ids[1]].keep(f"m{number}", request)
        fuse.armed = True
        await spaces.merge(ids[0], ids[1:])


def main(what: str, folder: str) -> None:
    for steps in range(1_000):
        root = Path(folder) / str(steps)
        process = os.fork()
        if not process:
            fuse = Fuse(steps)
            for name in STEPS:
                setattr(os, name, fuse.wrap(getattr(os, name)))
            anyio.run(partial(work, root, what, fuse))
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) != -signal.SIGKILL:
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
