"""The operations of the Holographic Provider (providers specification §6)."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from anyio import CapacityLimiter, from_thread, to_thread
from anyio.lowlevel import RunVar
from dsh_mnemon_core.instant import utc_now
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    EntityCount,
    ExternalSpace,
    Graph,
    Insight,
    ListRequest,
    Page,
    ProviderAdapter,
    ProviderContext,
    ProviderError,
    RememberRequest,
    Result,
    SearchAnswer,
    SearchRequest,
    SpaceStatus,
    SpaceView,
)

from dsh_mnemon_provider_holographic._config import Settings, settings_of
from dsh_mnemon_provider_holographic.descriptor import TYPE_ID

if TYPE_CHECKING:
    from dsh_mnemon_provider_holographic._client import Store
    from dsh_mnemon_provider_holographic._engine import Engine

__all__ = ("HolographicAdapter",)

T = TypeVar("T")

_limiters: RunVar[WeakValueDictionary[Path, CapacityLimiter]] = RunVar("dsh_mnemon_holographic")


class HolographicAdapter(ProviderAdapter):
    """Facts in a SQLite file that a Hermes Agent may use at the same time.

    Every call works in a thread, one at a time for each file. What other processes write is seen by
    the next call.

    Args:
        context: What the Source gives.
        clock: Tells the time.
        environment: Where ``HERMES_HOME`` is looked up.
    """

    id = TYPE_ID
    score_semantics = "normalized-relevance"

    def __init__(
        self,
        context: ProviderContext,
        *,
        clock: Callable[[], datetime] = utc_now,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._spaces = context.memory_spaces
        self._clock = clock
        self._environment = environment
        self._stores: dict[Path, Store] = {}
        self._waiting: dict[Path, CapacityLimiter] = {}

    async def discover(self, connection: Mapping[str, Any]) -> Sequence[ExternalSpace]:
        """Return the one Space there is; a file that cannot be used raises."""
        return await self._work(self._settings(connection), lambda engine: [engine.discover()])

    async def status(self, space: SpaceView) -> SpaceStatus:
        """Tell whether the file can be used, and what it holds."""
        try:
            return await self._in(space, lambda engine: engine.status())
        except ProviderError as error:
            return SpaceStatus(healthy=False, error=error.message)

    async def search(self, space: SpaceView, request: SearchRequest) -> SearchAnswer:
        """Find facts by words, Chinese included, entities and structure."""
        return await self._in(space, lambda engine: engine.search(request))

    async def list(self, space: SpaceView, request: ListRequest) -> Page:
        """Return one page of facts, newest change first.

        Raises:
            InputError: ``cursor-invalid``.
        """
        return await self._in(space, lambda engine: engine.list(request))

    async def graph(self, space: SpaceView, cursor: str | None = None) -> Graph:
        """Return one page of facts and the entities they are linked to.

        Raises:
            InputError: ``cursor-invalid``.
        """
        return await self._in(space, lambda engine: engine.graph(cursor))

    async def entities(self, space: SpaceView, limit: int) -> Sequence[EntityCount]:
        """Return the entities most facts are linked to."""
        return await self._in(space, lambda engine: engine.entities(limit))

    async def related(
        self, space: SpaceView, id: str, depth: int, edge: str | None = None
    ) -> Sequence[Insight]:
        """Return facts around one; depths beyond 3 are 3."""
        return await self._in(space, lambda engine: engine.related(id, depth, edge))

    async def remember(self, space: SpaceView, request: RememberRequest) -> Result:
        """Keep a fact as it is; one of the same content is left alone and named."""
        return (await self.remember_many(space, [request]))[0]

    async def remember_many(
        self, space: SpaceView, requests: Sequence[RememberRequest]
    ) -> Sequence[Result]:
        """Keep several facts in one transaction: all of them or none."""
        return await self._in(space, lambda engine: engine.remember(requests))

    async def forget(self, space: SpaceView, id: str) -> Result:
        """Delete a fact for good.

        Raises:
            ProviderNotFound: There is no such fact.
        """
        return await self._in(space, lambda engine: engine.forget(id))

    async def aclose(self) -> None:
        """Close the files that nobody else in this process uses."""
        stores, self._stores = builtins.list(self._stores.values()), {}
        for store in stores:
            await to_thread.run_sync(store.close)

    # -- parts ------------------------------------------------------------------------------------

    def _settings(self, connection: Mapping[str, Any], external_id: str | None = None) -> Settings:
        return settings_of(
            connection,
            self._spaces.data_dir(),
            external_id=external_id,
            environment=self._environment,
        )

    async def _in(self, space: SpaceView, work: Callable[[Engine], T]) -> T:
        connection = self._spaces.connection(space.id)
        return await self._work(self._settings(connection, space.external_id), work)

    async def _work(self, settings: Settings, work: Callable[[Engine], T]) -> T:
        call = partial(self._blocking, settings, work)
        return await to_thread.run_sync(call, limiter=self._limiter(settings.place.database))

    def _blocking(self, settings: Settings, work: Callable[[Engine], T]) -> T:
        # Imported here, in a thread, since loading numpy takes a quarter of a second.
        from dsh_mnemon_provider_holographic._client import open_store
        from dsh_mnemon_provider_holographic._engine import Engine

        path = settings.place.database
        if path not in self._stores:
            self._stores[path] = open_store(path)
        return work(
            Engine(
                store=self._stores[path],
                settings=settings,
                now=self._clock(),
                checkpoint=from_thread.check_cancelled,
            )
        )

    def _limiter(self, path: Path) -> CapacityLimiter:
        """Return what lets one thread at a time wait for a file, whichever adapter asks."""
        limiters = _limiters.get(None)
        if limiters is None:
            limiters = WeakValueDictionary[Path, CapacityLimiter]()
            _limiters.set(limiters)
        limiter = limiters.get(path)
        if limiter is None:
            limiter = limiters[path] = CapacityLimiter(1)
        self._waiting[path] = limiter
        return limiter
