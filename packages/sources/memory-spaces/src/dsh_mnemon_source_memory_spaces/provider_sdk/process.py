"""Running a command line tool on behalf of a Provider (spec/sources.md §4.4)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import anyio
import attrs
from anyio.abc import ByteReceiveStream, Process

from dsh_mnemon_source_memory_spaces.provider_sdk.errors import (
    ProviderProtocol,
    ProviderTimeout,
    ProviderUnavailable,
    WriteOutcomeUnknown,
)

__all__ = ("MAX_OUTPUT", "Finished", "run_process")

MAX_OUTPUT: Final = 2_097_152
"""Most bytes a tool may write, on each of its two streams."""

_GRACE: Final = 1.5
"""Seconds between asking a process to end and ending it."""


@attrs.frozen(kw_only=True)
class Finished:
    """A process that ended by itself; output decoded as UTF-8, with U+FFFD for what is none."""

    code: int
    output: str
    errors: str


class _TooMuch(Exception):
    """A stream went over its limit."""


async def run_process(
    command: Sequence[str | Path],
    *,
    label: str,
    timeout_ms: int,
    write: bool = False,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Finished:
    """Run a command to its end: no shell, nothing to read, bounded output and time.

    When its time is up, when it writes too much, or when the caller is cancelled, it is asked to
    end, and ended after 1,500 ms; its own children are asked with it.

    Args:
        command: Program and arguments. A key never belongs into an argument.
        label: The Provider's label, for messages.
        timeout_ms: Milliseconds it may take.
        write: Whether it changes something, so that a broken run leaves that open.
        env: Its whole environment; that of this process when absent.
        cwd: Its working directory.

    Returns:
        How it ended; a code other than 0 is for the caller to judge.

    Raises:
        ProviderUnavailable: It could not be started.
        ProviderTimeout: It did not end in time; ``WriteOutcomeUnknown`` for a write.
        ProviderProtocol: It wrote too much; ``WriteOutcomeUnknown`` for a write.
    """
    try:
        process = await anyio.open_process(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            env=env,
            cwd=cwd,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no valid command"
        raise ProviderUnavailable(f"{label} could not be started: {reason}") from None
    broken: ProviderTimeout | ProviderProtocol
    try:
        with anyio.move_on_after(timeout_ms / 1000):
            return await _finish(process)
        broken = ProviderTimeout(f"{label} did not respond within {timeout_ms} ms")
    except _TooMuch:
        broken = ProviderProtocol(f"{label} wrote more than {MAX_OUTPUT} bytes")
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
    raise WriteOutcomeUnknown(broken.message) if write else broken


async def _finish(process: Process) -> Finished:
    streams = (process.stdout, process.stderr)
    texts = [bytearray(), bytearray()]
    try:
        async with anyio.create_task_group() as tasks:
            for stream, text in zip(streams, texts, strict=True):
                if stream is not None:
                    tasks.start_soon(_drain, stream, text)
    except* _TooMuch:
        raise _TooMuch from None
    output, errors = (text.decode("utf-8", "replace") for text in texts)
    return Finished(code=await process.wait(), output=output, errors=errors)


async def _drain(stream: ByteReceiveStream, text: bytearray) -> None:
    async for chunk in stream:
        text += chunk
        if len(text) > MAX_OUTPUT:
            raise _TooMuch


async def _end(process: Process) -> None:
    """End a process that still runs, politely first, and give its pipes back."""
    if process.returncode is None:
        _signal(process, signal.SIGTERM)
        with anyio.move_on_after(_GRACE):
            await process.wait()
        if process.returncode is None:
            _signal(process, _KILL)
            await process.wait()
    await process.aclose()


if sys.platform == "win32":  # pragma: no cover - its groups have no signals
    _KILL: Final = signal.SIGTERM

    def _signal(process: Process, number: signal.Signals) -> None:
        del number
        process.terminate()

else:
    _KILL: Final = signal.SIGKILL

    def _signal(process: Process, number: signal.Signals) -> None:
        """Send a signal to the process and its children, a group of their own."""
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:  # pragma: no cover - it ended in between
            return
