"""Figures of the whole default composition: one turn, and ten thousand of them."""

from __future__ import annotations

import itertools
import resource
import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from dsh_mnemon import DEFAULT_PROFILE
from dsh_mnemon_host import MemoryHost

from tools.bench.figures import Figure, figure, measure

__all__ = ("report",)

ENTRIES, DOCUMENTS, SPACES, INSIGHTS = 200, 500, 3, 1_000
TURNS = 10_000
_BATCH = 1_000


@asynccontextmanager
async def _filled(folder: Path) -> AsyncGenerator[MemoryHost]:
    """Open a Host over the default profile, with memory of every kind in it."""
    workspace = folder / "workspace"
    workspace.mkdir()
    settings = folder / "settings.yaml"
    settings.write_text("runtimeMemory: {memoryLimitBytes: 1000000}\n", encoding="utf-8")
    opening = MemoryHost.open(
        profile=DEFAULT_PROFILE,
        workspace=workspace,
        settings=settings,
        env={"MNEMON_DATA_DIR": str(folder / "data")},
        home=folder,
    )
    async with opening as host:
        for index in range(ENTRIES):
            content = f"Entry {index}: a fact of ordinary length, 记忆."
            await host.people.write_runtime(
                {"action": "add", "target": "memory", "content": content}
            )
        for index in range(DOCUMENTS):
            body = f"# Note {index}\n\n" + "Some words on one subject, 文档。\n" * 20
            await host.people.write_document(
                {"action": "create", "title": f"Note {index}", "content": body}
            )
        for index in range(SPACES):
            await _space(host, index)
        yield host


async def _space(host: MemoryHost, index: int) -> None:
    request = {"name": f"Space {index}", "description": "Measured.", "active": True}
    made = await host.people.change(
        "memory-spaces", "body-create", {"request": request}, capability="write"
    )
    insights = [
        {"content": f"Insight {number} of space {index}: what was decided, and why, 决定."}
        for number in range(INSIGHTS)
    ]
    await host.people.change(
        "memory-spaces",
        "body-import",
        {"memoryBodyId": made.value["body"]["id"], "insights": insights, "edges": []},
        capability="import",
    )


async def _measured(turns: int) -> tuple[Figure, Figure, list[Figure], list[int]]:
    with tempfile.TemporaryDirectory() as folder:
        async with _filled(Path(folder)) as host:
            graph = await host.graph()
            scope = graph.scope(host.workspace, "bench")
            numbers = iter(range(10**9))

            async def compose() -> None:
                turn_id = f"bench:{next(numbers)}"
                await graph.turns.begin_turn(turn_id, scope)
                graph.turns.end_turn(turn_id)

            agent = host.agent()

            async def whole() -> None:
                async with agent.turn():
                    pass

            composed = await measure(
                "compose a turn (full default composition)", compose, rounds=200
            )
            turn = await measure("a whole turn of an agent", whole, rounds=200)
            slices: list[Figure] = []
            resident: list[int] = []
            for start in range(0, turns, _BATCH):
                name = f"turns {start + 1} to {start + _BATCH}"
                slices.append(await measure(name, whole, rounds=min(_BATCH, turns), warm=0))
                resident.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
            return composed, turn, slices, resident


def report(*, quick: bool = False) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"{ENTRIES} entries, {DOCUMENTS} documents, {SPACES} spaces of {INSIGHTS} insights"
    composed, turn, slices, resident = anyio.run(_measured, 2 * _BATCH if quick else TURNS)
    yield composed.line(aim="aim: p50 <= 8 ms")
    yield turn.line()
    for item, kilobytes in zip(slices, resident, strict=True):
        yield f"{item.line()}  resident {kilobytes / 1024:.1f} MB"
    growth = figure("growth", [b - a for a, b in itertools.pairwise(resident)] + [0])
    yield f"resident growth a thousand turns, median: {growth.median / 1024:.2f} MB (aim: none)"
