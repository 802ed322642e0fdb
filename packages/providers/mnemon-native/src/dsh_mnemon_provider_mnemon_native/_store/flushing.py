"""Sync what is committed to the disk, behind the caller's back (spec/mnemon-native.md §2.6).

A commit in the write-ahead log outlives the death of the process at once: the system has the
pages. That it outlives a power cut as well takes the disk some milliseconds, which nobody has to
wait for; an archived original, whose source is deleted next, is synced before it is acknowledged.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

__all__ = ("Flusher",)

_sync = getattr(os, "fdatasync", os.fsync)


class Flusher:
    """A thread that syncs the log of one store after commits; several commits at once."""

    def __init__(self, database: Path) -> None:
        self._log = database.with_name(f"{database.name}-wal")
        self._wanted = threading.Event()
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def request(self) -> None:
        """Ask for a sync of what is committed by now."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="mnemon-sync", daemon=True)
            self._thread.start()
        self._wanted.set()

    def close(self) -> None:
        """Sync what was asked for, and end the thread."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._is_closed = True
            self._wanted.set()
            thread.join()
            self._is_closed = False

    def _work(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            closing = self._is_closed
            # A log that is gone was copied into the database and synced there.
            with suppress(OSError):
                self._flush()
            if closing:
                return

    def _flush(self) -> None:
        descriptor = os.open(self._log, os.O_RDWR)
        try:
            _sync(descriptor)
        finally:
            os.close(descriptor)
