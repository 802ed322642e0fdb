"""Failures that name what was done, or wanted, before them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
from dsh_mnemon_core.errors import MnemonError

__all__ = ("Telling",)


@attrs.frozen
class Telling:
    """Add details to whatever refusal leaves the block.

    Args:
        details: Returns them once something fails, camelCase.
    """

    details: Callable[[], Mapping[str, Any]]

    def __enter__(self) -> None:
        """Enter the block."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Leave the block; nothing is swallowed."""
        if isinstance(error, MnemonError):
            error.details = {**error.details, **self.details()}
