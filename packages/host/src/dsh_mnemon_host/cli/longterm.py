"""``dsh-mnemon remember``, ``recall``, ``related``, ``link`` and ``forget``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.cli._chosen_space import chosen_space
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
    importance: int = 3,
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
        Id or name of the Memory Space; the only active one when absent.
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
    limit: int = 10,
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
        Only this Memory Space, by id or name; may be repeated.
    limit
        At most this many rows, 1..50.
    mode
        smart: the engine's ranking; keyword: word overlap; basic: substring.
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
    return _shown(found, common)


async def related(
    id: str,
    /,
    *,
    space: str | None = None,
    depth: int = 2,
    edge: Edge | None = None,
    common: Common = _COMMON,
) -> int:
    """Follow the links from one memory to its neighbours.

    Example: `dsh-mnemon related 2f0c7c0e-…-9d4a --depth 2 --edge causal`

    Parameters
    ----------
    id
        Id of the memory, as `recall` shows it.
    space
        Id or name of its Memory Space; the only active one when absent.
    depth
        How many links to follow, 1..5.
    edge
        Only links of this kind.
    """
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="related")
        where = await chosen_space(session, space)
        request = given(id=id, depth=depth, edge=edge, memoryBodyId=where)
        found = to_wire(await session.read("related", request))
    return _shown(found, common)


async def link(
    source_id: str,
    target_id: str,
    /,
    *,
    space: str | None = None,
    type: Edge = "semantic",
    weight: float = 0.5,
    reason: str | None = None,
    common: Common = _COMMON,
) -> int:
    """Join two memories of one Memory Space.

    Example: `dsh-mnemon link 2f0c… 77ab… --type causal --reason "the outage led to it"`

    Parameters
    ----------
    source_id
        Where the link starts; the cause, when it is causal.
    target_id
        Where it leads.
    space
        Id or name of their Memory Space; the only active one when absent.
    type
        Kind of link.
    weight
        Strength, 0..1.
    reason
        Why they belong together, at most 1000 characters.
    """
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="link")
        request = given(sourceId=source_id, targetId=target_id, reason=reason)
        kind = {"type": type, "weight": weight}
        where = {"memoryBodyId": await chosen_space(session, space)}
        changed = await host.people.change(
            _TYPE, "link", {**request, **kind, **where}, capability="link"
        )
    return _written(changed.value, common)


async def forget(id: str, /, *, space: str | None = None, common: Common = _COMMON) -> int:
    """Forget one memory: it comes back in no recall, list, graph or export.

    The native engine hides it (soft); the row stays in its file until the file is deleted.

    Example: `dsh-mnemon forget 2f0c7c0e-…-9d4a`

    Parameters
    ----------
    id
        Id of the memory, as `recall` shows it.
    space
        Id or name of its Memory Space; the only active one when absent.
    """
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="forget")
        where = await chosen_space(session, space)
        request = {"id": id, "memoryBodyId": where}
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
        what = result.get("action") or result.get("status") or completion
        if what == "skipped" and result.get("id"):
            what = "there already:"
        told = " ".join(str(item) for item in (what, result.get("id", "")) if item)
        print_text(f"{told} ({completion}) in {result.get('memoryBodyName', 'a Memory Space')}")
        for note in ("message", "error"):
            if result.get(note):
                print_text(str(result[note]))
    return 1 if completion in ("failed", "cancelled") or "error" in result else 0


def _shown(found: Mapping[str, Any], common: Common) -> int:
    if common.json:
        print_json(found)
        return 0
    rows: Sequence[Mapping[str, Any]] = found["results"]
    lines = [line for row in rows for line in _row(row)]
    print_text("\n".join(lines) if lines else "Nothing was found.")
    if "hint" in found and "sources" not in found:
        print_text(f"! {found['hint']}")
    for source in found.get("sources", ()):
        if source.get("status") in ("unavailable", "unsupported"):
            print_text(f"! {source['memoryBodyName']}: {source.get('hint', source['status'])}")
    return 0


def _row(row: Mapping[str, Any]) -> list[str]:
    facts = [
        str(row[key])
        for key in ("memoryBodyName", "category", "edgeType", "relevanceTier", "createdAt")
        if row.get(key) is not None
    ]
    content = str(row["content"]).replace("\n", "\n  ")
    return [f"- {content}", f"  [{row['id']}] {' · '.join(facts)}"]
