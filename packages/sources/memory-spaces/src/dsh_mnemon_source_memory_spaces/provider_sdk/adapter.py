"""What a Provider does: one adapter for each mounted child (spec/sources.md §4.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from dsh_mnemon_source_memory_spaces.provider_sdk.errors import ProviderUnsupported
from dsh_mnemon_source_memory_spaces.provider_sdk.items import (
    DraftEdge,
    DraftInsight,
    EntityCount,
    ExternalSpace,
    Graph,
    Insight,
    ListRequest,
    Page,
    RememberRequest,
    SearchAnswer,
    SearchRequest,
    SpaceStatus,
    SpaceView,
)

__all__ = ("NativeAdapter", "ProviderAdapter", "Result", "ScoreSemantics")

ScoreSemantics: TypeAlias = Literal["normalized-relevance"] | None
"""The run-time promise about scores; see `ProviderAdapter.score_semantics`."""

Result: TypeAlias = Mapping[str, Any]
"""A Provider's own JSON answer to a write; spec/sources.md §4.9 says how it is classified."""


class ProviderAdapter:
    """The operations of one Provider child; a subclass overrides those its manifest declares.

    Every call may be cancelled at any await (anyio); none may block the event loop. A fault is
    raised as one of the errors of `provider_sdk.errors`, with no secret in its text.

    Attributes:
        id: The manifest's type id.
        score_semantics: ``normalized-relevance`` where the manifest promises it, else none.
    """

    id: str
    score_semantics: ScoreSemantics = None

    async def discover(self, connection: Mapping[str, Any]) -> Sequence[ExternalSpace]:
        """Return every namespace the service connection can see; raise rather than omit one."""
        raise ProviderUnsupported("discover")

    def invalidate_status(self, space_id: str | None = None) -> None:
        """Drop cached health of one Space, or of all."""

    async def status(self, space: SpaceView) -> SpaceStatus:
        """Tell a Space's health; an unhealthy one is an answer, not an exception."""
        raise ProviderUnsupported("status")

    async def search(self, space: SpaceView, request: SearchRequest) -> SearchAnswer:
        """Find at most ``request.limit`` insights, best first (flag ``search``)."""
        raise ProviderUnsupported("search")

    async def list(self, space: SpaceView, request: ListRequest) -> Page:
        """Return one page of the Space's insights (flag ``browse``)."""
        raise ProviderUnsupported("browse")

    async def graph(self, space: SpaceView, cursor: str | None = None) -> Graph:
        """Return one page of the Space's graph (flag ``graph``)."""
        raise ProviderUnsupported("graph")

    async def entities(self, space: SpaceView, limit: int) -> Sequence[EntityCount]:
        """Return the entities named most, largest count first (flag ``entities``)."""
        raise ProviderUnsupported("entities")

    async def related(
        self, space: SpaceView, id: str, depth: int, edge: str | None = None
    ) -> Sequence[Insight]:
        """Walk the edges from one insight, ``depth`` 1..5 steps, nearest first.

        Raises:
            ProviderNotFound: There is no such insight; an empty answer is as good.
        """
        raise ProviderUnsupported("related")

    async def remember(self, space: SpaceView, request: RememberRequest) -> Result:
        """Keep one memory (flag ``remember``)."""
        raise ProviderUnsupported("remember")

    async def remember_many(
        self, space: SpaceView, requests: Sequence[RememberRequest]
    ) -> Sequence[Result]:
        """Keep several memories; one result for each request, in order.

        The default asks `remember` for one after the other.
        """
        return [await self.remember(space, request) for request in requests]

    async def link(
        self,
        space: SpaceView,
        source_id: str,
        target_id: str,
        type: str,
        weight: float,
        reason: str | None = None,
    ) -> Result:
        """Join two insights of the Space (flag ``link``); ``weight`` is 0..1.

        Where the graph can tell, ``reason`` comes back as that of the edge.
        """
        raise ProviderUnsupported("link")

    async def forget(self, space: SpaceView, id: str) -> Result:
        """Forget one insight as the manifest's deletion mode says (flag ``forget``)."""
        raise ProviderUnsupported("forget")

    async def metadata_sample(self, space: SpaceView, limit: int) -> Sequence[Insight]:
        """Return a few insights that show what the Space is about, by the cheapest way."""
        return (await self.list(space, ListRequest(limit=limit))).items

    async def aclose(self) -> None:
        """Release clients and files; called once, in reverse order of creation."""


class NativeAdapter(ProviderAdapter):
    """A Provider whose Spaces are stores in the Source's own data directory (origin ``native``).

    The Source owns names and activation; the adapter owns the store folders.
    """

    def ready(self) -> bool:
        """Whether the engine can work: `embedded` when its folder opens, `cli` when it is there.

        Called in a worker thread, so that it may block.
        """
        raise NotImplementedError

    async def create_store(self, store_id: str) -> None:
        """Make an empty store; refuse a name that is taken or no store name."""
        raise NotImplementedError

    async def set_default_store(self, store_id: str) -> None:
        """Make an existing store the one the command line tool works on."""
        raise NotImplementedError

    async def remove_store(self, store_id: str) -> None:
        """Delete a store with all it holds; the default store is refused."""
        raise NotImplementedError

    async def import_draft(
        self, space: SpaceView, insights: Sequence[DraftInsight], edges: Sequence[DraftEdge]
    ) -> Result:
        """Import into a Space; identical content is skipped, so that a repeat adds nothing.

        Returns:
            ``{action, imported, skipped, updated, edges_inserted, errors}``: counts, and errors
            as a list of ``{index, code, message}``.
        """
        raise NotImplementedError

    async def check_draft(
        self, insights: Sequence[DraftInsight], edges: Sequence[DraftEdge]
    ) -> None:
        """Refuse what `import_draft` would refuse, whatever the Space holds; write nothing.

        An error whose ``details.field`` begins with ``insights[N]`` lets a person leave that
        memory out. The default refuses nothing.
        """

    async def embedding_status(self) -> Mapping[str, Any]:
        """Tell of embeddings: ``{enabled, available, model, endpoint, protocol, error?}``."""
        raise NotImplementedError
