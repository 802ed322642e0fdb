"""What an import came to, or would come to: as JSON, and as lines for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dsh_mnemon_host.transfer.comparison import Comparison
from dsh_mnemon_host.transfer.found import Found
from dsh_mnemon_host.transfer.importing import Imported

__all__ = (
    "counted",
    "excerpt",
    "failures",
    "listed",
    "named",
    "of_comparison",
    "of_import",
    "told_comparison",
    "told_import",
)

_SHOWN: Final = 20
"""Rows that are printed; the JSON form has all."""


def counted(count: int, one: str, many: str) -> str:
    """Return a count and its noun."""
    return f"{count} {one if count == 1 else many}"


def excerpt(text: str, characters: int = 80) -> str:
    """Return the beginning of a text as one line."""
    line = " ".join(text[: 4 * characters].split())
    return line if len(line) <= characters else line[: characters - 1] + "…"


def listed(rows: Sequence[str]) -> Iterator[str]:
    """Yield the first rows, and how many more there are."""
    yield from rows[:_SHOWN]
    if len(rows) > _SHOWN:
        yield f"... and {len(rows) - _SHOWN} more; --json lists them all"


def named(names: Sequence[str], what: str) -> Iterator[str]:
    """Yield a row for each of some names that need only be named."""
    return listed([f"{what}: {name}" for name in names])


def failures(failed: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a row for each ``{file?, line?, content?, code, message}``; none is left out."""
    for item in failed:
        line = f"line {item['line']}" if "line" in item else ""
        content = f'"{excerpt(item["content"], 40)}"' if "content" in item else ""
        place = ", ".join(part for part in (item.get("file", ""), line, content) if part)
        yield f"! {place + ': ' if place else ''}{item['message']} [{item['code']}]"


def of_import(imported: Imported, found: Found) -> dict[str, Any]:
    """Return ``{imported, ..., errors [{index, file?, code, message}]}`` and what stands beside."""
    return {**imported.counts, "errors": _errors(imported, found), **_beside(found)}


def _errors(imported: Imported, found: Found) -> list[dict[str, Any]]:
    return [_placed(error, "file", found.files) for error in imported.errors]


def _placed(error: Mapping[str, Any], key: str, values: Sequence[str]) -> dict[str, Any]:
    """Return an error with what its memory has; one that concerns no memory stays as it is."""
    place: int | None = error["index"]
    return {**error, **({} if place is None else {key: values[place]})}


def of_comparison(compared: Comparison, judged: Imported, found: Found) -> dict[str, Any]:
    """Return what an import would come to, and every memory that would be imported or is there.

    Args:
        compared: What is new of those that are not refused.
        judged: What is refused.
        found: What there is to import.
    """
    rest, count = found.without(judged.refused), sum(compared.new)
    return {
        "insights": len(found.draft.memories),
        "edges": len(rest.draft.edges),
        "imported": count,
        "skipped": len(compared.new) - count,
        **({"unsure": compared.unsure} if compared.unsure else {}),
        "errors": _errors(judged, found),
        **_beside(found),
        "memories": [
            {"file": file, "new": new, **memory.to_json()}
            for file, new, memory in zip(rest.files, compared.new, rest.draft.memories, strict=True)
        ],
    }


def _beside(found: Found) -> dict[str, Any]:
    return {
        "empty": list(found.empty),
        "failed": [failure.to_json() for failure in found.failed],
        "ignored": {file: list(keys) for file, keys in found.ignored.items()},
        "notes": [{"file": file, "message": message} for file, message in found.notes],
    }


def told_import(result: Mapping[str, Any], name: str, found: Found) -> Iterator[str]:
    """Yield the lines about an import into a Space of some name."""
    errors = _with_contents(result["errors"], found)
    back = result["brought_back"]
    counts = (
        f"{result['imported']} imported into {name}",
        *([f"of them {back} brought back (forgotten before)"] if back else []),
        f"{result['skipped']} there already",
        f"{len(result['empty'])} empty",
        f"{len(errors) + len(result['failed'])} failed",
        counted(result["edges_inserted"], "link", "links"),
    )
    yield ", ".join(counts)
    if result["accepted"]:
        yield f"{result['accepted']} were accepted, but are not proven durable yet"
    yield from _told_beside(result)
    yield from failures(errors)


def _with_contents(errors: Sequence[Mapping[str, Any]], found: Found) -> list[dict[str, Any]]:
    contents = [memory.content for memory in found.draft.memories]
    return [_placed(error, "content", contents) for error in errors]


def told_comparison(result: Mapping[str, Any], name: str, found: Found) -> Iterator[str]:
    """Yield the lines about an import that was only tried; ``name`` is blank without a Space."""
    yield (
        f"Dry run: {result['imported']} would be imported{name and f' into {name}'}, "
        f"{result['skipped']} there already, {len(result['empty'])} empty, "
        f"{len(result['errors']) + len(result['failed'])} failed, "
        f"{counted(result['edges'], 'link', 'links')}. "
        "Nothing was imported."
    )
    if "unsure" in result:
        yield f"Not everything was compared: {result['unsure']}"
    yield from listed([_row(memory) for memory in result["memories"]])
    yield from _told_beside(result)
    yield from failures(_with_contents(result["errors"], found))


def _row(memory: Mapping[str, Any]) -> str:
    """Return a memory as a row; one of Markdown begins with its file's name already."""
    file, content = memory["file"], memory["content"]
    place = "" if content.startswith(file) else f"{file}: "
    known = "" if memory["new"] else " (there already)"
    return f"- [{memory['category']}] {place}{excerpt(content)}{known}"


def _told_beside(result: Mapping[str, Any]) -> Iterator[str]:
    yield from named(result["empty"], "empty")
    yield from listed([f"note: {note['file']}: {note['message']}" for note in result["notes"]])
    yield from failures(result["failed"])
