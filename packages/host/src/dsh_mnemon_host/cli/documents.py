"""``dsh-mnemon documents``: the working documents."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
from cyclopts import App, Parameter
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.cli._chosen_document import Status, chosen_document
from dsh_mnemon_host.cli._document_rows import (
    document_row,
    former_row,
    found_row,
    told_change,
    told_unindexed,
)
from dsh_mnemon_host.cli._ranges import Range
from dsh_mnemon_host.cli.invocation import Common, given, open_host
from dsh_mnemon_host.cli.output import print_json, print_text
from dsh_mnemon_host.memory_host import MemoryHost

__all__ = ("app",)

_HELP = """Working documents: Markdown that agents search, read and keep up to date.

A document is named by its title in any case, or by its id; the first characters of the id will do,
four or more, as long as they are those of no other.

Example: `dsh-mnemon documents create "Release checklist" notes/release.md`
"""

app = App(name="documents", help=_HELP, help_format="markdown")

Several = Annotated[list[str] | None, Parameter(negative="")]
Body = Annotated[Path | None, Parameter(allow_leading_hyphen=True)]
"""A file; a single dash is standard input."""

_TYPE = "documents"
_COMMON = Common()


@app.command(name="create")
async def _create(
    title: str,
    file: Body = None,
    /,
    *,
    content: str | None = None,
    description: str | None = None,
    path: Several = None,
    common: Common = _COMMON,
) -> int:
    """Create a document.

    Example: `dsh-mnemon documents create "Release checklist" notes/release.md`

    Parameters
    ----------
    title
        What it is about, at most 160 characters.
    file
        Markdown file to take the body from; `-` is standard input.
    content
        The body itself, instead of a file.
    description
        One or two sentences, at most 600 characters.
    path
        A file of the workspace it is about; may be repeated.
    """
    body = await _body(file, content)
    if body is None:
        raise InputError("usage", "give the body as a file, as - for standard input, or --content")
    mutation = {"action": "create", "title": title, "content": body}
    async with open_host(common) as host:
        answer = await host.people.write_document(
            {**mutation, **given(description=description, sourcePaths=path)}
        )
    return _told(answer, common)


@app.command(name="update")
async def _update(
    id: str,
    file: Body = None,
    /,
    *,
    content: str | None = None,
    revision: int | None = None,
    title: str | None = None,
    description: str | None = None,
    path: Several = None,
    common: Common = _COMMON,
) -> int:
    """Change a document; what is not given stays. Former bodies are kept, see `history`.

    Example: `dsh-mnemon documents update "Release checklist" notes/release.md --revision 3`

    Parameters
    ----------
    id
        The document: its title, its id, or how its id begins.
    file
        Markdown file with the whole new body; `-` is standard input.
    content
        The whole new body itself, instead of a file.
    revision
        Revision you read; the update is refused if it has another by now.
    title
        New title.
    description
        New description.
    path
        Files of the workspace it is about, replacing the former list; may be repeated.
    """
    changes = given(
        title=title,
        description=description,
        content=await _body(file, content),
        revision=revision,
        sourcePaths=path,
    )
    if not changes.keys() - {"revision"}:
        raise InputError("usage", "say what is to change: a file, --content, --title, ...")
    async with open_host(common) as host:
        document_id = await _chosen(host, id, "write")
        answer = await host.people.write_document(
            {"action": "update", "id": document_id, **changes}
        )
    return _told(answer, common)


@app.command(name="read")
async def _read(id: str, /, *, common: Common = _COMMON) -> int:
    """Print a document's body; with --json everything that is known of it.

    Example: `dsh-mnemon documents read "Release checklist" > release.md`

    Parameters
    ----------
    id
        The document: its title, its id, or how its id begins.
    """
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="read")
        document_id = await chosen_document(session, id)
        document: dict[str, Any] = to_wire(await session.read("document", {"id": document_id}))
    if common.json:
        print_json(document)
    else:
        print_text(str(document["content"]).rstrip("\n"))
    return 0


@app.command(name="search")
async def _search(
    query: str = "",
    /,
    *,
    archived: Annotated[bool, Parameter(negative="")] = False,
    limit: Annotated[int, Parameter(validator=Range(1, 50))] = 10,
    common: Common = _COMMON,
) -> int:
    """Search documents; without a query the most recent ones.

    Example: `dsh-mnemon documents search "rollback of a migration"`

    Parameters
    ----------
    query
        Words to look for, at most 2000 characters.
    archived
        Search archived documents as well.
    limit
        At most this many, 1..50.
    """
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="search")
        request = {"query": query, "includeArchived": archived, "limit": limit}
        found: dict[str, Any] = to_wire(await session.read("search", request))
    if common.json:
        print_json(found)
    else:
        rows: Sequence[Mapping[str, Any]] = found["results"]
        lines = [*map(found_row, rows)] or ["Nothing was found."]
        ill: Sequence[Mapping[str, Any]] = found.get("unhealthy", ())
        lines += told_unindexed(found)
        lines += [
            f"! {item['title']} [{item['id']}] cannot be read: {item['reason']}" for item in ill
        ]
        print_text("\n".join(lines))
    return 0


@app.command(name="list")
async def _list(
    *,
    archived: Annotated[bool, Parameter(negative="")] = False,
    common: Common = _COMMON,
) -> int:
    """List the documents, the most recently changed first.

    They are those of the store in use; `dsh-mnemon status` says whether that is the workspace's own
    or one for all of them.

    Example: `dsh-mnemon documents list --archived`

    Parameters
    ----------
    archived
        List archived documents as well.
    """
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="read")
        snapshot: dict[str, Any] = to_wire(await session.read("snapshot"))
    rows = [row for row in snapshot["documents"] if archived or row["status"] == "active"]
    rows.sort(key=lambda row: row["updatedAt"], reverse=True)
    if common.json:
        print_json({**snapshot, "documents": rows})
    else:
        used = f"{snapshot['activeBytes']} of {snapshot['limitBytes']} bytes"
        counts = f"{snapshot['activeCount']} active, {snapshot['archivedCount']} archived, {used}"
        print_text("\n".join((counts, *map(document_row, rows), *told_unindexed(snapshot))))
    return 0


@app.command(name="history")
async def _history(id: str, /, *, common: Common = _COMMON) -> int:
    """List the former bodies of a document that are kept, newest first.

    Example: `dsh-mnemon documents history 7d1c80f4`

    Parameters
    ----------
    id
        The document: its title, its id, or how its id begins.
    """
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="read")
        document_id = await chosen_document(session, id)
        history: dict[str, Any] = to_wire(await session.read("history", {"id": document_id}))
    if common.json:
        print_json(history)
    else:
        bodies: Sequence[Mapping[str, Any]] = history["revisions"]
        print_text("\n".join(map(former_row, bodies)) or "No former body is kept.")
    return 0


@app.command(name="archive")
async def _archive(id: str, /, *, revision: int | None = None, common: Common = _COMMON) -> int:
    """Take a finished document out of the working set; its index goes to a Memory Space.

    Where no Memory Space can take an index, the document is archived without one.

    Example: `dsh-mnemon documents archive "Release checklist"`

    Parameters
    ----------
    id
        The document: its title, its id, or how its id begins.
    revision
        Revision you read; refused if it has another by now.
    """
    async with open_host(common) as host:
        answer = await host.people.archive_document(await _chosen(host, id, "archive"), revision)
    return _told(answer, common)


@app.command(name="adopt")
async def _adopt(file: str | None = None, /, *, common: Common = _COMMON) -> int:
    """Take documents back that lie in the managed folder and no record names.

    They come back with the id, title and times of their own front matter.

    Example: `dsh-mnemon documents adopt`

    Parameters
    ----------
    file
        Only this one, as `doctor` names it, such as `documents/active/release.md`.
    """
    async with open_host(common) as host:
        request = None if file is None else {"file": file}
        changed = await host.people.change(_TYPE, "adopt", request, capability="write")
    answer: dict[str, Any] = to_wire(changed.value)
    if common.json:
        print_json(answer)
    else:
        lines = [f"adopted: {row['title']} [{row['id']}]" for row in answer["adopted"]]
        lines += [f"! {item['file']}: {item['message']}" for item in answer["skipped"]]
        print_text("\n".join(lines) or "There is nothing to adopt.")
    return 1 if answer["skipped"] else 0


@app.command(name="restore")
async def _restore(id: str, /, *, revision: int | None = None, common: Common = _COMMON) -> int:
    """Make a new active document from an archived one, or bring a former body back.

    Example: `dsh-mnemon documents restore "Release checklist" --revision 2`

    Parameters
    ----------
    id
        The document: its title, its id, or how its id begins.
    revision
        Former revision to bring back, as `history` lists them.
    """
    async with open_host(common) as host:
        status: Status = "archived" if revision is None else "active"
        document_id = await _chosen(host, id, "write", status=status)
        answer = await host.people.restore_document(document_id, revision)
    return _told(answer, common)


async def _body(file: Path | None, content: str | None) -> str | None:
    """Return the body from where it was given; nothing when it was not."""
    if file is not None and content is not None:
        raise InputError("usage", "give the body once: as a file, or as --content")
    if file is None:
        return content
    try:
        if str(file) == "-":
            return await anyio.to_thread.run_sync(sys.stdin.read)
        return await anyio.Path(file).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        place = f"byte {error.object[error.start]:#04x} at {error.start}"
        raise InputError(
            "file-unreadable", f"{_shown(file)} is not UTF-8 ({place}); save it as UTF-8"
        ) from error
    except OSError as error:
        raise InputError(
            "file-unreadable", f"{_shown(file)} cannot be read: {error.strerror or error}"
        ) from error


def _shown(file: Path) -> str:
    return "standard input" if str(file) == "-" else str(file)


async def _chosen(
    host: MemoryHost,
    given: str,
    capability: Literal["write", "archive"],
    *,
    status: Status = "active",
) -> str:
    session = await host.people.source(_TYPE, capability=capability)
    return await chosen_document(session, given, status=status)


def _told(answer: Mapping[str, Any], common: Common) -> int:
    if common.json:
        print_json(answer)
    else:
        print_text("\n".join(told_change(answer)))
    return 0
