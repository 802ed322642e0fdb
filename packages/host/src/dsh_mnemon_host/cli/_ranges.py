"""Ranges of the numbers a command takes; outside of them its use is wrong."""

from __future__ import annotations

import attrs

__all__ = ("Range",)


@attrs.frozen
class Range:
    """A validator of cyclopts: a number within bounds, both of them allowed."""

    low: int
    high: int

    def __call__(self, type_: object, value: float | None) -> None:
        """Refuse a value outside; cyclopts names option and value.

        Raises:
            ValueError: The value is outside.
        """
        if value is not None and not self.low <= value <= self.high:
            raise ValueError(f"It must be within {self.low}..{self.high}.")
