"""The Host of dsh-mnemon: turns, storage, settings, tools, command line and MCP.

`MemoryHost` is what an agent loop opens; ``plugin`` is the row of a profile. Both are imported when
they are first asked for, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dsh_mnemon_host.memory_host import MemoryHost
    from dsh_mnemon_host.seat import plugin

__all__ = ("MemoryHost", "plugin")


def __getattr__(name: str) -> Any:
    if name == "MemoryHost":
        from dsh_mnemon_host.memory_host import MemoryHost

        return MemoryHost
    if name == "plugin":
        from dsh_mnemon_host.seat import plugin

        return plugin
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
