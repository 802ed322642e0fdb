"""``dsh-mnemon import`` and ``dsh-mnemon export``: long-term memories in files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
from cyclopts import Parameter
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.files import atomic_write
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.cli._chosen_space import chosen_space
from dsh_mnemon_host.cli._progress import progress
from dsh_mnemon_host.cli.invocation import Common, open_host
from dsh_mnemon_host.cli.output import print_document, print_json, print_text
from dsh_mnemon_host.transfer.draft import Draft
from dsh_mnemon_host.transfer.export import read_space
from dsh_mnemon_host.transfer.importing import import_draft
from dsh_mnemon_host.transfer.reading import Format, read_path

__all__ = ("export_memories", "import_memories")

_TYPE = "memory-spaces"
_BATCH = 500
_COMMON = Common()


async def import_memories(
    path: Path,
    /,
    *,
    space: str | None = None,
    format: Format = "auto",
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    common: Common = _COMMON,
) -> int:
    """Import memories into a Memory Space; a memory that is there already is not added again.

    Everything is read before the first one is written. A memory that the Space cannot take, say
    because it is too long, is named by its place and left out. An import that was cut off is simply
    run again.

    Example: `dsh-mnemon import ~/notes --space Projects --dry-run`

    Parameters
    ----------
    path
        A draft (JSON), JSON Lines, a chat export (JSON), or a folder of Markdown files.
    space
        Id or name of the Memory Space; the only active one when absent.
    format
        What it is; `auto` looks at it.
    dry_run
        Only read, and say what would be imported.
    """
    draft = await anyio.to_thread.run_sync(read_path, path, format)
    if dry_run:
        return _checked(draft, common)
    async with open_host(common) as host:
        where = await chosen_space(await host.people.source(_TYPE, capability="import"), space)

        async def write(part: Mapping[str, Any]) -> dict[str, Any]:
            request = {"memoryBodyId": where, **part}
            changed = await host.people.change(_TYPE, "body-import", request, capability="import")
            answer: dict[str, Any] = to_wire(changed.value)
            return answer

        with progress(len(draft.memories), "importing", quiet=common.json) as bar:
            imported = await import_draft(draft, _BATCH, write, bar.update)
    result = {"memoryBodyId": where, **imported.counts, "errors": imported.errors}
    if common.json:
        print_json(result)
    else:
        print_text(_told(result))
    return 1 if imported.errors else 0


def _checked(draft: Draft, common: Common) -> int:
    counts = {"dryRun": True, "insights": len(draft.memories), "edges": len(draft.edges)}
    if common.json:
        print_json(counts)
    else:
        print_text(
            f"Dry run: {counts['insights']} memories and {counts['edges']} edges were read. "
            "Nothing was imported."
        )
    return 0


def _told(result: dict[str, Any]) -> str:
    lines = [
        f"{result['imported']} imported, {result['skipped']} were there already, "
        f"{result['edges_inserted']} edges, into {result['memoryBodyId']}"
    ]
    if result["accepted"]:
        lines.append(f"{result['accepted']} were accepted, but are not proven durable yet")
    lines += [f"! {json.dumps(error, ensure_ascii=False)}" for error in result["errors"][:20]]
    return "\n".join(lines)


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

    Forgotten memories are not in it. Links of time and of shared entities are drawn again by an
    import; the others are in the draft.

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
        draft, complete = await read_space(session, where)
    text = _document(draft, format)
    if target is None:
        print_document(text)
    else:
        await anyio.to_thread.run_sync(atomic_write, target, text.encode("utf-8"))
    told = {
        "file": None if file is None else str(file),
        "memoryBodyId": where,
        "insights": len(draft["insights"]),
        "edges": len(draft["edges"]),
        "complete": complete,
    }
    if file is not None and common.json:
        print_json(told)
    elif file is not None:
        print_text(f"{told['insights']} memories and {told['edges']} links written to {file}")
    if not complete:
        sys.stderr.write("error: the Provider cannot give more than one page; this is not all\n")
    return 0 if complete else 1


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
