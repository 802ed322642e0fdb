"""How quick the embedded engine is: ``python -m tools.bench native [--quick] [--locomo PATH]``.

Every size is measured in a process of its own, so that memory is that of a fresh start.
"""

from __future__ import annotations

import gc
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Final

import anyio
import attrs
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore, StoreOptions
from dsh_mnemon_provider_mnemon_native._hybrid import HybridRanking
from dsh_mnemon_provider_mnemon_native._ranking import Query
from dsh_mnemon_provider_mnemon_native._store.opening import create_file
from dsh_mnemon_provider_mnemon_native._write.drafts import checked
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight
from dsh_mnemon_source_memory_spaces.provider_sdk import DraftInsight

from tools.bench.figures import Figure, figure
from tools.bench.sets import locomo

SIZES: Final = (100, 1_000, 10_000, 100_000)
RECALL_AIMS: Final = {100: 5, 1_000: 10, 10_000: 25, 100_000: 80}
REMEMBER_AIMS: Final = {100: 5, 1_000: 5, 10_000: 5, 100_000: 10}
_OPEN_AIM, _MEMORY_AIM, _BLOCKED_AIM = 150, 2_000, 10

_TELLING: Final = 10_000

_PART: Final = 5_000
"""Insights of one draft."""
_TICK: Final = 0.001


def _synthetic() -> tuple[list[str], list[str]]:
    """Make turns and questions from a vocabulary as skewed as that of a language (Zipf)."""
    picked = random.Random(20_260)  # noqa: S311 - reproducible, not secret
    syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er")]
    words = ["".join(picked.choices(syllables, k=picked.randint(1, 4))) for _ in range(9_000)]
    weights = [1 / rank for rank in range(3, len(words) + 3)]
    names = [word.capitalize() for word in picked.sample(words, 40)]

    def said(least: int, most: int) -> str:
        return " ".join(picked.choices(words, weights, k=picked.randint(least, most)))

    turns = [f"{picked.choice(names)}: I {said(8, 28)}." for _ in range(6_000)]
    questions = [f"What did {picked.choice(names)} {said(2, 6)}?" for _ in range(500)]
    return turns, questions


def _talk(path: Path | None) -> tuple[str, list[str], list[str]]:
    if path is None or not path.is_file():
        return ("made turns (no LoCoMo file)", *_synthetic())
    _, talks = locomo(path)
    turns = [content for talk in talks for _, content, _ in talk.memories]
    questions = [question.text for talk in talks for question in talk.questions]
    return "turns of LoCoMo, repeated under new names", turns, questions


def _endless(turns: Sequence[str]) -> Iterator[DraftInsight]:
    """Yield insights without end: each round has speakers, a source and dates of its own."""
    for number in count():
        for place, turn in enumerate(turns):
            name, colon, said = turn.partition(":")
            day = f"20{number % 80 + 10}-{place // 28 % 12 + 1:02d}-{place % 28 + 1:02d}"
            yield DraftInsight(
                content=f"{name}{number or ''}{colon}{said}",
                source=f"talk {number % 20}",
                created_at=f"{day}T09:00:00Z",
            )


def _resident() -> int:
    """Return the resident memory of this process in bytes."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    line = next(item for item in status.splitlines() if item.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


@attrs.frozen
class Measured:
    """Figures of one size; times in ms, memory in bytes an insight."""

    imported: float
    opening: float
    recalls: Figure
    remembers: Figure
    syncs: Figure
    memory: float
    blocked: float


async def _blocked(scope: anyio.CancelScope, longest: list[float]) -> None:
    """Note by how much a tick of the event loop came late at most, in ms."""
    with scope:
        while True:
            start = time.perf_counter()
            await anyio.sleep(_TICK)
            longest[0] = max(longest[0], (time.perf_counter() - start - _TICK) * 1000)


async def measure(size: int, turns: list[str], questions: list[str], rounds: int) -> Measured:
    """Fill a store and measure it."""
    picked = random.Random(size)  # noqa: S311 - reproducible, not secret
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mnemon.db"
        options = StoreOptions(ranking=HybridRanking)
        imported = await _fill(path, options, size, turns)
        gc.collect()
        before = _resident()
        store = MnemonStore(path, options)
        start = time.perf_counter()
        await store.status()
        opening = (time.perf_counter() - start) * 1000
        recalls, remembers, longest = list[float](), list[float](), [0.0]
        async with anyio.create_task_group() as group:
            scope = anyio.CancelScope()
            group.start_soon(_blocked, scope, longest)
            for _ in range(rounds):
                query = Query(text=picked.choice(questions), limit=10)
                start = time.perf_counter()
                await store.recall(query)
                recalls.append((time.perf_counter() - start) * 1000)
            for _ in range(rounds):
                insight = NewInsight(content=f"{picked.choice(turns)} {uuid.uuid4().hex[:8]}")
                start = time.perf_counter()
                await store.remember(insight)
                remembers.append((time.perf_counter() - start) * 1000)
            scope.cancel()
        memory = (_resident() - before) / size
        # Of the same disk at the same time: each remember waits for one.
        syncs = _syncing(Path(folder))
        await store.aclose()
    return Measured(
        imported=imported,
        opening=opening,
        recalls=figure(f"recall at {size:,}", recalls),
        remembers=figure(f"remember at {size:,}", remembers),
        syncs=syncs,
        memory=memory,
        blocked=longest[0],
    )


async def _fill(path: Path, options: StoreOptions, size: int, turns: list[str]) -> float:
    """Import so many insights; return how many a second."""
    create_file(path)
    store = MnemonStore(path, options)
    insights = list(islice(_endless(turns), size))
    start = time.perf_counter()
    for first in range(0, size, _PART):
        await store.import_draft(checked(insights[first : first + _PART]))
    took = time.perf_counter() - start
    await store.aclose()
    return size / took


def _lines(size: int, found: Measured) -> Iterator[str]:
    yield found.recalls.line(aim=f"(aim {RECALL_AIMS[size]} ms)")
    yield found.remembers.line(aim=f"(aim {REMEMBER_AIMS[size]} ms)")
    yield found.syncs.line()
    yield f"{f'opening {size:,}':<52} {found.opening:9.2f} ms  (aim {_OPEN_AIM} ms)"
    yield f"{f'import of {size:,}':<52} {found.imported:9.0f} a second  (aim 1,000)"
    # What any open store takes, some MB, would be all there is to see in a small one.
    if size >= _TELLING:
        memory = f"{found.memory:9.0f} B an insight  (aim {_MEMORY_AIM:,})"
        yield f"{f'resident memory at {size:,}':<52} {memory}"
    yield f"{'latest tick of the event loop':<52} {found.blocked:9.2f} ms  (aim {_BLOCKED_AIM} ms)"


def _syncing(folder: Path) -> Figure:
    """Time what a durable write costs in a folder, with nothing around it."""
    times: list[float] = []
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        for _ in range(50):
            start = time.perf_counter()
            os.write(file.fileno(), bytes(4_096))
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - start) * 1000)
    return figure("one fdatasync of 4 kB", times)


def report(path: Path | None, *, quick: bool) -> Iterator[str]:
    """Yield the tables; each size is measured by a process that runs this module."""
    what, _, _ = _talk(path)
    yield f"cores {os.cpu_count()}, Python {sys.version.split()[0]}, {what}"
    for size in SIZES[:2] if quick else SIZES:
        asked = [str(size), "10" if quick else "100", *([str(path)] if path else [])]
        command = [sys.executable, "-m", "tools.bench.native", *asked]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        yield from json.loads(run.stdout)


def _main(size: int, rounds: int, path: Path | None) -> None:
    _, turns, questions = _talk(path)
    print(json.dumps(list(_lines(size, anyio.run(measure, size, turns, questions, rounds)))))


if __name__ == "__main__":
    arguments = sys.argv[1:]
    _main(int(arguments[0]), int(arguments[1]), Path(arguments[2]) if arguments[2:] else None)
