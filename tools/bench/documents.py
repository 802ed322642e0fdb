"""Figures of Documents: searching ten thousand of them (``python -m tools.bench documents``).

Every figure is taken in a process of its own, so that memory and caches are those of a fresh start.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import anyio
import attrs
from dsh_mnemon_core.instant import iso_utc
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_source_documents import Config, documents_source
from dsh_mnemon_source_documents._format import filename, render
from dsh_mnemon_source_documents._index import FILE, encode, place
from dsh_mnemon_source_documents._text import sha256
from dsh_mnemon_source_documents.contracts import DocumentRecord
from dsh_mnemon_testing.running import RunningSource, start_source

from tools.bench.figures import figure

DOCUMENTS: Final = 10_000
BYTES: Final = 4096
LIMIT: Final = 1_073_741_824
_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_SYLLABLES: Final = (
    "de", "ploy", "ment", "gate", "way", "api", "re", "lease", "check", "list", "data", "base",
    "mi", "gra", "tion", "ser", "ver", "con", "fig", "ure", "test", "ing", "build", "run", "book",
)  # fmt: skip


@attrs.frozen
class _Words:
    """Words of two languages; the first hundred of each are the common ones."""

    english: tuple[str, ...]
    chinese: tuple[str, ...]


def _words() -> _Words:
    chance = random.Random(1)  # noqa: S311 - made-up text
    english = {
        "".join(chance.choices(_SYLLABLES, k=chance.randint(1, 4))): None for _ in range(9000)
    }
    characters = [chr(0x4E00 + number) for number in range(3000)]
    chinese = ("".join(chance.choices(characters, k=chance.randint(2, 4))) for _ in range(5000))
    return _Words(tuple(english), tuple(chinese))


def _body(words: _Words, chance: random.Random) -> str:
    parts: list[str] = []
    size = 0
    while size < BYTES:
        pool, gap, stop = (
            (words.english, " ", ". ") if chance.random() < 0.5 else (words.chinese, "", "。")
        )
        chosen = (chance.choice(pool if chance.random() < 0.6 else pool[:100]) for _ in range(12))
        parts.append(gap.join(chosen) + stop)
        size += len(parts[-1].encode())
    return "".join(parts).strip()


def _documents(count: int) -> Iterator[tuple[DocumentRecord, bytes]]:
    words = _words()
    for number in range(count):
        chance = random.Random(number)  # noqa: S311 - made-up text
        body = _body(words, chance)
        title = " ".join(chance.choices(words.english, k=4)) + chance.choice(words.chinese)
        at = iso_utc(_START + timedelta(minutes=number))
        document_id = str(UUID(int=chance.getrandbits(128), version=4))
        name = filename(title, document_id)
        record = DocumentRecord(
            id=document_id,
            title=title,
            description=f"About {chance.choice(words.english)}",
            status="active",
            filename=name,
            relative_path=place("active", name),
            source_paths=(),
            session_ids=(),
            created_at=at,
            updated_at=at,
            last_accessed_at=at,
            revision=1,
            content_hash=sha256(body),
            size_bytes=0,
        )
        data = render(record, body)
        yield attrs.evolve(record, size_bytes=len(data)), data


def _write(root: Path, count: int) -> None:
    """Write a store as another program would leave it: without a search index."""
    (root / "documents" / "active").mkdir(parents=True)
    records: list[DocumentRecord] = []
    for record, data in _documents(count):
        (root / record.relative_path).write_bytes(data)
        records.append(record)
    (root / "documents" / FILE).write_bytes(encode(records))


def _queries(count: int) -> Iterator[str]:
    """Yield queries as agents write them: single words, phrases, both languages, questions."""
    words, chance = _words(), random.Random(5)  # noqa: S311 - made-up text
    english, chinese = words.english[:500], words.chinese[:300]
    for number in range(count):
        word, other, han = chance.choice(english), chance.choice(english), chance.choice(chinese)
        yield (
            word,
            f"{word} {other}",
            han,
            han + chance.choice(chinese),
            f"how do we {word} the {other} with {han}?",
            f"{word} {han}",
        )[number % 6]


def _resident() -> float:
    """Return the resident memory of this process in MB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    line = next(item for item in status.splitlines() if item.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


async def _measure(root: Path, rounds: int) -> dict[str, Any]:
    """Start the Source, compose once, search, and tell times in ms and memory in MB."""
    source: RunningSource = start_source(
        documents_source(Config(data_dir=str(root), limit_bytes=LIMIT)),
        key="source:mnemon-source-documents",
        folder=root,
        scope=OperationScope(storage="custom", workspace_id=str(root)),
        configuration={},
        secrets={},
    )
    before = _resident()
    start = time.perf_counter()
    grant = await source.grant()
    composed = (time.perf_counter() - start) * 1000
    times: list[float] = []
    for query in _queries(rounds):
        start = time.perf_counter()
        await source.query("search", {"query": query}, grant=grant)
        times.append((time.perf_counter() - start) * 1000)
    grown = _resident() - before
    start = time.perf_counter()
    await source.grant()
    again = (time.perf_counter() - start) * 1000
    await source.dispose()
    return {"composed": composed, "again": again, "times": times, "grown": grown}


def _fresh(root: Path, rounds: int) -> dict[str, Any]:
    """Measure in a process of its own."""
    command = [sys.executable, "-m", __name__, str(root), str(rounds)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    measured: dict[str, Any] = json.loads(output)
    return measured


def report(*, quick: bool) -> list[str]:
    """Return the table; ``quick`` measures little, to see that everything runs."""
    count, rounds = (300, 20) if quick else (DOCUMENTS, 300)
    lines = [f"cores {os.cpu_count()}, Python {sys.version.split()[0]}, {count} documents"]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _write(root, count)
        time.sleep(0.1)  # files of this very moment are not indexed
        for name in ("without a search index", "with a search index"):
            told = _fresh(root, rounds)
            times: list[float] = told["times"]
            settled = times[len(times) // 3 :]
            slow = sum(item > 500 for item in times)
            lines += [
                f"{name}:",
                f"{'  first search after start':<52} {times[0]:9.1f} ms  (aim 1500 ms)",
                figure("  search, p50", settled).line(aim="(aim 30 ms)"),
                f"{'  searches that indexed on the way':<52} {slow:9}",
                f"{'  slowest of them':<52} {max(times):9.1f} ms",
                f"{'  resident growth':<52} {told['grown']:9.1f} MB  (aim 60 MB)",
                f"{'  facts and grant, first and again':<52} {told['composed']:9.1f} ms"
                f"  {told['again']:.1f} ms",
            ]
        size = sum(path.stat().st_size for path in (root / "documents" / ".search").iterdir())
        lines.append(f"{'search index on disk':<52} {size / 1e6:9.1f} MB")
    return lines


if __name__ == "__main__":
    print(json.dumps(anyio.run(_measure, Path(sys.argv[1]), int(sys.argv[2]))))
