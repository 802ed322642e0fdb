"""One registry file: read when it changed, and copied aside when it is damaged (blocking)."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias

import attrs
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_core.files import atomic_write, storage_error

from dsh_mnemon_source_memory_spaces._registry.content import Content
from dsh_mnemon_source_memory_spaces._registry.faults import Damage, DamagedRegistry
from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import ProviderManifest

__all__ = ("Manifests", "Part", "RegistryFile")

Manifests: TypeAlias = Mapping[str, ProviderManifest]
Signature: TypeAlias = tuple[int, int, int]

_MAX_BYTES: Final = 64 * 1024 * 1024

# A file changed again within one tick of its clock may keep its signature.
_TICK: Final = 50_000_000

# Somebody may swap a pipe in between looking and opening; Windows has no such flag.
_AT_ONCE: Final[int] = getattr(os, "O_NONBLOCK", 0)


@attrs.frozen(kw_only=True)
class Part:
    """What one file says.

    Attributes:
        data: All its bytes; ``None`` when there is no file or it cannot be read.
        content: Its share of the content; with a fault only what can be read all the same.
        fault: Why it cannot be read or understood.
    """

    path: Path
    data: bytes | None = attrs.field(default=None, repr=False)
    content: Content = attrs.field(factory=Content)
    fault: StorageError | None = None


@attrs.frozen(kw_only=True)
class _Memo:
    signature: Signature
    manifests: Manifests
    part: Part


class RegistryFile:
    """A registry file and how its bytes are understood; not thread-safe.

    Args:
        path: The file; links are followed.
        decode: Reads its bytes; raises `Damage`.
    """

    def __init__(self, path: Path, decode: Callable[[bytes, Manifests], Content]) -> None:
        self.path = path
        self._decode = decode
        self._absent = Part(path=path)
        self._memo: _Memo | None = None

    @property
    def target(self) -> Path:
        """The file that is written: what a link leads to."""
        return Path(os.path.realpath(self.path)) if self.path.is_symlink() else self.path

    def read(self, manifests: Manifests) -> Part:
        """Return what the file says; the same part while (inode, mtime ns, size) are the same."""
        try:
            status = self.path.stat()
            memo = self._memo
            if memo and memo.signature == _signature(status) and memo.manifests == manifests:
                return memo.part
            self._memo = None
            data = self._read(status)
        except FileNotFoundError:
            if not self.path.is_symlink():
                return self._absent
            # What it leads to may be on a disk that is not there right now.
            return Part(path=self.path, fault=DamagedRegistry(self.path, "dangling-link"))
        except StorageError as fault:
            return Part(path=self.path, fault=fault)
        except OSError as error:
            return Part(
                path=self.path, fault=storage_error(error, self.path, code="store-unreadable")
            )
        part = self._understood(data, manifests)
        if time.time_ns() - status.st_mtime_ns > _TICK and part.fault is None:
            self._memo = _Memo(signature=_signature(status), manifests=dict(manifests), part=part)
        return part

    def _read(self, status: os.stat_result) -> bytes:
        if not stat.S_ISREG(status.st_mode):
            raise DamagedRegistry(self.path, "not-a-regular-file")
        if status.st_size > _MAX_BYTES:
            raise DamagedRegistry(self.path, "too-large")
        with open(self.path, "rb", opener=_open_at_once) as file:
            return file.read()

    def _understood(self, data: bytes, manifests: Manifests) -> Part:
        try:
            return Part(path=self.path, data=data, content=self._decode(data, manifests))
        except Damage as damage:
            fault = DamagedRegistry(
                self.path, damage.reason, damage.index, self._copy(data), damage.space_id
            )
            return Part(path=self.path, data=data, content=damage.content, fault=fault)

    def keep_copy(self, part: Part, now: datetime) -> bool:
        """Copy damaged bytes to ``<name>.corrupt-<time>``, once; tell whether that was done."""
        data = part.data
        too_new = isinstance(part.fault, DamagedRegistry) and part.fault.too_new
        if part.fault is None or data is None or too_new or self._copy(data) is not None:
            return False
        stamp = now.strftime("%Y%m%dT%H%M%S%fZ")
        atomic_write(self.path.with_name(f"{self.path.name}.corrupt-{stamp}"), data)
        return True

    def _copy(self, data: bytes) -> Path | None:
        """Return the copy that holds exactly these bytes."""
        for candidate in sorted(self.path.parent.glob(f"{self.path.name}.corrupt-*")):
            with suppress(OSError):
                if candidate.stat().st_size == len(data) and candidate.read_bytes() == data:
                    return candidate
        return None


def _signature(status: os.stat_result) -> Signature:
    return status.st_ino, status.st_mtime_ns, status.st_size


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | _AT_ONCE)
