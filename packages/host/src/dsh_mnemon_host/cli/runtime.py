"""``dsh-mnemon runtime``: look at USER.md and MEMORY.md, and change them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio
from cyclopts import App, Parameter
from dsh_mnemon_core.errors import InputError, MnemonError
from dsh_mnemon_core.instant import iso_utc
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.cli.invocation import Common, open_host
from dsh_mnemon_host.cli.output import print_json, print_text

if TYPE_CHECKING:
    from dsh_mnemon_host.memory_host import MemoryHost
    from dsh_mnemon_host.source_session import SourceSession

__all__ = ("app",)

Target = Literal["user", "memory"]
Importance = Literal["critical", "normal", "low"]

app = App(
    name="runtime",
    help="Hot memory: USER.md (the person) and MEMORY.md (the project).",
    help_format="markdown",
)

_COMMON = Common()


async def _write(mutation: Mapping[str, Any], common: Common) -> int:
    async with open_host(common) as host:
        result = await host.write_runtime({k: v for k, v in mutation.items() if v is not None})
    if common.json:
        print_json({**to_wire(result.value), "revision": result.revision})
    else:
        usage = result.value["usage"]
        print_text(f"{result.value['message']} ({usage['used']} of {usage['limit']} bytes used)")
        if "maintenance" in result.value:
            print_text(result.value["maintenance"]["summary"])
    return 0


@app.command(name="add")
async def _add(
    content: str,
    /,
    *,
    target: Target,
    importance: Importance | None = None,
    branch: Annotated[list[str] | None, Parameter(negative="")] = None,
    common: Common = _COMMON,
) -> int:
    """Add an entry.

    Example: `dsh-mnemon runtime add --target user "Prefers short answers in British English"`

    Parameters
    ----------
    content
        Text of the entry, at most 8192 bytes.
    target
        `user` for the person, `memory` for the project.
    importance
        What is kept first when room is short.
    branch
        Git branch that sees the entry; may be repeated; memory only.
    """
    mutation = {
        "action": "add",
        "target": target,
        "content": content,
        "importance": importance,
        "branches": branch,
    }
    return await _write(mutation, common)


@app.command(name="replace")
async def _replace(
    old: str,
    content: str,
    /,
    *,
    target: Target,
    importance: Importance | None = None,
    branch: Annotated[list[str] | None, Parameter(negative="")] = None,
    common: Common = _COMMON,
) -> int:
    """Replace the one entry that OLD names.

    Example: `dsh-mnemon runtime replace --target memory "Node 20" "Node 22 is required"`

    Parameters
    ----------
    old
        The entry's full text, or a part that no other entry of the target has.
    content
        Its new text.
    target
        `user` for the person, `memory` for the project.
    importance
        New importance; unchanged when absent.
    branch
        New branches; unchanged when absent.
    """
    mutation = {
        "action": "replace",
        "target": target,
        "oldText": old,
        "content": content,
        "importance": importance,
        "branches": branch,
    }
    return await _write(mutation, common)


@app.command(name="remove")
async def _remove(old: str, /, *, target: Target, common: Common = _COMMON) -> int:
    """Remove the one entry that OLD names.

    Example: `dsh-mnemon runtime remove --target user "Prefers dark theme"`

    Parameters
    ----------
    old
        The entry's full text, or a part that no other entry of the target has.
    target
        `user` for the person, `memory` for the project.
    """
    return await _write({"action": "remove", "target": target, "oldText": old}, common)


@app.command(name="list")
async def _list_entries(*, target: Target | None = None, common: Common = _COMMON) -> int:
    """List the entries, oldest first.

    Example: `dsh-mnemon runtime list --target user --json`

    Parameters
    ----------
    target
        Only this target.
    """
    async with open_host(common) as host:
        session = await host.source("runtime", capability="read")
        snapshot = to_wire(await session.read("snapshot"))
    if target is not None:
        snapshot["entries"] = [e for e in snapshot["entries"] if e["target"] == target]
        snapshot["targets"] = {target: snapshot["targets"][target]}
    if common.json:
        print_json(snapshot)
    else:
        print_text("\n\n".join(_listing(snapshot, name) for name in snapshot["targets"]))
    return 0


def _listing(snapshot: Mapping[str, Any], target: str) -> str:
    state = snapshot["targets"][target]
    title = f"{Path(state['markdownPath']).name}: {state['entryCount']} entries, "
    lines = [f"{title}{state['used']} of {state['limit']} bytes"]
    for entry in snapshot["entries"]:
        if entry["target"] == target:
            branches = f" [{', '.join(entry['branches'])}]" if "branches" in entry else ""
            mark = {"critical": "!", "low": "-"}.get(entry["importance"], "*")
            lines.append(f"  {mark} {entry['content']}{branches}")
    return "\n".join(lines)


@app.command(name="archived")
async def _list_archived(*, limit: int = 200, offset: int = 0, common: Common = _COMMON) -> int:
    """List what was archived locally when MEMORY.md was full, newest first.

    Example: `dsh-mnemon runtime archived --limit 20`

    Parameters
    ----------
    limit
        Most entries to show, 1..1000.
    offset
        Entries to skip.
    """
    async with open_host(common) as host:
        session = await host.source("runtime", capability="read")
        page = to_wire(await session.read("archived", {"limit": limit, "offset": offset}))
    if common.json:
        print_json(page)
    else:
        entries = page["entries"]
        print_text("\n".join(f"{e['archived_at']}  {e['content']}" for e in entries) or "Nothing.")
    return 0


@app.command(name="adopt")
async def _adopt(
    file: Path,
    /,
    *,
    target: Target | None = None,
    yes: Annotated[bool, Parameter(negative="")] = False,
    common: Common = _COMMON,
) -> int:
    """Take over what you edited by hand in USER.md or MEMORY.md, after showing what changes.

    Example: `dsh-mnemon runtime adopt ~/.mnemon/runtime/edited/USER-20260301T120000Z.md`

    Parameters
    ----------
    file
        The edited Markdown file.
    target
        What it holds; told by the file's name when absent.
    yes
        Apply without asking.
    """
    edit = {"target": target or _target_of(file), **await _edited(file)}
    failed: list[dict[str, Any]] = []
    async with open_host(common) as host:
        session = await host.source("runtime", capability="read")
        differences = to_wire(await session.read("compare-edit", edit))
        kept = [] if differences else await _kept(session, edit["target"])
        if not common.json:
            print_text(_shown(differences, kept))
        agreed = bool(differences) and (yes or _confirmed(common))
        if agreed:
            failed = await _apply(host, differences)
    applied = len(differences) - len(failed) if agreed else 0
    if common.json:
        print_json({"differences": differences, "applied": applied, "failed": failed, "kept": kept})
    elif agreed:
        print_text(f"{applied} of {len(differences)} changes applied.")
        for item in failed:
            print_text(f"  not applied: {item['error']['message']}")
    return 1 if failed else 0


async def _kept(session: SourceSession, target: str) -> list[str]:
    """Return the files that hold earlier edits of a target.

    The store puts its own USER.md and MEMORY.md in order when it opens, and keeps a copy of what a
    person wrote there.
    """
    edits = to_wire(await session.read("edits"))
    return [item["file"] for item in edits if item["target"] == target]


def _shown(differences: Sequence[Mapping[str, Any]], kept: Sequence[str]) -> str:
    if differences:
        return "\n".join(_difference(item) for item in differences)
    return "\n".join(["Nothing differs.", *(f"An edit is kept in {file}" for file in kept)])


async def _edited(file: Path) -> dict[str, Any]:
    """Return ``{text, editedAt}`` of an edited file.

    Raises:
        InputError: ``file-unreadable``.
    """
    path = anyio.Path(file)
    try:
        content = await path.read_text(encoding="utf-8")
        saved = datetime.fromtimestamp((await path.stat()).st_mtime, UTC)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError("file-unreadable", f"cannot read {file}: {reason}") from None
    return {"text": content, "editedAt": iso_utc(saved)}


async def _apply(
    host: MemoryHost, differences: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Apply every difference as an ordinary mutation; return those that were refused."""
    failed: list[dict[str, Any]] = []
    for item in differences:
        try:
            await host.write_runtime(item["mutation"])
        except MnemonError as error:
            failed.append({"mutation": item["mutation"], "error": error.to_wire()})
    return failed


def _target_of(file: Path) -> Target:
    name = file.name.upper()
    for known, target in (("USER", "user"), ("MEMORY", "memory")):
        if name.startswith(known):
            return "user" if target == "user" else "memory"
    raise InputError("target-required", f"say with --target what {file.name} holds: user or memory")


def _difference(item: Mapping[str, Any]) -> str:
    problem = f"   (would be refused: {item['problem']})" if "problem" in item else ""
    lines = [f"- {item['from']}"] if "from" in item else []
    lines += [f"+ {item['to']}"] if "to" in item else []
    return "\n".join(lines) + problem


def _confirmed(common: Common) -> bool:
    """Ask a person; without a terminal nothing is applied."""
    if common.json or not sys.stdin.isatty():
        return False
    return input("Apply these changes? [y/N] ").strip().lower() in ("y", "yes")
