"""Which workspace a path is: its canonical form, its id, its kind (host.md §3.2, D61)."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

from dsh_mnemon_core.errors import ConfigurationError, InputError, StorageError

from dsh_mnemon_host.config import absolute

__all__ = (
    "canonical_workspace",
    "check_workspace",
    "is_worktree",
    "read_workspace",
    "workspace_id",
)


def read_workspace(path: str) -> Path:
    """Read a workspace path and normalize its text; no link is followed.

    Raises:
        InputError: ``workspace-not-absolute`` (also for a NUL), ``text-not-unicode``.
    """
    if "\0" in path or not os.path.isabs(path):
        raise InputError("workspace-not-absolute", "a workspace must be an absolute path")
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        message = "the workspace path holds bytes that are no Unicode text"
        raise InputError("text-not-unicode", message) from None
    return absolute(path)


def canonical_workspace(path: str) -> Path:
    """Return the real path of the deepest existing ancestor plus the missing rest, as typed.

    Creates nothing and remembers nothing: identity follows the disk, so a link to a workspace is
    that workspace and a renamed one is another.

    Args:
        path: Absolute path, without NUL; need not exist.

    Raises:
        InputError: As `read_workspace`.
        StorageError: ``workspace-unreadable``; ``details`` hold ``reason``, an errno name such as
            ``ENOTDIR`` or ``EACCES``.

    Source: spec/host.md §3.2.
    """
    existing, missing = read_workspace(path), list[str]()
    while True:
        try:
            real = Path(os.path.realpath(existing, strict=True))
        except FileNotFoundError:
            missing.append(existing.name)
            existing = existing.parent
        except OSError as error:
            raise _unreadable(path, error.errno or 0) from error
        else:
            break
    if missing and not real.is_dir():
        raise _unreadable(path, errno.ENOTDIR)
    return real.joinpath(*reversed(missing))


def check_workspace(path: Path) -> None:
    """Make sure that a workspace somebody named is a directory.

    Args:
        path: The path; a relative one starts at the process's directory.

    Raises:
        ConfigurationError: ``workspace-missing``.
        StorageError: ``workspace-unreadable``, as `canonical_workspace`.
    """
    try:
        there = path.is_dir()
    except OSError as error:
        raise _unreadable(str(path), error.errno or 0) from error
    if not there:
        raise ConfigurationError("workspace-missing", f"{path} is not a directory")


def _unreadable(path: str, number: int) -> StorageError:
    reason = errno.errorcode.get(number, "unknown")
    return StorageError(
        "workspace-unreadable",
        f"the workspace {path} cannot be used: {os.strerror(number)}",
        details={"workspace": path, "reason": reason},
    )


def workspace_id(path: str) -> str:
    """Return the id of a workspace: hex SHA-256 of its canonical path in UTF-8.

    Raises:
        InputError, StorageError: As `canonical_workspace`.
    """
    return hashlib.sha256(str(canonical_workspace(path)).encode("utf-8")).hexdigest()


def is_worktree(path: Path) -> bool:
    """Tell whether a path lies in a linked git worktree; never raises.

    The nearest ``.git`` upwards decides: in a linked worktree it is a file that points at a folder
    with a ``commondir``; in a submodule that folder has none.
    """
    try:
        for folder in (path, *path.parents):
            marker = folder / ".git"
            if marker.is_dir():
                return False
            if marker.is_file():
                with marker.open(encoding="utf-8") as file:
                    label, _, target = file.readline(4096).strip().partition(":")
                return label == "gitdir" and (folder / target.strip() / "commondir").is_file()
    except (OSError, ValueError):
        return False
    return False
