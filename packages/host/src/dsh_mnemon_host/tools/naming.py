"""Which tool a caller probably meant (D59)."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Final, Protocol

from dsh_mnemon_core.errors import InputError

from dsh_mnemon_host.agent_host import ToolHints

__all__ = ("Named", "unknown_tool")

_PREFIX: Final = "mnemon_"
_LIKENESS: Final = 0.8
_SURE: Final = 0.9
"""Likeness from which on a tool is proposed that can destroy something."""


class Named(Protocol):
    """A tool, as far as it is proposed."""

    @property
    def name(self) -> str:
        """Name the model calls it by."""
        ...

    @property
    def hints(self) -> ToolHints:
        """What it may do."""
        ...


def unknown_tool(name: str, tools: Collection[Named]) -> InputError:
    """Return the refusal of a name, ``tool-unknown``; it proposes a tool of nearly the same name.

    What all names have in common tells nothing, so it is not compared. A model may follow the
    proposal blindly: one that can destroy something must all but have that name.
    """
    meant = name.removeprefix(_PREFIX)
    likeness = {tool.name: _alike(meant, tool.name.removeprefix(_PREFIX)) for tool in tools}
    least = {tool.name: _SURE if tool.hints.destructive else _LIKENESS for tool in tools}
    near = [known for known, degree in likeness.items() if degree >= least[known]]
    hint = f" (did you mean {max(near, key=likeness.__getitem__)!r}?)" if near else ""
    return InputError("tool-unknown", f"there is no tool {name!r}{hint}")


def _alike(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one.lower(), other.lower()).ratio()
