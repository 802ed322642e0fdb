"""``dsh-mnemon documents``: the working documents of a workspace."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import anyio
from cyclopts import App, Parameter
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.cli.invocation import Common, given, open_host
from dsh_mnemon_host.cli.output import print_json, print_text

__all__ = ("app",)

app = App(
    name="documents",
    help="Working documents: Markdown that agents search, read and keep up to date.",
    help_format="markdown",
)

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
    return await _write({**mutation, **given(description=description, sourcePaths=path)}, common)


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

    Example: `dsh-mnemon documents update 7d1c…  notes/release.md --revision 3`

    Parameters
    ----------
    id
        Id of the document.
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
    return await _write({"action": "update", "id": id, **changes}, common)


async def _write(mutation: Mapping[str, Any], common: Common) -> int:
    async with open_host(common) as host:
        answer = await host.people.write_document(mutation)
    return _changed(answer, common)


@app.command(name="read")
async def _read(id: str, /, *, common: Common = _COMMON) -> int:
    """Print a document's body; with --json everything that is known of it.

    Example: `dsh-mnemon documents read 7d1c… > release.md`

    Parameters
    ----------
    id
        Id of the document.
    """
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="read")
        document: dict[str, Any] = to_wire(await session.read("document", {"id": id}))
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
    limit: int = 10,
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
        print_text("\n".join(_row(row) for row in rows) or "Nothing was found.")
        _tell_unindexed(found)
        for item in found.get("unhealthy", ()):
            print_text(f"! {item['title']} [{item['id']}] cannot be read: {item['reason']}")
    return 0


@app.command(name="list")
async def _list(
    *,
    archived: Annotated[bool, Parameter(negative="")] = False,
    common: Common = _COMMON,
) -> int:
    """List the documents of the workspace, the most recently changed first.

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
        print_text("\n".join((counts, *(_row(row) for row in rows))))
        _tell_unindexed(snapshot)
    return 0


@app.command(name="history")
async def _history(id: str, /, *, common: Common = _COMMON) -> int:
    """List the former bodies of a document that are kept, newest first.

    Example: `dsh-mnemon documents history 7d1c…`

    Parameters
    ----------
    id
        Id of the document.
    """
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="read")
        history: dict[str, Any] = to_wire(await session.read("history", {"id": id}))
    if common.json:
        print_json(history)
    else:
        bodies: Sequence[Mapping[str, Any]] = history["revisions"]
        lines = (
            f"r{item['revision']}  until {item['replacedAt']}  {item['characters']} characters"
            for item in bodies
        )
        print_text("\n".join(lines) or "No former body is kept.")
    return 0


@app.command(name="archive")
async def _archive(id: str, /, *, revision: int | None = None, common: Common = _COMMON) -> int:
    """Take a finished document out of the working set; its index goes to a Memory Space.

    Where no Memory Space can take an index, the document is archived without one.

    Example: `dsh-mnemon documents archive 7d1c…`

    Parameters
    ----------
    id
        Id of the document.
    revision
        Revision you read; refused if it has another by now.
    """
    async with open_host(common) as host:
        answer = await host.people.archive_document(id, revision)
    return _changed(answer, common)


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

    Example: `dsh-mnemon documents restore 7d1c… --revision 2`

    Parameters
    ----------
    id
        Id of the document.
    revision
        Former revision to bring back, as `history` lists them.
    """
    async with open_host(common) as host:
        answer = await host.people.restore_document(id, revision)
    return _changed(answer, common)


async def _body(file: Path | None, content: str | None) -> str | None:
    """Return the body from where it was given; nothing when it was not."""
    if file is not None and content is not None:
        raise InputError("usage", "give the body once: as a file, or as --content")
    if file is None:
        return content
    try:
        if str(file) == "-":
            return await anyio.to_thread.run_sync(sys.stdin.read)
        return await anyio.Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("import-unreadable", f"{file} cannot be read: {error}") from error


def _tell_unindexed(answer: Mapping[str, Any]) -> None:
    count = answer.get("unindexed", 0)
    if count:
        print_text(f"! {count} file(s) no record names; see `dsh-mnemon documents adopt --help`")


def _row(row: Mapping[str, Any]) -> str:
    state = "" if row.get("status") == "active" else f" ({row.get('status')})"
    ill = "" if row.get("healthy", True) else " - cannot be read; see `dsh-mnemon doctor`"
    about = f"\n    {row['description']}" if row.get("description") else ""
    return f"- {row['title']}{state} [{row['id']}] r{row['revision']}{ill}{about}"


def _changed(answer: Mapping[str, Any], common: Common) -> int:
    if common.json:
        print_json(answer)
        return 0
    document: Mapping[str, Any] = answer["document"]
    print_text(f"{answer['action']}: {document['title']} [{document['id']}]")
    if "maintenance" in answer:
        print_text(answer["maintenance"]["summary"])
    return 0
