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
        default: Whether it is the native default store.
    """

    id: str
    name: str
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

    def require_scope(self, code: str, what: str) -> None:
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
            details={"spacesInScope": 0, "spacesOutsideScope": self.outside},
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
        AuthorityError: ``source-ambiguous``: there are several such Sources, none the default.
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
    value: dict[str, Any] = to_wire(grant.value) if grant else {}
    asked = {"writeScope": {"viewId": view.id, "grant": value}} if grant else {}
    directory = to_wire(await session.read("body-directory", asked))
    writable = _writable(directory, session.key, view, value) if offered else set[str]()
    able = [item for item in directory.get("bodies", ()) if _is_able(item)]
    inside = [item for item in able if item["id"] in writable]
    default = await _default(session) if len(inside) > 1 else None
    return Destinations(
        session=session,
        inside=tuple(
            Destination(
                id=item["id"],
                name=item["name"],
                default=item.get("native") is True and item["id"] == default,
            )
            for item in inside
        ),
        outside=len(able) - len(inside),
    )


async def _session(graph: RuntimeGraph, scope: OperationScope) -> SourceSession | None:
    """Return management of Memory Spaces; nothing when it cannot be written to by itself (D36)."""
    config = graph.config.config
    if not config.write_enabled or not permits(config, _TYPE, "write", "automatic"):
        return None
    try:
        session = open_source(graph, _TYPE, scope)
        catalog = await graph.attachment.management_catalog(scope)
    except MnemonError as error:  # absent, or nothing answers for it
        if error.code == "source-ambiguous":
            raise
        return None
    known = {item["sourceInstanceKey"]: item["availability"] for item in catalog["sources"]}
    return session if known.get(session.key, "unavailable") != "unavailable" else None


def _writable(
    directory: Mapping[str, Any], key: str, view: View, grant: Mapping[str, Any]
) -> set[str]:
    """Return the ids of the write scope; a Source without one keeps to what the View reads."""
    scope = directory.get("writeScope")
    if scope is None:
        return set(cast("Sequence[str]", grant.get("memoryBodyIds", ())))
    if (scope.get("viewId"), scope.get("sourceInstanceKey")) != (view.id, key):
        raise ConflictError(
            "write-scope-foreign", "Memory Spaces answered for another View; nothing was written"
        )
    return set(cast("Sequence[str]", scope["memoryBodyIds"]))


def _is_able(item: Mapping[str, Any]) -> bool:
    can: Mapping[str, Any] = item.get("capabilities", {})
    keeps = can.get("writeMode") == "exact" and can.get("remember") and can.get("forget")
    return bool(item.get("active") and item.get("providerEnabled") and keeps)


async def _default(session: SourceSession) -> str | None:
    """Return the id of the native default store; asks no Provider."""
    default: str | None = (await session.read("status-summary", {})).get("defaultStore")
    return default
