"""The lines of standard input, read so that a signal can end the wait for them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, suppress
from threading import Thread
from typing import Final

import anyio
from anyio.from_thread import BlockingPortal
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

__all__ = ("InputLines", "input_lines")

_CHUNK_BYTES: Final = 65_536


class InputLines:
    """The lines of a stream of bytes, kept until somebody has said what became of them.

    Args:
        chunks: The bytes, in order.
    """

    def __init__(self, chunks: MemoryObjectReceiveStream[bytes]) -> None:
        self._chunks = chunks
        self._handed_out: deque[str] = deque()

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield the lines that are not blank; bytes that are no UTF-8 become lone surrogates.

        The SDK's own reader would replace them, and what was meant would be lost silently.
        """
        async for line in self._split():
            text = line.decode("utf-8", "surrogateescape")
            if text.strip():
                self._handed_out.append(text)
                yield text

    async def _split(self) -> AsyncIterator[bytes]:
        rest = b""
        async for chunk in self._chunks:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line
        yield rest

    def take(self) -> str:
        """Return the eldest line that was handed out and not taken yet."""
        return self._handed_out.popleft()


@asynccontextmanager
async def input_lines(descriptor: int) -> AsyncGenerator[InputLines]:
    """Read a file descriptor line by line, for the time of the block.

    A thread that waits for input cannot be interrupted. This one is a daemon that owns nothing:
    when the process ends, nobody waits for a client that says no more.

    Args:
        descriptor: What to read; it is not closed.
    """
    send, receive = anyio.create_memory_object_stream[bytes]()
    async with BlockingPortal() as portal, send, receive:
        Thread(target=_pump, args=(descriptor, portal, send), name="stdin", daemon=True).start()
        yield InputLines(receive)


def _pump(descriptor: int, portal: BlockingPortal, send: MemoryObjectSendStream[bytes]) -> None:
    gone = (RuntimeError, CancelledError, anyio.BrokenResourceError, anyio.ClosedResourceError)
    with suppress(OSError, *gone):
        while chunk := os.read(descriptor, _CHUNK_BYTES):
            portal.call(send.send, chunk)
    with suppress(*gone):
        portal.call(send.aclose)
