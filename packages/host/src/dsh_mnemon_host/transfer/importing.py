"""Bringing a draft into a Space; a memory that is refused is named and left out, alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import attrs
from dsh_mnemon_core.errors import MnemonError

from dsh_mnemon_host.transfer.draft import Draft, Part

__all__ = ("COUNTS", "Imported", "import_draft")

COUNTS: Final = (
    "imported",
    "brought_back",
    "skipped",
    "updated",
    "accepted",
    "edges_inserted",
)
"""What is counted; brought back are those of the imported that had been forgotten, where known."""

_PLACE: Final = re.compile(r"insights[.\[](\d+)")
_PLACE_SAID: Final = re.compile(
    r"^(?:[\w-]+: )?insights[.\[]\d+\]?[.:]\s*| of item \d+ of insights"
)
"""How a message names the memory: by its place in the part, which nobody knows."""


@attrs.define(kw_only=True)
class Imported:
    """What an import came to.

    Attributes:
        counts: How many memories and edges, by each of `COUNTS`.
        errors: ``{index, code, message, …}`` by the place in the draft, in its order; last comes
            what concerns no one memory, its ``index`` being ``None``.
    """

    counts: Counter[str] = attrs.field(factory=lambda: Counter(dict.fromkeys(COUNTS, 0)))
    errors: list[dict[str, Any]] = attrs.field(factory=list[dict[str, Any]])

    @property
    def refused(self) -> frozenset[int]:
        """The places of the memories that are named by an error."""
        return frozenset(error["index"] for error in self.errors if error["index"] is not None)

    def add(self, part: Part, answer: Mapping[str, Any]) -> None:
        """Count what a Source answered for a part."""
        for key in COUNTS:
            # Memories that only come again for the sake of their edges do not count.
            if not part.again or key == "edges_inserted":
                self.counts[key] += answer.get(key, 0)
        for error in answer["errors"]:
            if error["index"] is None:
                self.errors.append(dict(error))
            elif not part.again:
                self.errors.append({**error, "index": part.places[error["index"]]})


async def import_draft(
    draft: Draft,
    size: int,
    write: Callable[[dict[str, Any]], Awaitable[Mapping[str, Any]]],
    done: Callable[[int], None],
) -> Imported:
    """Import a draft, part by part.

    The Source refuses a part as a whole; the memory that it names is left out, and the others go
    in without it.

    Args:
        draft: What to import.
        size: Memories of one part.
        write: Performs ``body-import`` with ``{insights, edges}``, or judges it as that would, and
            returns the answer.
        done: Told how many memories have been dealt with.

    Raises:
        MnemonError: A refusal that names no memory; what came before it is imported.
    """
    result = Imported()
    refused: set[int] = set()
    count = 0
    for part in draft.parts(size):
        rest = part.without(refused)
        while not rest.is_idle:
            rest = await _import(rest, write, result, refused)
        count += 0 if part.again else len(part.places)
        done(count)
    result.errors.sort(key=lambda error: (error["index"] is None, error["index"] or 0))
    return result


async def _import(
    part: Part,
    write: Callable[[dict[str, Any]], Awaitable[Mapping[str, Any]]],
    result: Imported,
    refused: set[int],
) -> Part:
    """Import a part; return what is left of it to import, where one of its memories is refused."""
    try:
        result.add(part, await write(part.to_json()))
        return part.without(set(part.places))
    except MnemonError as error:
        found = _PLACE.match(str(error.details.get("field", "")))
        if found is None:
            raise
        place = part.places[int(found[1])]
        refused.add(place)
        message = _PLACE_SAID.sub("", error.message, count=1)
        result.errors.append({"index": place, "code": error.code, "message": message})
        return part.without({place})
