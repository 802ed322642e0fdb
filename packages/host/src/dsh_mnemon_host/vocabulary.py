"""The words memories are described with, the same for tools and commands (sources.md §4.4)."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ("Category", "Edge", "Speaker")

Category: TypeAlias = Literal["preference", "decision", "fact", "insight", "context", "general"]
"""What kind of memory it is."""

Edge: TypeAlias = Literal["temporal", "semantic", "causal", "entity"]
"""What kind of link joins two memories."""

Speaker: TypeAlias = Literal["user", "agent", "external"]
"""Who said it."""
