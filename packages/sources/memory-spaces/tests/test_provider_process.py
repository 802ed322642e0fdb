"""Running a tool: time, output and cancellation have their bounds."""

import os
import sys
import time
from pathlib import Path

import anyio
import pytest
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ProviderError,
    ProviderProtocol,
    ProviderTimeout,
    ProviderUnavailable,
    WriteOutcomeUnknown,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.process import (
    MAX_OUTPUT,
    Finished,
    run_process,
)

pytestmark = [
    pytest.mark.requirement("memory-spaces:provider-process"),
    pytest.mark.skipif(sys.platform == "win32", reason="signals of processes"),
]

STUBBORN = """
trap '' TERM
echo started > "$1"
while :; do sleep 0.05; done
"""


async def shell(script: str, *arguments: object, timeout_ms: int = 20_000, write: bool = False):
    command = ["/bin/sh", "-c", script, "sh", *map(str, arguments)]
    return await run_process(command, label="Tool", timeout_ms=timeout_ms, write=write)


async def gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        await anyio.sleep(0.02)
    return False


def number_in(note: Path) -> int:
    """Return the process id a script wrote down, 0 before it did."""
    return int((note.read_text(encoding="utf-8") if note.exists() else "").strip() or 0)


async def test_output_and_code_are_returned() -> None:
    finished = await shell(r"printf 'one \377'; printf two >&2; exit 3")
    assert finished == Finished(code=3, output="one �", errors="two")


async def test_nothing_is_read_from_the_terminal() -> None:
    assert (await shell("cat; echo done")).output == "done\n"


async def test_arguments_are_no_shell(tmp_path: Path) -> None:
    word = "$(touch broken); `id` '"
    finished = await run_process(
        ["printf", "%s", word], label="Tool", timeout_ms=20_000, cwd=tmp_path
    )
    assert finished.output == word
    assert not await anyio.Path(tmp_path / "broken").exists()


async def test_environment_and_folder_are_what_was_given(tmp_path: Path) -> None:
    finished = await run_process(
        ["/bin/sh", "-c", "pwd; echo $GIVEN$HOME"],
        label="Tool",
        timeout_ms=20_000,
        env={"GIVEN": "yes"},
        cwd=tmp_path,
    )
    assert finished.output == f"{await anyio.Path(tmp_path).resolve()}\nyes\n"


@pytest.mark.parametrize("command", ["/no/such/tool", "bad\0name"])
async def test_a_tool_that_is_not_there_is_unavailable(command: str) -> None:
    with pytest.raises(ProviderUnavailable):
        await run_process([command], label="Tool", timeout_ms=1_000, write=True)


@pytest.mark.parametrize(
    ("write", "error"), [(False, ProviderTimeout), (True, WriteOutcomeUnknown)]
)
async def test_its_time_is_up(write: bool, error: type[ProviderError]) -> None:
    with pytest.raises(error) as caught:
        await shell("sleep 60", timeout_ms=100, write=write)
    assert caught.value.message == "Tool did not respond within 100 ms"


async def test_a_stubborn_tool_is_ended_after_the_grace(tmp_path: Path) -> None:
    began = tmp_path / "began"
    started = time.monotonic()
    with pytest.raises(ProviderTimeout):
        await shell(STUBBORN, began, timeout_ms=1_000)
    assert await anyio.Path(began).exists()
    assert 2.4 < time.monotonic() - started < 10


async def test_its_children_end_with_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    with pytest.raises(ProviderTimeout):
        await shell('sleep 60 & echo $! > "$1"; wait', note, timeout_ms=500)
    assert await gone(number_in(note))


@pytest.mark.parametrize("stream", ["1", "2"])
@pytest.mark.parametrize(
    ("write", "error"), [(False, ProviderProtocol), (True, WriteOutcomeUnknown)]
)
async def test_output_has_a_limit(stream: str, write: bool, error: type[ProviderError]) -> None:
    with pytest.raises(error):
        await shell(f"yes >&{stream}", write=write)


async def test_output_up_to_the_limit_is_whole() -> None:
    finished = await shell(f"head -c {MAX_OUTPUT} /dev/zero")
    assert len(finished.output) == MAX_OUTPUT


async def test_cancellation_ends_the_tool_and_passes(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(shell, 'echo $$ > "$1"; exec sleep 60', note)
        while not number_in(note):  # noqa: ASYNC110 - written by another process
            await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    assert await gone(number_in(note))
