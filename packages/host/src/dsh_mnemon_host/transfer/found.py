"""What files were found to hold: memories, and whatever else a person should hear of."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Set
from pathlib import Path, PurePath
from typing import Any

import attrs
from dsh_mnemon_core.errors import InputError

from dsh_mnemon_host.transfer.draft import Draft

__all__ = ("Failure", "Found", "read_text", "shown")


@attrs.frozen(kw_only=True)
class Failure:
    """A file, or one line of it, that was left out.

    Attributes:
        file: Which file.
        code: The stable code of the reason.
        message: The reason and the remedy; it names neither file nor line.
        line: The line, 1-based; none where it is the whole file.
    """

    file: str
    code: str
    message: str
    line: int | None = None

    @property
    def place(self) -> str:
        """The file, and the line in it."""
        return self.file if self.line is None else f"{self.file}: line {self.line}"

    def error(self) -> InputError:
        """Return it as the error of somebody who asked for just this file."""
        return InputError(self.code, f"{self.place}: {self.message}")

    def to_json(self) -> dict[str, Any]:
        """Return ``{file, line?, code, message}``."""
        line = {} if self.line is None else {"line": self.line}
        return {"file": self.file, **line, "code": self.code, "message": self.message}


@attrs.frozen(kw_only=True)
class Found:
    """What is to be imported.

    Attributes:
        draft: The memories and their edges.
        files: The file of each memory, in their order.
        failed: What cannot be read.
        empty: Files, and conversations in them, that hold no memory.
        ignored: Keys of front matter that mean nothing here, by file.
        notes: ``(file, sentence)``: what was read otherwise than its writer may have meant.
    """

    draft: Draft = attrs.field(factory=lambda: Draft(memories=()))
    files: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()
    empty: tuple[str, ...] = ()
    ignored: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict[str, tuple[str, ...]])
    notes: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, draft: Draft, file: str, **more: Any) -> Found:
        """Return what one file holds; a file without any memory is an empty one."""
        if not (draft.memories or more.get("failed") or more.get("empty")):
            more["empty"] = (file,)
        return cls(draft=draft, files=(file,) * len(draft.memories), **more)

    @classmethod
    def joined(cls, parts: Iterable[Found]) -> Found:
        """Return several findings as one, in their order."""
        listed = list(parts)
        return cls(
            draft=Draft.joined(part.draft for part in listed),
            files=tuple(file for part in listed for file in part.files),
            failed=tuple(item for part in listed for item in part.failed),
            empty=tuple(name for part in listed for name in part.empty),
            ignored={file: keys for part in listed for file, keys in part.ignored.items()},
            notes=tuple(note for part in listed for note in part.notes),
        )

    def without(self, refused: Set[int]) -> Found:
        """Return the same without the memories at some places."""
        files = tuple(file for place, file in enumerate(self.files) if place not in refused)
        return attrs.evolve(self, draft=self.draft.without(refused), files=files)


def shown(path: PurePath | str) -> str:
    r"""Return a path, or a name, as text; a byte that is no UTF-8 is written ``\xff``."""
    name = path if isinstance(path, str) else path.as_posix()
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def read_text(path: Path) -> str:
    """Read a whole text, without a byte order mark.

    Raises:
        InputError: ``import-unreadable``; the message says why and how to mend it, without a name.
    """
    if path.exists() and not path.is_file():
        raise InputError("import-unreadable", "it is neither a file nor a folder")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            "import-unreadable",
            f"it is not UTF-8 (byte {error.object[error.start]:#04x} at {error.start}); save it as "
            "UTF-8 and import it again",
        ) from error
    except OSError as error:
        raise InputError(
            "import-unreadable", f"it cannot be read: {error.strerror or error}"
        ) from error
