"""What a measurement says: a median with its spread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable, Sequence

import attrs


@attrs.frozen
class Figure:
    """Times of one thing in ms: median, and the quartiles around it."""

    name: str
    median: float
    low: float
    high: float

    def line(self, against: Figure | None = None, aim: str = "") -> str:
        """Return one line of a table, with the ratio to another figure when there is one."""
        ratio = f"  {self.median / against.median:5.1f}x of {against.name}" if against else ""
        spread = f"[{self.low:.2f} .. {self.high:.2f}]"
        return f"{self.name:<52} {self.median:9.2f} ms  {spread:<20}{ratio}  {aim}".rstrip()


def figure(name: str, times_ms: Sequence[float]) -> Figure:
    """Summarize times in ms."""
    quartiles = statistics.quantiles(times_ms, n=4)
    return Figure(name, quartiles[1], quartiles[0], quartiles[2])


async def measure(
    name: str, operation: Callable[[], Awaitable[object]], *, rounds: int, warm: int = 3
) -> Figure:
    """Time an operation ``rounds`` times, after some unmeasured ones."""
    for _ in range(warm):
        await operation()
    times: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        await operation()
        times.append((time.perf_counter() - start) * 1000)
    return figure(name, times)


def interleave(
    operations: dict[str, Callable[[], object]], *, rounds: int, warm: int = 2
) -> dict[str, Figure]:
    """Time several operations in turn, so that noise meets them alike."""
    times: dict[str, list[float]] = {name: [] for name in operations}
    for index in range(rounds + warm):
        for name, operation in operations.items():
            start = time.perf_counter()
            operation()
            if index >= warm:
                times[name].append((time.perf_counter() - start) * 1000)
    return {name: figure(name, values) for name, values in times.items()}
