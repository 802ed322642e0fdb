"""Taking over what a person edited by hand in USER.md or MEMORY.md (D57)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import anyio
import attrs
from dsh_mnemon_core.errors import InputError, MnemonError
from dsh_mnemon_core.instant import iso_utc
from dsh_mnemon_core.wire import to_wire

if TYPE_CHECKING:
    from dsh_mnemon_host.memory_host import MemoryHost
    from dsh_mnemon_host.source_session import SourceSession

Target: TypeAlias = Literal["user", "memory"]

_SHOWN: Final = 60


@attrs.frozen(kw_only=True)
class Edited:
    """An edited file as it was read, before the store put anything in order."""

    file: Path
    target: Target
    text: str
    edited_at: str


@attrs.frozen(kw_only=True)
class Comparison:
    """What a file changes.

    Attributes:
        file: The file that was compared in the end.
        copied: Whether it is the kept copy of the file that was named.
        differences: As the management read ``compare-edit`` returns them.
        kept: Other files with words that the store does not know, oldest first.
    """

    file: Path
    copied: bool = False
    differences: list[dict[str, Any]]
    kept: list[str]


async def compare(session: SourceSession, edited: Edited) -> Comparison:
    """Compare a file, or the newest kept copy when it is the store's own and says nothing new.

    The store puts its own USER.md and MEMORY.md in order when it opens, and keeps a copy of what a
    person wrote there: a preview, or any other command, may have come before.
    """
    differences = await _differences(session, edited)
    edits = to_wire(await session.read("edits"))
    kept = [item["file"] for item in edits if item["target"] == edited.target]
    kept = [name for name in kept if not _is_same(edited.file, name)]
    targets = to_wire(await session.read("snapshot"))["targets"]
    own = _is_same(edited.file, targets[edited.target]["markdownPath"])
    if differences or not kept or not own:
        return Comparison(file=edited.file, differences=differences, kept=kept)
    copy = Path(kept.pop())
    differences = await _differences(session, await read_edited(copy, edited.target))
    return Comparison(file=copy, copied=True, differences=differences, kept=kept)


async def _differences(session: SourceSession, edited: Edited) -> list[dict[str, Any]]:
    request = {"target": edited.target, "text": edited.text, "editedAt": edited.edited_at}
    return list(to_wire(await session.read("compare-edit", request)))


def _is_same(file: Path, own: str) -> bool:
    return os.path.realpath(file) == os.path.realpath(own)


def shown(found: Comparison) -> str:
    """Write the differences as lines to remove and to add, or say that there are none."""
    lines = [_difference(item) for item in found.differences] or ["Nothing differs."]
    if found.copied:
        lines.insert(0, f"The file itself says nothing new; your edit was kept in {found.file}:")
    if not found.differences:
        lines += _kept(found)
    return "\n".join(lines)


def _kept(found: Comparison) -> list[str]:
    return [f"An edit is kept in {file}" for file in found.kept]


def outcome(
    found: Comparison, applied: int, failed: Sequence[Mapping[str, Any]], *, asked: bool
) -> str:
    """Say what became of the differences that were shown."""
    if applied or failed:
        count = len(found.differences)
        lines = [f"{applied} of {count} {'change' if count == 1 else 'changes'} applied."]
        return "\n".join([*lines, *(f"  not applied: {_reason(item)}" for item in failed)])
    advice = "" if asked else " Run this again with --yes to apply these changes."
    if refused(found.differences):
        advice = " Correct what would be refused, then run this again."
    return "\n".join([f"Nothing was applied.{advice}", *_kept(found)])


def _reason(item: Mapping[str, Any]) -> str:
    mutation = item["mutation"]
    words: str = mutation.get("content") or mutation["oldText"]
    return f"{mutation['action']} {words[:_SHOWN]!r}: {item['error']['message']}"


def refused(differences: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return ``{mutation, error}`` of what cannot be applied; one of them stops all the others.

    An entry that was rewritten into something that is refused may look like a removal beside it.
    """
    return [
        {"mutation": item["mutation"], "error": _refusal(item["problem"]).to_wire()}
        for item in differences
        if "problem" in item
    ]


def _refusal(problem: str) -> InputError:
    return InputError(problem, f"it would be refused ({problem})")


async def read_edited(file: Path, target: Target | None = None) -> Edited:
    """Read an edited file; its name tells what it holds, unless that is said.

    Raises:
        InputError: ``file-unreadable``, ``target-required``.
    """
    path = anyio.Path(file)
    if await path.exists() and not await path.is_file():
        raise InputError("file-unreadable", f"cannot read {file}: it is no regular file")
    try:
        content = await path.read_text(encoding="utf-8")
        saved = datetime.fromtimestamp((await path.stat()).st_mtime, UTC)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError("file-unreadable", f"cannot read {file}: {reason}") from None
    held = target or _target_of(file)
    return Edited(file=file, target=held, text=content, edited_at=iso_utc(saved))


def _target_of(file: Path) -> Target:
    name = file.name.upper()
    if name.startswith("USER"):
        return "user"
    if name.startswith("MEMORY"):
        return "memory"
    raise InputError("target-required", f"say with --target what {file.name} holds: user or memory")


async def apply(
    host: MemoryHost, differences: Sequence[Mapping[str, Any]]
) -> tuple[int, list[dict[str, Any]]]:
    """Apply differences in their order as ordinary mutations, up to the first that is refused.

    The order puts removals last, so that stopping loses nothing.
    """
    for applied, item in enumerate(differences):
        try:
            await host.people.write_runtime(item["mutation"])
        except MnemonError as error:
            return applied, [{"mutation": item["mutation"], "error": error.to_wire()}]
    return len(differences), []


def _difference(item: Mapping[str, Any]) -> str:
    problem = f"   (would be refused: {item['problem']})" if "problem" in item else ""
    lines = [f"- {item['from']}"] if "from" in item else []
    lines += [f"+ {item['to']}"] if "to" in item else []
    return "\n".join(lines) + problem
