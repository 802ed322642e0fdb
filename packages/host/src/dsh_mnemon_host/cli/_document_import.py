"""``dsh-mnemon documents import``: a folder of Markdown as documents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import anyio
import attrs
from cyclopts import Parameter
from dsh_mnemon_core.errors import InputError, MnemonError
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.cli._progress import progress
from dsh_mnemon_host.cli.documents import app
from dsh_mnemon_host.cli.invocation import Common, open_host
from dsh_mnemon_host.cli.output import print_json, print_text
from dsh_mnemon_host.memory_host import MemoryHost
from dsh_mnemon_host.transfer.markdown import markdown_files

__all__ = ("app",)

_COMMON = Common()
_TITLE_CHARACTERS = 160
_MANAGED = re.compile(r"---\r?\nid: \S+\r?\n(?:[^\n]*\n)*?content_hash: ")
"""How the front matter of a managed document begins."""


@attrs.frozen
class _File:
    """One file: its name below the folder, the title it gives, and its whole text."""

    name: str
    title: str
    text: str


@app.command(name="import")
async def _import(
    folder: Path,
    /,
    *,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    common: Common = _COMMON,
) -> int:
    """Import every Markdown file of a folder as a document.

    The first heading, else the file's name, is the title; files of one title are told apart by
    their names. Run it again after a change: a file that is there already with the same body is
    left alone, one with another body is updated.

    A file that cannot be read is named, and the others are imported.

    Example: `dsh-mnemon documents import docs --dry-run`

    Parameters
    ----------
    folder
        The folder; its subfolders are read as well.
    dry_run
        Only say what would be done.
    """
    if not await anyio.Path(folder).is_dir():
        raise InputError("import-unreadable", f"{folder} is no folder")
    files, failed = await anyio.to_thread.run_sync(_read, folder)
    counts = {"created": 0, "updated": 0, "unchanged": 0}
    async with open_host(common) as host:
        known = await _known(host)
        with progress(len(files), "importing", quiet=common.json) as bar:
            for done, file in enumerate(files, 1):
                try:
                    counts[await _take(host, file, known, dry_run=dry_run)] += 1
                except MnemonError as error:
                    failed.append({"file": file.name, **error.to_wire()})
                bar.update(done)
    result = {"dryRun": dry_run, **counts, "failed": failed}
    if common.json:
        print_json(result)
    else:
        word = "Dry run: " if dry_run else ""
        told = ", ".join(f"{count} {name}" for name, count in counts.items())
        lines = (f"! {item['file']}: {item['message']} [{item['code']}]" for item in failed)
        print_text("\n".join((f"{word}{told}, {len(failed)} failed", *lines)))
    return 1 if failed else 0


def _read(folder: Path) -> tuple[list[_File], list[dict[str, Any]]]:
    """Read every file; one that cannot be read is reported and harms no other.

    Raises:
        InputError: ``import-managed``: the folder holds documents that are managed already.
    """
    files: list[_File] = []
    failed: list[dict[str, Any]] = []
    for path in markdown_files(folder):
        name = path.relative_to(folder).as_posix()
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            why = InputError("import-unreadable", f"it cannot be read as UTF-8: {error}")
            failed.append({"file": name, **why.to_wire()})
            continue
        if _MANAGED.match(text):
            raise InputError(
                "import-managed",
                f"{name} is a managed document; `dsh-mnemon documents adopt` takes lost ones back",
            )
        if text.strip():
            files.append(_File(name, _title(text, path.stem), text))
    count = Counter(file.title for file in files)
    return [file if count[file.title] == 1 else _told_apart(file) for file in files], failed


def _told_apart(file: _File) -> _File:
    name = f" ({file.name})"[-_TITLE_CHARACTERS:]
    return attrs.evolve(file, title=file.title[: _TITLE_CHARACTERS - len(name)] + name)


def _title(text: str, fallback: str) -> str:
    for line in text.split("\n"):
        if line.startswith("# ") and (title := " ".join(line[2:].strip(" #").split())):
            return title[:_TITLE_CHARACTERS].strip()
    return " ".join(fallback.split())[:_TITLE_CHARACTERS].strip()


async def _known(host: MemoryHost) -> dict[str, Mapping[str, Any]]:
    """Return the active documents by title."""
    session = await host.people.source("documents", capability="read")
    snapshot: dict[str, Any] = to_wire(await session.read("snapshot"))
    active = [row for row in snapshot["documents"] if row["status"] == "active"]
    return {row["title"]: row for row in active}


async def _take(
    host: MemoryHost, file: _File, known: dict[str, Mapping[str, Any]], *, dry_run: bool
) -> str:
    row = known.get(file.title)
    if row is None:
        if not dry_run:
            mutation = {"action": "create", "title": file.title, "content": file.text}
            known[file.title] = (await host.people.write_document(mutation))["document"]
        return "created"
    session = await host.people.source("documents", capability="read")
    document: Mapping[str, Any] = to_wire(await session.read("document", {"id": row["id"]}))
    if document["content"].strip() == file.text.strip():
        return "unchanged"
    if not dry_run:
        update = {"id": row["id"], "revision": document["revision"], "content": file.text}
        await host.people.write_document({"action": "update", **update})
    return "updated"
