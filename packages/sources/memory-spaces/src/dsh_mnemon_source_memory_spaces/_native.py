"""The stores behind native Spaces: made, chosen as default and deleted (spec/sources.md §4.3)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dsh_mnemon_core.errors import ConflictError, MnemonError
from dsh_mnemon_core.files import in_turn

from dsh_mnemon_source_memory_spaces._registry.records import Catalogue
from dsh_mnemon_source_memory_spaces._registry.stores import Stores
from dsh_mnemon_source_memory_spaces.provider_sdk.adapter import NativeAdapter

__all__ = ("create_store", "remove_store")

_FIRST: Final = "default"


async def create_store(
    adapter: NativeAdapter, stores: Stores, catalogue: Catalogue, store_id: str
) -> str:
    """Make an empty store and return its name: ``default`` in a root without any, else the given.

    Raises:
        MnemonError: The engine refused.
    """
    known = any(catalogue.is_native(space) for space in catalogue.spaces)
    if not known and not stores.names():
        try:
            await adapter.create_store(_FIRST)
        except MnemonError:
            # Somebody else is first, perhaps not done yet; otherwise the refusal stands.
            if not stores.is_taken(_FIRST):
                raise
        else:
            return _FIRST
    await adapter.create_store(store_id)
    return store_id


async def remove_store(
    adapter: NativeAdapter, stores: Stores, catalogue: Catalogue, store_id: str, root: Path
) -> None:
    """Delete a store with all it holds; another one becomes the default before, if need be.

    A store that is gone already is no error. The next default is an active one if there is any,
    then the first by id.

    Raises:
        ConflictError: ``last-store``.
        MnemonError: The engine refused.
    """
    async with in_turn(root / "data" / ".stores"):
        if not stores.exists(store_id):
            return
        others = [
            space
            for space in catalogue.spaces
            if catalogue.is_native(space) and space.id != store_id and stores.exists(space.id)
        ]
        if not others:
            raise ConflictError(
                "last-store",
                f"{store_id!r} is the last native Memory Space of this place and cannot be deleted",
            )
        if stores.default() == store_id:
            successor = min(others, key=lambda space: (not space.active, space.id))
            await adapter.set_default_store(successor.id)
        await adapter.remove_store(store_id)
