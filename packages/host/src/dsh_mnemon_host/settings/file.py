"""The settings file on disk: location, reading, fenced replacement (host.md §2.6, D33, D60)."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
import attrs
from anyio import to_thread
from dsh_mnemon_core.errors import ConfigurationError, StorageError
from dsh_mnemon_core.files import atomic_write, ensure_directory, storage_error
from filelock import FileLock, Timeout
from platformdirs import user_config_path

from dsh_mnemon_host.config import home_directory

__all__ = ("FileMoved", "SettingsFile", "Stamp", "Stored", "settings_path")

SETTINGS_FILE: Final = "settings.yaml"
_MAX_BYTES: Final = 1_048_576
_LOCK_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.02
_FOLDER: Final = "dsh-mnemon"

_AT_ONCE: Final[int] = getattr(os, "O_NONBLOCK", 0)
"""Opens a pipe without waiting for the other end."""


def settings_path(profile: Path | None = None) -> Path:
    """Return where the user's settings are: beside a named profile, else the user's folder (D33).

    Args:
        profile: The profile that was named; ``None`` for the shipped one.

    Raises:
        ConfigurationError: ``home-missing``.
    """
    if profile is not None:
        return profile.parent / SETTINGS_FILE
    elsewhere = os.path.isabs(os.environ.get("XDG_CONFIG_HOME", ""))
    home = None if elsewhere else home_directory(os.environ)
    if home is None or sys.platform in ("darwin", "win32"):
        return user_config_path(_FOLDER) / SETTINGS_FILE
    # Said here and not left to the library, which knows another home where HOME is of no use.
    return home / ".config" / _FOLDER / SETTINGS_FILE


@attrs.frozen
class Stamp:
    """What tells one state of a file from another: size in bytes, mtime in ns, hex SHA-256."""

    size: int
    mtime_ns: int
    sha256: str


@attrs.frozen
class Stored:
    """The text of a file and its stamp; without a file, no text and no stamp."""

    text: str = ""
    stamp: Stamp | None = None

    @property
    def revision(self) -> int:
        """Return the revision: 0 without a file, else 52 bits of the content's digest.

        Being taken from the content, it means the same in every process and after a restart.
        """
        return 0 if self.stamp is None else int(self.stamp.sha256[:13], 16)


class FileMoved(Exception):
    """Raised when the file is no longer what the writer read; nothing was written."""


class SettingsFile:
    """One settings file, which need not exist. Every method but `locked` blocks.

    Args:
        path: The file; a link is followed, so that a linked file stays a link.
        read_only: Never write, whatever the permissions say.
        wait: Seconds to wait for another process that writes.
    """

    def __init__(self, path: Path, *, read_only: bool = False, wait: float = _LOCK_SECONDS) -> None:
        self.path = Path(os.path.realpath(path))
        self._read_only = read_only
        self._wait = wait

    def writable(self) -> bool:
        """Tell whether a change could be written, as far as permissions tell."""
        if self._read_only:
            return False
        nearest = next(folder for folder in self.path.parents if folder.exists())
        own = self.path if self.path.exists() else nearest
        return os.access(nearest, os.W_OK | os.X_OK) and os.access(own, os.W_OK)

    def read(self) -> Stored:
        """Read the file.

        Raises:
            ConfigurationError: ``settings-malformed``: no file of bytes, more than 1 MiB, or not
                UTF-8.
            StorageError: ``store-unreadable``.
        """
        try:
            with open(self.path, "rb", opener=_open_at_once) as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise self._malformed("it is no regular file")
                data = file.read(_MAX_BYTES + 1)
        except FileNotFoundError:
            return Stored()
        except OSError as error:
            raise storage_error(error, self.path, code="store-unreadable") from error
        if len(data) > _MAX_BYTES:
            raise self._malformed("it is longer than 1 MiB")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise self._malformed(f"byte {error.start} is not UTF-8") from error
        return Stored(text, Stamp(len(data), status.st_mtime_ns, hashlib.sha256(data).hexdigest()))

    def _malformed(self, problem: str) -> ConfigurationError:
        details = {"file": str(self.path), "problem": problem}
        return ConfigurationError("settings-malformed", f"{self.path}: {problem}.", details=details)

    def touched_since(self, stored: Stored) -> bool:
        """Tell by size and time alone whether the file may have changed; cheap."""
        try:
            status = self.path.stat()
        except OSError:
            return stored.stamp is not None
        known = stored.stamp
        seen = (status.st_size, status.st_mtime_ns)
        return known is None or seen != (known.size, known.mtime_ns)

    def replace(self, text: str, expected: Stored) -> Stored:
        """Write the whole file, 0600, if it still is what was read; call it while `locked`.

        Args:
            text: New content.
            expected: What the writer read.

        Returns:
            The new state.

        Raises:
            FileMoved: Somebody who knows no lock, such as an editor, changed the file.
            StorageError: ``store-unwritable``, ``store-unreadable``.
        """
        if self._found().stamp != expected.stamp:
            raise FileMoved
        atomic_write(self.path, text.encode("utf-8"), mode=0o600)
        return self.read()

    def _found(self) -> Stored:
        try:
            return self.read()
        except ConfigurationError as error:
            raise FileMoved from error  # what was read was readable

    @asynccontextmanager
    async def locked(self) -> AsyncGenerator[Callable[[], None]]:
        """Keep other processes from changing the file; makes its folder where that is missing.

        Yields:
            A function that lets the others go on before the end.

        Raises:
            StorageError: ``lock-timeout``, ``store-unwritable``.
        """
        await to_thread.run_sync(ensure_directory, self.path.parent)
        lock = FileLock(f"{self.path}.lock", mode=0o600, thread_local=False)
        deadline = anyio.current_time() + self._wait
        while not await to_thread.run_sync(_taken, lock, self.path):
            if anyio.current_time() >= deadline:
                message = f"another process keeps changing {self.path}; try again"
                raise StorageError("lock-timeout", message, retryable=True)
            await anyio.sleep(_POLL_SECONDS)
        try:
            yield lock.release
        finally:
            lock.release()


def _open_at_once(path: str, flags: int) -> int:
    """Open without waiting: nobody can end the wait of a thread for the other end of a pipe."""
    return os.open(path, flags | _AT_ONCE)


def _taken(lock: FileLock, path: Path) -> bool:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    except OSError as error:
        raise storage_error(error, path) from error
    return True
