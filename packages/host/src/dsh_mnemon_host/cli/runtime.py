"""``dsh-mnemon runtime``: look at USER.md and MEMORY.md, and change them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.cli import _adoption
from dsh_mnemon_host.cli._adoption import Target
from dsh_mnemon_host.cli._consent import agrees, at_terminal
from dsh_mnemon_host.cli._ranges import Range
from dsh_mnemon_host.cli.invocation import Common, given, open_host
from dsh_mnemon_host.cli.output import print_json, print_text

__all__ = ("app",)

Importance = Literal["critical", "normal", "low"]

_HELP = """Hot memory: USER.md (the person) and MEMORY.md (the project).

Example: `dsh-mnemon runtime add --target user "Prefers short answers in British English"`
"""

app = App(
    name="runtime",
    help=_HELP,
    help_format="markdown",
)

_COMMON = Common()


async def _write(mutation: Mapping[str, Any], common: Common) -> int:
    async with open_host(common) as host:
        result = await host.people.write_runtime(given(**mutation))
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
        session = await host.people.source("runtime", capability="read")
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
    count = state["entryCount"]
    title = f"{Path(state['markdownPath']).name}: {count} {'entry' if count == 1 else 'entries'}"
    lines = [f"{title}, {state['used']} of {state['limit']} bytes"]
    for entry in snapshot["entries"]:
        if entry["target"] == target:
            branches = f" [{', '.join(entry['branches'])}]" if "branches" in entry else ""
            mark = {"critical": "!", "low": "-"}.get(entry["importance"], "*")
            lines.append(f"  {mark} {entry['content']}{branches}")
    return "\n".join(lines)


@app.command(name="archived")
async def _list_archived(
    *,
    limit: Annotated[int, Parameter(validator=Range(1, 1_000))] = 200,
    offset: Annotated[int, Parameter(validator=Range(0, 1_000_000_000))] = 0,
    common: Common = _COMMON,
) -> int:
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
        session = await host.people.source("runtime", capability="read")
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
    edited = await _adoption.read_edited(file, target)
    async with open_host(common) as host:
        session = await host.people.source("runtime", capability="read")
        found = await _adoption.compare(session, edited)
        if not common.json:
            print_text(_adoption.shown(found))
        asked = yes or at_terminal(common)
        failed = _adoption.refused(found.differences) if asked else []
        wanted = asked and bool(found.differences) and not failed
        agreed = wanted and (yes or agrees("Apply these changes?"))
        applied, failed = await _adoption.apply(host, found.differences) if agreed else (0, failed)
    if common.json:
        print_json(
            {
                "file": str(found.file),
                "differences": found.differences,
                "applied": applied,
                "failed": failed,
                "kept": found.kept,
            }
        )
    elif found.differences:
        print_text(_adoption.outcome(found, applied, failed, asked=asked))
    return 1 if failed else 0
