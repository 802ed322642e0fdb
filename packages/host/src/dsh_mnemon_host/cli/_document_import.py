"""``dsh-mnemon documents import``: a folder of Markdown as documents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import anyio
import attrs
from cyclopts import Parameter
from dsh_mnemon_core.errors import InputError

from dsh_mnemon_host.cli._document_intake import taken_in
from dsh_mnemon_host.cli._import_report import excerpt, failures, listed, named
from dsh_mnemon_host.cli._progress import progress
from dsh_mnemon_host.cli.documents import app
from dsh_mnemon_host.cli.invocation import Common, open_host
from dsh_mnemon_host.cli.output import print_json, print_text
from dsh_mnemon_host.transfer.found import read_text, shown
from dsh_mnemon_host.transfer.markdown import markdown_files

__all__ = ("app",)

_COMMON = Common()
_TITLE_CHARACTERS = 160
_MANAGED = re.compile(r"---\r?\nid: \S+\r?\n(?:[^\n]*\n)*?content_hash: ")
"""How the front matter of a managed document begins."""


_WOULD = {
    "created": "would be created",
    "updated": "would be updated",
    "unchanged": "unchanged",
}
"""What becomes of a file, and how a dry run says it."""


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

    A file that is empty or cannot be read is named, and the others are imported.

    Example: `dsh-mnemon documents import docs --dry-run`

    Parameters
    ----------
    folder
        The folder; its subfolders are read as well.
    dry_run
        Only say what would be done.
    """
    if not await anyio.Path(folder).is_dir():
        raise InputError("import-unreadable", f"{shown(folder)} is no folder")
    read = await anyio.to_thread.run_sync(_read, folder)
    counts = dict.fromkeys(_WOULD, 0)
    failed = list(read.failed)
    done: list[dict[str, str]] = []
    async with open_host(common) as host:
        texts = [{"title": file.title, "content": file.text} for file in read.files]
        files = iter(read.files)
        with progress(len(texts), "importing", quiet=common.json) as bar:
            async for outcome in taken_in(host, texts, dry_run=dry_run):
                file, action = next(files), outcome["action"]
                if action == "refused":
                    failed.append({"file": file.name, **outcome["error"]})
                else:
                    counts[action] += 1
                    done.append({"file": file.name, "title": file.title, "action": action})
                bar.update(len(done) + len(failed) - len(read.failed))
    beside = {"empty": read.empty, "failed": failed, "documents": done}
    result = {"dryRun": dry_run, **counts, **beside}
    if common.json:
        print_json(result)
    else:
        print_text("\n".join(_told(result)))
    return 1 if failed else 0


def _told(result: Mapping[str, Any]) -> Iterator[str]:
    rest = f"{len(result['empty'])} empty, {len(result['failed'])} failed"
    if result["dryRun"]:
        told = ", ".join(f"{result[action]} {word}" for action, word in _WOULD.items())
        yield f"Dry run: {told}, {rest}. Nothing was imported."
        yield from listed(
            [
                f"- {item['file']}: {excerpt(item['title'])} ({_WOULD[item['action']]})"
                for item in result["documents"]
            ]
        )
    else:
        yield ", ".join((*(f"{result[action]} {action}" for action in _WOULD), rest))
    yield from named(result["empty"], "empty")
    yield from failures(result["failed"])


@attrs.frozen
class _Folder:
    """The files of a folder: those to import, the names of empty ones, and what cannot be read."""

    files: Sequence[_File]
    empty: Sequence[str]
    failed: Sequence[dict[str, Any]]


def _read(folder: Path) -> _Folder:
    """Read every file; one that cannot be read is reported and harms no other.

    Raises:
        InputError: ``import-managed``: the folder holds documents that are managed already.
    """
    files: list[_File] = []
    empty: list[str] = []
    failed: list[dict[str, Any]] = []
    for path in markdown_files(folder):
        name = shown(path.relative_to(folder))
        try:
            text = read_text(path)
        except InputError as why:
            failed.append({"file": name, **why.to_wire()})
            continue
        if _MANAGED.match(text):
            raise InputError(
                "import-managed",
                f"{name} is a managed document; `dsh-mnemon documents adopt` takes lost ones back",
            )
        if text.strip():
            files.append(_File(name, _title(text, shown(path.stem)), text))
        else:
            empty.append(name)
    count = Counter(file.title for file in files)
    apart = [file if count[file.title] == 1 else _told_apart(file) for file in files]
    return _Folder(apart, empty, failed)


def _told_apart(file: _File) -> _File:
    name = f" ({file.name})"[-_TITLE_CHARACTERS:]
    return attrs.evolve(file, title=file.title[: _TITLE_CHARACTERS - len(name)] + name)


def _title(text: str, fallback: str) -> str:
    for line in text.split("\n"):
        if line.startswith("# ") and (title := " ".join(line[2:].strip(" #").split())):
            return title[:_TITLE_CHARACTERS].strip()
    return " ".join(fallback.split())[:_TITLE_CHARACTERS].strip()
