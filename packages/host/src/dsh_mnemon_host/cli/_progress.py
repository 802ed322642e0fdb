"""A progress bar on standard error, where a person can see it."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Protocol

__all__ = ("Progress", "progress")


class Progress(Protocol):
    """How far something has come."""

    def update(self, done: int) -> None:
        """Show that ``done`` of all are done."""
        ...


class _Silent:
    def update(self, done: int) -> None:
        """Show nothing."""


class _Bar:
    def __init__(self, bar: Any, task: Any) -> None:
        self._bar, self._task = bar, task

    def update(self, done: int) -> None:
        self._bar.update(self._task, completed=done)


@contextmanager
def progress(total: int, label: str, *, quiet: bool) -> Generator[Progress]:
    """Show a bar on a terminal's standard error; nothing elsewhere, or when it is to be quiet."""
    if quiet or not sys.stderr.isatty():
        yield _Silent()
        return
    # Imported here: hardly a command needs it.
    from rich.console import Console
    from rich.progress import Progress as Bars

    with Bars(console=Console(stderr=True)) as bar:
        yield _Bar(bar, bar.add_task(label, total=total))
