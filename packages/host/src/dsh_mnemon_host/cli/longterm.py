"""``dsh-mnemon remember``, ``recall``, ``related``, ``link`` and ``forget``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.cli._chosen_memory import chosen_memory
from dsh_mnemon_host.cli._chosen_space import chosen_space, none_active, read_spaces
from dsh_mnemon_host.cli._import_report import counted
from dsh_mnemon_host.cli._ranges import Range
from dsh_mnemon_host.cli.invocation import Common, given, open_host
from dsh_mnemon_host.cli.output import print_json, print_text
from dsh_mnemon_host.vocabulary import Category, Edge, Speaker

__all__ = ("forget", "link", "recall", "related", "remember")

Intent = Literal["WHY", "WHEN", "ENTITY", "GENERAL"]
Several = Annotated[list[str] | None, Parameter(negative="")]

_TYPE = "memory-spaces"
_COMMON = Common()


async def remember(
    content: str,
    /,
    *,
    space: str | None = None,
    category: Category = "general",
    importance: Annotated[int, Parameter(validator=Range(1, 5))] = 3,
    tag: Several = None,
    entity: Several = None,
    source: Speaker = "user",
    common: Common = _COMMON,
) -> int:
    """Keep one memory in a Memory Space.

    Example: `dsh-mnemon remember "We chose Postgres because of row-level security" --category decision`

    Parameters
    ----------
    content
        The memory, whole sentences; at most 8192 characters, and 8000 bytes in the native engine.
    space
        Name or id of the Memory Space; the only active one when absent.
    category
        What kind of memory it is.
    importance
        1 (of little interest) to 5 (must never be lost).
    tag
        A label; may be repeated.
    entity
        A person, project or system it is about; may be repeated.
    source
        Who said it.
    """  # noqa: E501 - the example is one line
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="write")
        memory = given(content=content, tags=tag, entities=entity)
        kind = {"category": category, "importance": importance, "source": source}
        where = {"memoryBodyId": await chosen_space(session, space)}
        changed = await host.people.change(
            _TYPE, "remember", {**memory, **kind, **where}, capability="write"
        )
    return _written(changed.value, common)


async def recall(
    query: str,
    /,
    *,
    space: Several = None,
    limit: Annotated[int, Parameter(validator=Range(1, 50))] = 10,
    mode: Literal["smart", "keyword", "basic"] = "smart",
    category: Category | None = None,
    source: Speaker | None = None,
    intent: Intent | None = None,
    common: Common = _COMMON,
) -> int:
    """Look something up in every active Memory Space.

    Example: `dsh-mnemon recall "why did we choose Postgres" --limit 5`

    Parameters
    ----------
    query
        What to look for, in plain words.
    space
        Only this Memory Space, by name or id; may be repeated.
    limit
        At most this many rows, 1..50.
    mode
        smart: the engine's ranking; keyword: word overlap; basic: the text as it stands.
    category
        Only memories of this kind.
    source
        Only what this one said.
    intent
        What the question is after; told by its words when absent.
    """
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="recall")
        spaces = [await chosen_space(session, item) for item in space] if space else None
        request = given(
            query=query,
            limit=limit,
            mode=mode,
            category=category,
            source=source,
            intent=intent,
            memoryBodyIds=spaces,
        )
        found = to_wire(await session.read("search", request))
        if not found["sources"]:
            why = none_active(await read_spaces(session))
            found["hint"] = f"nothing was searched: {why}"
    return _shown(found, common)


async def related(
    id: str,
    /,
    *,
    space: str | None = None,
    depth: Annotated[int, Parameter(validator=Range(1, 5))] = 2,
    edge: Edge | None = None,
    common: Common = _COMMON,
) -> int:
    """Follow the links from one memory to its neighbours.

    Example: `dsh-mnemon related 2f0c7c0e --depth 2 --edge causal`

    Parameters
    ----------
    id
        Id of the memory, as `recall` shows it, or how it begins.
    space
        Name or id of its Memory Space; the only active one when absent.
    depth
        How many links to follow, 1..5.
    edge
        Only links of this kind.
    """
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="related")
        where = await chosen_space(session, space)
        meant = await chosen_memory(session, where, id)
        request = given(id=meant, depth=depth, edge=edge, memoryBodyId=where)
        found = to_wire(await session.read("related", request))
    return _shown(found, common)


async def link(
    source_id: str,
    target_id: str,
    /,
    *,
    space: str | None = None,
    type: Edge = "semantic",
    weight: Annotated[float, Parameter(validator=Range(0, 1))] = 0.5,
    reason: str | None = None,
    common: Common = _COMMON,
) -> int:
    """Join two memories of one Memory Space.

    Example: `dsh-mnemon link 2f0c7c0e 77ab31d4 --type causal --reason "the outage led to it"`

    Parameters
    ----------
    source_id
        Where the link starts; the cause, when it is causal.
    target_id
        Where it leads.
    space
        Name or id of their Memory Space; the only active one when absent.
    type
        Kind of link.
    weight
        Strength, 0..1.
    reason
        Why they belong together, at most 1000 characters.
    """
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="link")
        where = await chosen_space(session, space)
        ends = {
            "sourceId": await chosen_memory(session, where, source_id),
            "targetId": await chosen_memory(session, where, target_id),
        }
        kind = given(type=type, weight=weight, reason=reason, memoryBodyId=where)
        changed = await host.people.change(_TYPE, "link", {**ends, **kind}, capability="link")
    return _written(changed.value, common)


async def forget(id: str, /, *, space: str | None = None, common: Common = _COMMON) -> int:
    """Forget one memory: it comes back in no recall, list, graph or export.

    The native engine hides it (soft); the row stays in its file until the file is deleted.

    Example: `dsh-mnemon forget 2f0c7c0e`

    Parameters
    ----------
    id
        Id of the memory, as `recall` shows it, or how it begins.
    space
        Name or id of its Memory Space; the only active one when absent.
    """
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="forget")
        where = await chosen_space(session, space)
        request = {"id": await chosen_memory(session, where, id), "memoryBodyId": where}
        changed = await host.people.change(_TYPE, "forget", request, capability="forget")
    return _written(changed.value, common)


def _written(value: Any, common: Common) -> int:
    """Print what a write came to; a write that failed exits with 1."""
    answer: dict[str, Any] = to_wire(value)
    result: Mapping[str, Any] = answer.get("result", answer)
    completion = str(answer.get("completion", "unknown"))
    if common.json:
        print_json(answer)
    else:
        print_text(f"{_outcome(result, completion)} in {result.get('memoryBodyName', 'a Space')}")
        for note in ("message", "error"):
            if result.get(note):
                print_text(_worded(result[note]))
    return 1 if completion in ("failed", "cancelled") or "error" in result else 0


def _worded(said: str | Mapping[str, Any]) -> str:
    """Return what a write says of itself: text, or a fault as ``{code, message}``."""
    return said if isinstance(said, str) else f"{said['message']} [{said['code']}]"


def _outcome(result: Mapping[str, Any], completion: str) -> str:
    """Say what became of a write, how durable it is, and of which memory."""
    what, id = result.get("action") or result.get("status") or completion, result.get("id", "")
    if what == "skipped" and id:
        return f"there already: {id}"  # nothing was written that could be durable or not
    return " ".join(str(item) for item in (what, id, f"({completion})") if item)


def _shown(found: Mapping[str, Any], common: Common) -> int:
    if common.json:
        print_json(found)
        return 0
    rows: Sequence[Mapping[str, Any]] = found["results"]
    lines = [line for row in rows for line in _row(row)]
    print_text("\n".join(lines) if lines else "Nothing was found.")
    if "hint" in found and not found.get("sources"):
        print_text(f"! {found['hint']}")
    for source in found.get("sources", ()):
        if source.get("status") in ("unavailable", "unsupported"):
            print_text(f"! {source['memoryBodyName']}: {source.get('hint', source['status'])}")
        elif source.get("unreadable"):
            left_out = counted(
                source["unreadable"], "unreadable memory was", "unreadable memories were"
            )
            print_text(
                f"! {source['memoryBodyName']}: {left_out} left out; `dsh-mnemon doctor` says where"
            )
    for fault in found.get("faults", ()):
        print_text(f"! other Memory Spaces may be missing: {fault['message']}")
    return 0


def _row(row: Mapping[str, Any]) -> list[str]:
    facts = [
        str(row[key])
        for key in ("memoryBodyName", "category", "edgeType", "relevanceTier", "createdAt")
        if row.get(key) is not None
    ]
    content = str(row["content"]).replace("\n", "\n  ")
    return [f"- {content}", f"  [{row['id']}] {' · '.join(facts)}"]
