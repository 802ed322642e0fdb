"""Texts that become documents, many in one change: what an import does with them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Final

from dsh_mnemon_core.errors import AuthorityError, MnemonError
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.memory_host import MemoryHost

__all__ = ("taken_in",)

_TYPE: Final = "documents"
_FULL: Final = "document-capacity"

_TOGETHER: Final = 64
"""Texts that are taken in by one change; every one costs a whole index anew."""

_CHARACTERS: Final = 4_000_000
"""Characters of them together, beyond which no further one joins."""


async def taken_in(
    host: MemoryHost, texts: Sequence[Mapping[str, str]], *, dry_run: bool
) -> AsyncIterator[Mapping[str, Any]]:
    """Make documents of texts, or bring those of their titles up to date.

    Args:
        host: The memory.
        texts: ``{title, content}`` each, titles distinct.
        dry_run: Only say what would be done.

    Yields:
        For each text, in order, ``{action}`` with ``created``, ``updated`` or ``unchanged``; or
        ``{action: refused, error}``.

    Raises:
        AuthorityError: Documents may not be written, or not be read.
    """
    for chunk in _chunks(texts):
        try:
            results = await _results(host, chunk, dry_run=dry_run)
        except AuthorityError:
            raise
        except MnemonError as error:
            results = [{"action": "refused", "error": error.to_wire()}] * len(chunk)
        for text, result in zip(chunk, results, strict=True):
            if result.get("error", {}).get("code") == _FULL:
                yield await _with_room(host, text, result, dry_run=dry_run)
            else:
                yield result


async def _results(
    host: MemoryHost, texts: Sequence[Mapping[str, str]], *, dry_run: bool
) -> Sequence[Mapping[str, Any]]:
    request = {"documents": texts}
    if dry_run:
        session = await host.people.source(_TYPE, capability="read")
        answer: dict[str, Any] = to_wire(await session.read("import-plan", request))
    else:
        changed = await host.people.change(_TYPE, "import", request, capability="write")
        answer = to_wire(changed.value)
    results: list[Mapping[str, Any]] = answer["results"]
    return results


async def _with_room(
    host: MemoryHost, text: Mapping[str, str], refused: Mapping[str, Any], *, dry_run: bool
) -> Mapping[str, Any]:
    """Write a text by itself, so that others are archived for it."""
    there = refused.get("document")
    done = {"action": "updated" if there else "created"}
    if dry_run:
        return done
    if there:
        update = {"id": there["id"], "revision": there["revision"], "content": text["content"]}
        mutation = {"action": "update", **update}
    else:
        mutation = {"action": "create", **text}
    try:
        await host.people.write_document(mutation)
    except MnemonError as error:
        return {"action": "refused", "error": error.to_wire()}
    return done


def _chunks(texts: Sequence[Mapping[str, str]]) -> Iterator[Sequence[Mapping[str, str]]]:
    chunk: list[Mapping[str, str]] = []
    characters = 0
    for text in texts:
        size = len(text["content"])
        if chunk and (len(chunk) == _TOGETHER or characters + size > _CHARACTERS):
            yield chunk
            chunk, characters = [], 0
        chunk.append(text)
        characters += size
    if chunk:
        yield chunk
