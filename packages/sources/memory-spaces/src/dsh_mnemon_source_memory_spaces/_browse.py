"""Browsing Spaces in pages: Space order, then the Provider's order (spec/sources.md §4.10, D45)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Final, Literal, cast

import attrs
from dsh_mnemon_core.errors import InputError, StorageError
from pydantic import Field

from dsh_mnemon_source_memory_spaces._answers import (
    Batch,
    Patience,
    ask,
    each,
    read_insights,
    sentence,
)
from dsh_mnemon_source_memory_spaces._cursor import (
    MAX_CURSOR,
    Place,
    following,
    read_cursor,
    write_cursor,
)
from dsh_mnemon_source_memory_spaces._gaps import whole
from dsh_mnemon_source_memory_spaces._inputs import BLANK, WHOLE, Input, SpaceIds, limited
from dsh_mnemon_source_memory_spaces._recall.report import SourceStatus, Target, insight_json
from dsh_mnemon_source_memory_spaces.provider_sdk.errors import ProviderProtocol
from dsh_mnemon_source_memory_spaces.provider_sdk.items import (
    Category,
    ListRequest,
    Page,
    SearchAnswer,
    SearchRequest,
)

__all__ = ("ListInput", "begin_at", "browse", "page_of")

_MOST_SEARCHED: Final = 50
_MOST_ROUNDS: Final = 20
"""Provider pages of one Space that one answer may go through, when most items are filtered out."""

Cursor = Annotated[Annotated[str, limited(MAX_CURSOR)] | None, BLANK]


class ListInput(Input):
    """Input of ``list``."""

    query: Annotated[Annotated[str, limited(500)] | None, BLANK] = None
    category: Annotated[Category | None, BLANK] = None
    limit: Annotated[int, Field(strict=True, ge=1, le=1_000), WHOLE] = 200
    memory_body_ids: SpaceIds | None = None
    cursor: Cursor = None

    def question(self) -> dict[str, Any]:
        """Return what a cursor is bound to."""
        return {"operation": "list", **self.model_dump(mode="json", exclude={"cursor"})}

    def fits(self, row: dict[str, Any]) -> bool:
        """Tell whether a row is of the category and holds the query in content or id."""
        if self.category is not None and row.get("category") != self.category:
            return False
        wanted = (self.query or "").lower()
        return wanted in row["content"].lower() or wanted in row["id"].lower()


@attrs.define(kw_only=True)
class _Reading:
    """How far one Space has been read for one answer.

    Attributes:
        place: Where the page in hand begins.
        rows: The fitting items of the page in hand.
        next_cursor: Where the Provider says it goes on.
        full: Whether a Space that cannot page gave all it was asked for, so that there may be more.
        lost: Whether an item of it could not be shown.
        unreadable: How many could not, because they cannot be read.
    """

    target: Target
    mode: Literal["enumerable", "query-only", "unsupported"]
    status: SourceStatus
    place: Place
    rows: tuple[dict[str, Any], ...] = ()
    next_cursor: str | None = None
    full: bool = False
    lost: bool = False
    unreadable: int = 0
    hint: str | None = None
    count: int = 0

    def to_json(self) -> dict[str, Any]:
        value = {
            **self.target.named(),
            "mode": self.mode,
            "status": self.status,
            "itemCount": self.count,
            "unreadable": self.unreadable or None,
            "hint": self.hint,
        }
        return {key: item for key, item in value.items() if item is not None}


def begin_at(question: Any, cursor: str | None, targets: Sequence[Target]) -> tuple[int, Place]:
    """Return the first Space to read, by its position, and the place in it.

    Raises:
        InputError: ``cursor-invalid``, also when its Space is not read any more.
    """
    if cursor is None:
        return 0, Place(space_id=targets[0].space.id if targets else "")
    place = read_cursor(question, cursor)
    for position, target in enumerate(targets):
        if target.space.id == place.space_id:
            return position, place
    raise InputError("cursor-invalid", "the Memory Space of this cursor is not read any more")


async def page_of(target: Target, request: ListRequest) -> tuple[Batch, str | None]:
    """Ask for one page of a Space.

    Returns:
        Its readable items and the cursor of the next page.

    Raises:
        ProviderProtocol: ``provider-protocol``; it is no page.
    """
    page = cast("object", await target.adapter.list(target.space, request))
    if not isinstance(page, Page):
        raise ProviderProtocol("the Provider did not answer with a page")
    batch = read_insights(page.items, request.limit).besides(page.unreadable)
    return batch, following(page.next_cursor, request.cursor)


async def browse(
    targets: Sequence[Target],
    request: ListInput,
    *,
    seconds: float,
    faults: Sequence[StorageError] = (),
) -> dict[str, Any]:
    """Return one page of several Spaces; no fault of a Provider is raised.

    The Spaces of the page are asked at once. ``total`` counts what they have shown of what fits,
    before the cut to ``limit``.

    Args:
        targets: The Spaces, in registry order.
        request: What to show.
        seconds: How long the Providers may take together.
        faults: Why Spaces may be missing.

    Returns:
        ``{items, total, truncated, nextCursor?, sources, complete, faults?, hint?}``; see
        `_gaps.whole`.

    Raises:
        InputError: ``cursor-invalid``.
    """
    question = request.question()
    start, place = begin_at(question, request.cursor, targets)
    listing = _Listing(request, Patience(seconds))
    places = {target.space.id: Place(space_id=target.space.id) for target in targets}
    places[place.space_id] = place
    readings = await each(
        targets[start:], lambda target: listing.open(target, places[target.space.id])
    )
    items: list[dict[str, Any]] = []
    after: Place | None = None
    shown = readings
    for position, reading in enumerate(readings):
        after = await listing.fill(reading, items)
        if after is None and len(items) == request.limit:
            later = readings[position + 1 :]
            after = next((r.place for r in later if r.rows or r.next_cursor), None)
        if after is not None or len(items) == request.limit:
            shown = readings[: position + 1]
            break
    cursor = write_cursor(question, after) if after else None
    more = cursor is None and after is not None  # the Provider's own cursor is too long
    hints = [f"{r.target.space.name}: {r.hint}" for r in readings if r.hint]
    page = {
        "items": items,
        "total": sum(reading.count for reading in readings),
        "truncated": more or any(reading.full for reading in shown),
        **({} if cursor is None else {"nextCursor": cursor}),
        "sources": [reading.to_json() for reading in readings],
        **({"hint": "\n".join(hints)} if hints else {}),
    }
    return whole(page, faults, lost=any(reading.lost for reading in shown))


class _Listing:
    """The pages of one answer, under one deadline."""

    def __init__(self, request: ListInput, patience: Patience) -> None:
        self._request = request
        self._patience = patience

    async def open(self, target: Target, place: Place) -> _Reading:
        """Read the first page of a Space."""
        capabilities = target.manifest.capabilities
        if capabilities.browse:
            reading = _Reading(target=target, mode="enumerable", status="empty", place=place)
            await self._turn(reading, place.cursor)
            reading.rows = reading.rows[place.skip :]
            return reading
        if not capabilities.search:
            hint = f"{target.manifest.label} can neither be browsed nor searched"
            return _Reading(
                target=target, mode="unsupported", status="unsupported", place=place, hint=hint
            )
        reading = _Reading(target=target, mode="query-only", status="query-required", place=place)
        if self._request.query is not None:
            await self._search(reading, self._request.query)
            reading.rows = reading.rows[place.skip :]
        return reading

    async def fill(self, reading: _Reading, items: list[dict[str, Any]]) -> Place | None:
        """Move rows into the answer; return where to go on when it is full, or turn the page."""
        rounds = 1
        while True:
            room = self._request.limit - len(items)
            items += reading.rows[:room]
            if len(reading.rows) > room:
                return attrs.evolve(reading.place, skip=reading.place.skip + room)
            if reading.next_cursor is None:
                return None
            after = Place(space_id=reading.target.space.id, cursor=reading.next_cursor)
            if len(items) == self._request.limit or rounds == _MOST_ROUNDS:
                return after
            await self._turn(reading, reading.next_cursor)
            if reading.status == "unavailable":
                return after
            rounds += 1

    async def _turn(self, reading: _Reading, cursor: str | None) -> None:
        """Read the page that begins at a cursor."""
        request = ListRequest(
            query=self._request.query,
            category=self._request.category,
            limit=self._request.limit,
            cursor=cursor,
        )
        target = reading.target
        answer = await ask(partial(page_of, target, request), self._patience, target.secrets)
        if answer.value is None:
            reading.rows, reading.next_cursor = (), None
            reading.status, reading.hint = "unavailable", f"unavailable: {answer.fault}"
            return
        batch, after = answer.value
        if cursor != reading.place.cursor:
            reading.place = Place(space_id=target.space.id, cursor=cursor)
        # One that gave a cursor before can page, so this is its end.
        full = after is None and cursor is None and len(batch.items) >= request.limit
        self._show(reading, batch, filtered=True)
        reading.next_cursor, reading.full = after, full

    async def _search(self, reading: _Reading, query: str) -> None:
        request = SearchRequest(
            query=query,
            limit=min(self._request.limit, _MOST_SEARCHED),
            category=self._request.category,
        )
        target = reading.target

        async def search() -> Batch:
            found = cast("object", await target.adapter.search(target.space, request))
            if not isinstance(found, SearchAnswer):
                raise ProviderProtocol("the Provider did not answer with search results")
            return read_insights(found.results, request.limit).besides(found.unreadable)

        answer = await ask(search, self._patience, target.secrets)
        if answer.value is None:
            reading.status, reading.hint = "unavailable", f"unavailable: {answer.fault}"
        else:
            reading.status = "empty"
            self._show(reading, answer.value, filtered=False)

    def _show(self, reading: _Reading, batch: Batch, *, filtered: bool) -> None:
        rows = (insight_json(insight, reading.target) for insight in batch.items)
        category = self._request.category
        reading.rows = tuple(
            row
            for row in rows
            if (self._request.fits(row) if filtered else category in (None, row.get("category")))
        )
        reading.count += len(reading.rows)
        if reading.count:
            reading.status = "ready"
        if batch.notes:
            reading.lost = True
            reading.unreadable = max(reading.unreadable, batch.unreadable)
            reading.hint = sentence("; ".join(batch.notes))
