"""``dsh-mnemon import`` and ``dsh-mnemon export``: long-term memories in files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import attrs
from cyclopts import Parameter
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.files import atomic_write
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.cli._chosen_space import chosen_space, read_spaces
from dsh_mnemon_host.cli._import_report import (
    counted,
    of_comparison,
    of_import,
    told_comparison,
    told_import,
)
from dsh_mnemon_host.cli._progress import progress
from dsh_mnemon_host.cli.invocation import Common, open_host
from dsh_mnemon_host.cli.output import print_document, print_json, print_text
from dsh_mnemon_host.source_session import SourceSession
from dsh_mnemon_host.transfer.comparison import compare
from dsh_mnemon_host.transfer.export import Exported, read_space
from dsh_mnemon_host.transfer.found import Found
from dsh_mnemon_host.transfer.importing import import_draft
from dsh_mnemon_host.transfer.reading import Format, read_paths

__all__ = ("export_memories", "import_memories")

_TYPE = "memory-spaces"
_BATCH = 500
_COMMON = Common()


async def import_memories(
    paths: list[Path],
    /,
    *,
    space: str | None = None,
    format: Format = "auto",
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    common: Common = _COMMON,
) -> int:
    """Import memories into a Memory Space; a memory that is there already is not added again.

    Everything is read before the first one is written. A file or a line that cannot be read, and a
    memory that the Space cannot take, say because it is too long, is named and left out; the rest
    is imported, and the exit code is 1. An import that was cut off is simply run again.

    A section of a Markdown file is a memory; title, tags and date of its front matter are kept. Of
    a chat, each question with its reply is one. A memory that was forgotten is imported again if
    its text is in the files.

    Example: `dsh-mnemon import ~/notes --space Projects --dry-run`

    Parameters
    ----------
    paths
        Drafts (JSON), JSON Lines, chat exports (JSON), Markdown files, or folders of these last.
    space
        Id or name of the Memory Space; the only active one when absent.
    format
        What it is; `auto` looks at it.
    dry_run
        Only read, judge and compare, and say what would be imported and what refused.
    """
    found = await anyio.to_thread.run_sync(read_paths, paths, format)
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="import")
        if dry_run:
            return await _compared(found, session, space, common)
        where = await chosen_space(session, space)
        name = await _name(session, where)

        async def write(part: Mapping[str, Any]) -> dict[str, Any]:
            request = {"memoryBodyId": where, **part}
            changed = await host.people.change(_TYPE, "body-import", request, capability="import")
            answer: dict[str, Any] = to_wire(changed.value)
            return answer

        with progress(len(found.draft.memories), "importing", quiet=common.json) as bar:
            imported = await import_draft(found.draft, _BATCH, write, bar.update)
    result = {"memoryBodyId": where, **of_import(imported, found)}
    if common.json:
        print_json(result)
    else:
        print_text("\n".join(told_import(result, name, found)))
    return 1 if result["errors"] or found.failed else 0


async def _name(session: SourceSession, space_id: str) -> str:
    """Return what a Space is called."""
    return next(str(b["name"]) for b in await read_spaces(session) if b["id"] == space_id)


async def _compared(found: Found, session: SourceSession, given: str | None, common: Common) -> int:
    """Say what an import would bring, and what it would refuse.

    Without a Space, everything is new, and what only its Provider refuses is not known.
    """
    where, name, unsure = None, "", None
    try:
        where = await chosen_space(session, given)
        name = await _name(session, where)
    except InputError as error:
        if given is not None:
            raise
        unsure = error.message

    async def judge(part: Mapping[str, Any]) -> dict[str, Any]:
        request = {**({"memoryBodyId": where} if where else {}), **part}
        answer: dict[str, Any] = to_wire(await session.read("body-import-check", request))
        return answer

    judged = await import_draft(found.draft, _BATCH, judge, lambda _: None)
    kept = found.draft.without(judged.refused).memories
    compared = await compare(
        (memory.content for memory in kept), session if where else None, where or ""
    )
    compared = attrs.evolve(compared, unsure=unsure or compared.unsure)
    result = {"dryRun": True, "memoryBodyId": where, **of_comparison(compared, judged, found)}
    if common.json:
        print_json(result)
    else:
        print_text("\n".join(told_comparison(result, name, found)))
    return 1 if judged.errors or found.failed else 0


async def export_memories(
    file: Path | None = None,
    /,
    *,
    space: str | None = None,
    format: Literal["draft", "jsonl"] = "draft",
    force: Annotated[bool, Parameter(negative="")] = False,
    common: Common = _COMMON,
) -> int:
    """Export the memories of a Memory Space, oldest first; `import` reads what it writes.

    Forgotten memories are not in it. Links of time and of shared entities that the engine drew are
    drawn again by an import; all others are in the draft, with weight and reason. What cannot be
    read is left out and counted, and the exit code is 1.

    Example: `dsh-mnemon export projects.json --space Projects`

    Parameters
    ----------
    file
        Where to write it; standard output when absent.
    space
        Id or name of the Memory Space; the only active one when absent.
    format
        draft: one JSON document, with links; jsonl: one memory a line.
    force
        Replace a file that is there.
    """
    target = None if file is None else await anyio.to_thread.run_sync(_target, file, force)
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="export")
        where = await chosen_space(session, space)
        found = await read_space(session, where)
    draft, complete = found.draft, found.complete
    text = _document(draft, format)
    if target is None:
        print_document(text)
    else:
        await anyio.to_thread.run_sync(atomic_write, target, text.encode("utf-8"))
    told: dict[str, Any] = {
        "file": None if file is None else str(file),
        "memoryBodyId": where,
        "insights": len(draft["insights"]),
        "edges": len(draft["edges"]),
        "complete": complete,
        **({"unreadable": found.unreadable} if found.unreadable else {}),
    }
    if file is not None and common.json:
        print_json(told)
    elif file is not None:
        print_text(
            f"{counted(told['insights'], 'memory', 'memories')} and "
            f"{counted(told['edges'], 'link', 'links')} written to {file}"
        )
    for gap in _told_gaps(found):
        sys.stderr.write(f"error: {gap}; this is not all\n")
    return 0 if complete else 1


def _told_gaps(found: Exported) -> Iterator[str]:
    if found.unreadable:
        what = counted(found.unreadable, "memory or link was", "memories or links were")
        yield f"{what} left out as unreadable (`dsh-mnemon doctor` says where)"
    yield from found.gaps


def _target(file: Path, force: bool) -> Path:
    """Return the regular file to write, behind links; nothing else is ever replaced.

    Raises:
        InputError: ``file-exists``, ``file-not-regular``.
    """
    target = Path(os.path.realpath(file))
    if target.exists() and not target.is_file():
        raise InputError("file-not-regular", f"{file} is no regular file; name another")
    if target.exists() and not force:
        raise InputError("file-exists", f"{file} is there already; --force replaces it")
    return target


def _document(draft: dict[str, Any], format: str) -> str:
    if format == "draft":
        return json.dumps(draft, ensure_ascii=False, indent=2) + "\n"
    rows = draft["insights"]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
