"""Figures of the foundation: composing, adding, starting, idling."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
from dsh_mnemon_core._engine.compose import compose
from dsh_mnemon_core.files import sync_directory
from dsh_mnemon_core.plugin import Contributions
from dsh_mnemon_core.runtime import GenerationOptions, MemoryRuntime, open_runtime
from dsh_mnemon_core.scope import OperationScope, ViewRequest
from dsh_mnemon_core.source import ManagementRequest
from dsh_mnemon_source_runtime.source import runtime_source
from dsh_mnemon_strategy_default_three_tier import layered_strategy
from dsh_mnemon_testing.fakes import fake_source

from tools.bench.figures import Figure, figure, interleave, measure

SCOPE = OperationScope(storage="custom")
RUNTIME_KEY = "source:mnemon-source-runtime"
ENTRIES = 200


def _small_source(type_id: str, role: str, action: str, route: str) -> dict[str, Any]:
    """Describe a Source with one route, one action and a short cover."""
    schema = {"type": "object", "properties": {"query": {"type": "string"}}}
    return {
        "manifest": {
            "apiVersion": "dsh-mnemon/v1",
            "kind": "source",
            "typeId": type_id,
            "packageName": f"bench-source-{type_id}",
            "role": role,
            "capabilities": ["project", "search", "write"],
            "consistency": "namespace-pinned-live-read",
            "routes": [
                {
                    "id": route,
                    "description": "Read.",
                    "capability": "search",
                    "inputSchema": schema,
                    "maxCalls": 4,
                }
            ],
            "actions": [
                {
                    "id": action,
                    "description": "Write.",
                    "capability": "write",
                    "inputSchema": schema,
                }
            ],
        },
        "project": {"text": f"A short cover of {type_id}.", "grant": True},
    }


def _install(runtime: MemoryRuntime, root: Path) -> None:
    definitions = {
        "mnemon-source-runtime": Contributions(sources=(runtime_source(),)),
        "small-documents": Contributions(
            sources=(fake_source(_small_source("documents", "narrative", "manage", "search")),)
        ),
        "small-spaces": Contributions(
            sources=(
                fake_source(
                    _small_source("memory-spaces", "durable-evidence", "remember", "recall")
                ),
            )
        ),
        "layered": Contributions(strategies=(layered_strategy(),)),
    }
    for entry_id, contributions in definitions.items():
        runtime.service.install_contributions(entry_id, contributions)


def _options(root: Path) -> GenerationOptions:
    def configuration(source: Any) -> dict[str, Any]:
        own = source.instance_key == RUNTIME_KEY
        return {"dataDir": str(root), "memoryLimitBytes": 1_000_000} if own else {}

    return GenerationOptions(source_configuration=configuration)


async def _mutation(attachment: Any, content: str) -> None:
    revision = await attachment.management_revision(RUNTIME_KEY, SCOPE)
    await attachment.execute_management(
        ManagementRequest(
            source_instance_key=RUNTIME_KEY,
            scope=SCOPE,
            mode="mutate",
            operation="mutate",
            input={"action": "add", "target": "memory", "content": content},
            expected_revision=revision,
            confirmed=True,
        )
    )


async def composing(rounds: int) -> Figure:
    """Time the View of Runtime with 200 entries and two small Sources under Layered."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_runtime() as runtime:
            _install(runtime, Path(folder))
            attachment = runtime.attach_generation(_options(Path(folder)))
            for index in range(ENTRIES):
                await _mutation(attachment, f"Entry {index}: a fact of ordinary length, 记忆.")
            with attachment.host.acquire() as lease:
                generation = lease.generation

                async def once() -> object:
                    return await compose(generation, ViewRequest(scope=SCOPE))

                return await measure("compose a turn (200 entries, 3 Sources)", once, rounds=rounds)


async def _authorized(_offer: Any) -> bool:
    return True


def _bare_write(path: Path, data: bytes) -> None:
    """Write, fsync and rename, as any durable replacement must."""
    temporary = path.with_suffix(".tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(temporary, path)


def _inodes(folder: Path) -> dict[Path, int]:
    """Return which files stand in a folder: a replaced one has another inode."""
    return {path: path.stat().st_ino for path in folder.iterdir()}


def _settle(*folders: Path) -> None:
    """Leave nothing for the file system to catch up with in the next measurement."""
    for folder in folders:
        sync_directory(folder)


async def adding(rounds: int) -> tuple[Figure, Figure]:
    """Time an add against a bare replacement of the very files that it replaced, fsync in both."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        store = root / "runtime"
        async with open_runtime() as runtime:
            _install(runtime, root)
            attachment = runtime.attach_generation(_options(root))
            for index in range(20):
                await _mutation(attachment, f"Warm entry {index}.")
            add_times, bare_times, replaced = list[float](), list[float](), list[Path]()
            turn = await attachment.turns.begin_turn("bench", SCOPE)
            offer = f"{RUNTIME_KEY}/mutate"
            for index in range(rounds):
                entry = {
                    "action": "add",
                    "target": "memory",
                    "content": f"Measured entry {index}, of ordinary length.",
                }
                before = _inodes(store)
                _settle(root, store)
                start = time.perf_counter()
                await attachment.turns.execute_action(
                    turn.turn_id, offer, entry, authorize=_authorized
                )
                add_times.append((time.perf_counter() - start) * 1000)
                replaced = [
                    path for path, inode in _inodes(store).items() if before.get(path) != inode
                ]
                data = [file.read_bytes() for file in sorted(replaced)]
                _settle(root, store)
                start = time.perf_counter()
                for number, content in enumerate(data):
                    _bare_write(root / f"bare-{number}", content)
                bare_times.append((time.perf_counter() - start) * 1000)
        return (
            figure(f"add with fsync ({len(replaced)} files)", add_times),
            figure("bare write-fsync-rename", bare_times),
        )


def _run(command: Sequence[str], env: dict[str, str]) -> None:
    subprocess.run(command, check=True, capture_output=True, env=env)


def starting(rounds: int) -> dict[str, Figure]:
    """Time whole processes against ``python -c pass`` with compiled bytecode in place."""
    command = str(Path(sys.executable).with_name("dsh-mnemon"))
    with tempfile.TemporaryDirectory() as folder:
        env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        env |= {"MNEMON_DATA_DIR": folder, "XDG_CONFIG_HOME": folder}
        _run([command, "runtime", "add", "--target", "user", "Prefers short answers"], env)
        return interleave(
            {
                "python -c pass": lambda: _run([sys.executable, "-c", "pass"], env),
                "dsh-mnemon --version": lambda: _run([command, "--version"], env),
                "dsh-mnemon runtime list": lambda: _run([command, "runtime", "list"], env),
            },
            rounds=rounds,
        )


def idling() -> float:
    """Return the resident memory of an idle ``serve`` in MB."""
    command = str(Path(sys.executable).with_name("dsh-mnemon"))
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "MNEMON_DATA_DIR": folder, "XDG_CONFIG_HOME": folder}
        with subprocess.Popen(
            [command, "serve", "--port", "0"],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdout is not None  # noqa: S101 - a pipe was asked for
            process.stdout.readline()
            time.sleep(1.0)
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
            process.terminate()
    line = next(item for item in status.splitlines() if item.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def report(*, quick: bool) -> list[str]:
    """Return the table; ``quick`` measures little, to see that everything runs."""
    lines = [f"cores {os.cpu_count()}, Python {sys.version.split()[0]}"]
    lines.append(anyio.run(composing, 20 if quick else 300).line(aim="(original: 4.4 ms)"))
    added, bare = anyio.run(adding, 5 if quick else 60)
    lines += [bare.line(), added.line(bare, "(aim 3x)")]
    started = starting(2 if quick else 15)
    base = started["python -c pass"]
    lines.append(base.line())
    lines.append(started["dsh-mnemon --version"].line(base, "(aim 3x)"))
    lines.append(started["dsh-mnemon runtime list"].line(base, "(aim 6x)"))
    lines.append(f"{'resident memory of serve, idle':<52} {idling():9.1f} MB")
    return lines
