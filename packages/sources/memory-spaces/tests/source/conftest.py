"""A View of a Source, asked by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from dsh_mnemon_core._engine.outcome import check_receipt
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.sdk import MutateRequest, ProjectRequest, QueryRequest, ReadGrant, json_clone
from dsh_mnemon_core.view import ActionOffer, ViewReference, ViewRoute
from dsh_mnemon_source_memory_spaces.actions import MANIFEST


@attrs.define
class ViewOf:
    """One View over a room: its grant stays what it was."""

    room: Any
    grant: ReadGrant
    id: str

    @property
    def reference(self) -> ViewReference:
        return ViewReference(id=self.id, scope=self.room.scope)

    async def query(
        self,
        route_id: str,
        value: Any,
        *,
        results: int | None = None,
        characters: int | None = None,
    ) -> Any:
        """Read under the grant, within ceilings."""
        route = next((r for r in MANIFEST.routes if r.id == route_id), MANIFEST.routes[0])
        offered = ViewRoute(
            id=f"{self.room.key}/{route_id}",
            source_instance_key=self.room.key,
            source_route_id=route_id,
            description=route.description,
            capability=route.capability,
            input_schema=route.input_schema,
            read_grant_id=self.grant.id,
            max_calls=route.max_calls,
            max_results=results or route.max_results,
            max_characters=characters or route.max_characters,
        )
        request = QueryRequest(
            view=self.reference, route=offered, grant=self.grant, input=json_clone(value)
        )
        return await self.room.source.query(request)

    async def recall(self, query: str, **more: Any) -> list[str]:
        """Return the ids that a recall shows."""
        evidence = await self.query("recall", {"query": query, **more})
        return [item.id for item in evidence.items]

    async def act(self, action_id: str, value: Any) -> Any:
        """Execute an action and let Core judge its Receipt."""
        action = next((a for a in MANIFEST.actions if a.id == action_id), MANIFEST.actions[0])
        offer = ActionOffer(
            id=f"{self.room.key}/{action_id}",
            source_instance_key=self.room.key,
            source_action_id=action_id,
            description=action.description,
            capability=action.capability,
            input_schema=action.input_schema,
        )
        request = MutateRequest(
            view=self.reference, offer=offer, grant=self.grant, input=json_clone(value)
        )
        receipt = await self.room.source.mutate(request)
        return check_receipt(receipt, request.view, offer)

    async def refused(self, action_id: str, value: Any) -> str:
        """Return the code with which an action is refused."""
        with pytest.raises(MnemonError) as caught:
            await self.act(action_id, value)
        return caught.value.code

    async def refused_query(self, route_id: str, value: Any) -> str:
        """Return the code with which a read is refused."""
        with pytest.raises(MnemonError) as caught:
            await self.query(route_id, value)
        return caught.value.code


@pytest.fixture
def view_of() -> Callable[..., Any]:
    """Compose a View of a room as it is now."""

    async def make(room: Any, id: str = "view:test") -> ViewOf:
        request = ProjectRequest(
            source_instance_key=room.key,
            scope=room.scope,
            expected_revision=(await room.facts()).revision,
            include_projection=False,
            mode="routed",
            max_characters=1,
        )
        grant = (await room.source.project(request)).read_grant
        assert grant is not None
        return ViewOf(room, grant, id)

    return make
