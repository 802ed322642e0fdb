"""Which Memory Spaces may take what leaves hot memory or Documents (sources.md §5.3, D5, D36)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, cast
from uuid import uuid4

import attrs
from dsh_mnemon_core.errors import (
    AuthorityError,
    CompositionRejected,
    ConflictError,
    MnemonError,
)
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.view import View
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.bindings import SPACES_REMEMBER, named_offer, source_types
from dsh_mnemon_host.graph import RuntimeGraph
from dsh_mnemon_host.participation import permits
from dsh_mnemon_host.source_session import SourceSession, open_source

__all__ = ("Destination", "Destinations", "composed_view", "find_destinations")

_TYPE: Final = "memory-spaces"


@attrs.frozen(kw_only=True)
class Destination:
    """A Memory Space that stores what it is given, and can forget it again.

    Attributes:
        id: Id of the Space.
        name: What people call it.
        native: Whether the embedded engine keeps it.
        default: Whether it is the native default store.
    """

    id: str
    name: str
    native: bool = False
    default: bool = False


@attrs.frozen(kw_only=True)
class Destinations:
    """What can take archived content in one operation.

    Attributes:
        session: Management of the Source they belong to; absent when there are none anywhere.
        inside: The Spaces this operation may write to, in the Source's order.
        outside: How many more there are beyond its scope.
    """

    session: SourceSession | None = None
    inside: tuple[Destination, ...] = ()
    outside: int = 0

    @property
    def anywhere(self) -> bool:
        """Whether any Space at all could take content."""
        return bool(self.inside) or self.outside > 0

    def chosen(self) -> tuple[SourceSession, Destination]:
        """Return where content goes when no model routes it (D39).

        The only Space, else the native default one, else the first.

        Raises:
            AuthorityError: ``memory-space-missing``: there is none in this operation's scope.
        """
        if self.session is None or not self.inside:
            raise AuthorityError("memory-space-missing", "no Memory Space can take this content")
        default = next((space for space in self.inside if space.default), None)
        return self.session, default or self.inside[0]

    def require_scope(self, code: str, what: str, details: Mapping[str, Any]) -> None:
        """Refuse when suitable Spaces exist, but none that this operation may write to (D5).

        Raises:
            AuthorityError: ``code``.
        """
        if self.inside or not self.outside:
            return
        raise AuthorityError(
            code,
            f"{what} cannot be archived: {self.outside} suitable Memory Space(s) exist, but none "
            "in the scope of this operation; nothing was changed",
            details={**details, "spacesInScope": 0, "spacesOutsideScope": self.outside},
        )


@asynccontextmanager
async def composed_view(
    graph: RuntimeGraph, scope: OperationScope, scenario: str
) -> AsyncGenerator[View]:
    """Compose a View for an operation that no Agent's turn is behind; it ends with the block.

    Raises:
        CompositionRejected: ``composition-empty``: there is nothing to compose.
        ViewRejected: A plugin breaks its contract; the message names it.
    """
    if graph.attachment.host.serving_id is None:
        raise CompositionRejected(
            "composition-empty",
            "there is no Source or no main Strategy that could take part: nothing would be served",
        )
    turn_id = f"management:{uuid4()}"
    context = await graph.turns.begin_turn(turn_id, scope, scenario)
    try:
        yield context.view
    finally:
        graph.turns.end_turn(turn_id)


async def find_destinations(graph: RuntimeGraph, scope: OperationScope, view: View) -> Destinations:
    """Look for Spaces that store exactly and forget safely, in a View's scope and beyond it.

    Args:
        graph: The graph the operation runs on.
        scope: Whose memory.
        view: The operation's View; its grant and offers say what it may write to.

    Raises:
        ConflictError: ``write-scope-foreign``: the Source answered for another View or Source.
    """
    session = await _session(graph, scope)
    if session is None:
        return Destinations()
    with graph.attachment.host.acquire(view.runtime_generation) as lease:
        types = source_types(lease.generation)
    offer = named_offer(view, types, SPACES_REMEMBER)
    offered = offer is not None and offer.authority is None
    grant = next((g for g in view.read_grants if g.source_instance_key == session.key), None)
    asked = {"writeScope": {"viewId": view.id, "grant": to_wire(grant.value)}} if grant else {}
    directory = to_wire(await session.read("body-directory", asked))
    writable = _writable(directory, session.key, view, grant is not None) if offered else set[str]()
    able = [_destination(item) for item in directory["items"] if _is_able(item)]
    inside = tuple(space for space in able if space.id in writable)
    return Destinations(session=session, inside=inside, outside=len(able) - len(inside))


async def _session(graph: RuntimeGraph, scope: OperationScope) -> SourceSession | None:
    """Return management of Memory Spaces; nothing when it cannot be written to by itself (D36)."""
    config = graph.config.config
    if not config.write_enabled or not permits(config, _TYPE, "write", "automatic"):
        return None
    try:
        session = open_source(graph, _TYPE, scope)
        catalog = await graph.attachment.management_catalog(scope)
    except MnemonError:  # absent, or nothing answers for it
        return None
    known = {item["sourceInstanceKey"]: item["availability"] for item in catalog["sources"]}
    return session if known.get(session.key, "unavailable") != "unavailable" else None


def _writable(directory: Mapping[str, Any], key: str, view: View, granted: bool) -> set[str]:
    """Return the ids of the write scope; a Source without one keeps to what is read here."""
    scope = directory.get("writeScope")
    if scope is None:
        ids = [item["id"] for item in directory["items"] if item.get("active")] if granted else []
        return set(ids)
    if (scope.get("viewId"), scope.get("sourceInstanceKey")) != (view.id, key):
        raise ConflictError(
            "write-scope-foreign", "Memory Spaces answered for another View; nothing was written"
        )
    return set(cast("Sequence[str]", scope["memoryBodyIds"]))


def _is_able(item: Mapping[str, Any]) -> bool:
    can: Mapping[str, Any] = item["provider"]["capabilities"]
    keeps = can.get("writeMode") == "exact" and can.get("remember") and can.get("forget")
    return bool(item.get("active") and item.get("providerEnabled") and keeps)


def _destination(item: Mapping[str, Any]) -> Destination:
    return Destination(
        id=item["id"],
        name=item["name"],
        native=item["provider"].get("origin") == "native",
        default=item.get("isDefault") is True,
    )
