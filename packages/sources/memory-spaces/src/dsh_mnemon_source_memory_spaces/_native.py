"""The stores behind native Spaces: made, chosen as default and deleted (spec/sources.md §4.3)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import attrs
from anyio import to_thread
from dsh_mnemon_core.errors import ConflictError, MnemonError, StorageError
from dsh_mnemon_core.files import in_turn

from dsh_mnemon_source_memory_spaces._registry.content import Content
from dsh_mnemon_source_memory_spaces._registry.records import Catalogue, SpaceRecord
from dsh_mnemon_source_memory_spaces._registry.store import Step
from dsh_mnemon_source_memory_spaces._registry.stores import Stores
from dsh_mnemon_source_memory_spaces._roster import Roster
from dsh_mnemon_source_memory_spaces.provider_sdk.adapter import NativeAdapter

__all__ = ("create_store", "registered", "remove_store")

_FIRST: Final = "default"


async def create_store(
    roster: Roster, adapter: NativeAdapter, record: SpaceRecord, catalogue: Catalogue
) -> SpaceRecord:
    """Make an empty store and register it: as ``default`` in a root without any, else by its id.

    Before there is a store, the registry says what it will be: whoever finds it, should this be
    cut off, gives it its name.

    Raises:
        MnemonError: The engine refused.
    """
    stores = roster.registry.stores
    first = not any(catalogue.is_native(space) for space in catalogue.spaces)
    for name in (_FIRST, record.id) if first else (record.id,):
        mine = attrs.evolve(record, id=name)
        await roster.change(_claimed(mine))
        try:
            await adapter.create_store(name)
        except MnemonError:
            # Somebody else is first, perhaps not done yet; otherwise the refusal stands.
            taken = await to_thread.run_sync(stores.is_taken, name)
            beaten = taken and name != record.id
            if beaten or not taken:
                await _release(roster, mine)
            if not beaten:
                raise
        else:
            return await roster.change(registered(mine))
    raise AssertionError("unreachable")  # pragma: no cover - the last name returns or raises


def registered(record: SpaceRecord) -> Step[SpaceRecord]:
    """Enter a native Space, which is no longer only said to come."""

    def step(_: Catalogue, content: Content) -> tuple[Content, SpaceRecord]:
        content = attrs.evolve(content, pending=content.pending.without(record))
        if record.id in content.ids:  # somebody found the store and registered it meanwhile
            return content.replace(record), record
        return attrs.evolve(content, native=(*content.native, record)), record

    return step


def _claimed(record: SpaceRecord) -> Step[None]:
    def step(_: Catalogue, content: Content) -> tuple[Content, None]:
        pending = attrs.evolve(content.pending, claims=(*content.pending.claims, record))
        return attrs.evolve(content, pending=pending), None

    return step


async def _release(roster: Roster, record: SpaceRecord) -> None:
    """Take back what was said of a store; if that fails, it is forgotten in a while."""

    def step(_: Catalogue, content: Content) -> tuple[Content, None]:
        native = tuple(space for space in content.native if space != record)
        pending = content.pending.without(record)
        return attrs.evolve(content, native=native, pending=pending), None

    with suppress(StorageError):
        await roster.change(step)


async def remove_store(
    adapter: NativeAdapter, stores: Stores, catalogue: Catalogue, store_id: str, root: Path
) -> None:
    """Delete a store with all it holds; another one becomes the default before, if need be.

    A store that is gone already is no error. The next default is an active one if there is any,
    then the first by id.

    Raises:
        ConflictError: ``last-store``.
        StorageError: ``store-unreadable``; its folder cannot be entered.
        MnemonError: The engine refused.
    """
    async with in_turn(root / "data" / ".stores"):
        there = await to_thread.run_sync(_look, stores, catalogue, store_id)
        if there is None:
            return
        if not there.others:
            name = catalogue.get(store_id).name
            raise ConflictError(
                "last-store",
                f"{name!r} is the last native Memory Space of this place and cannot be deleted",
            )
        if there.is_default:
            successor = min(there.others, key=lambda space: (not space.active, space.id))
            await adapter.set_default_store(successor.id)
        await adapter.remove_store(store_id)


@attrs.frozen(kw_only=True)
class _There:
    """A store that is there: the other native Spaces that have one, and whether it is in use."""

    others: tuple[SpaceRecord, ...]
    is_default: bool


def _look(stores: Stores, catalogue: Catalogue, store_id: str) -> _There | None:
    """Look at the folders, which blocks; nothing for a store that is gone."""
    if not stores.exists(store_id):
        return None
    others = tuple(
        space
        for space in catalogue.spaces
        if catalogue.is_native(space) and space.id != store_id and stores.is_found(space.id)
    )
    return _There(others=others, is_default=stores.default() == store_id)
