"""A Source run by hand: its factory, its callbacks and what they show, outside any generation."""

# ruff: noqa: S101 - a contract is made of assertions

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import attrs
from dsh_mnemon_core._engine.facts import check_facts
from dsh_mnemon_core._engine.generation import LiveSource
from dsh_mnemon_core._engine.outcome import check_receipt
from dsh_mnemon_core._engine.schema import check_input
from dsh_mnemon_core.evidence import Evidence, Receipt
from dsh_mnemon_core.identity import Provenance
from dsh_mnemon_core.runtime import InstalledSource
from dsh_mnemon_core.scope import OperationScope, ViewBudget
from dsh_mnemon_core.source import (
    ActionManifest,
    Disposes,
    FactsRequest,
    ManagementRequest,
    ManagementResult,
    Manages,
    MutateRequest,
    Mutates,
    ProjectRequest,
    Queries,
    QueryRequest,
    RouteManifest,
    SourceContext,
    SourceDefinition,
    SourceFacts,
)
from dsh_mnemon_core.view import (
    ActionOffer,
    Contribution,
    ProjectionMode,
    ReadGrant,
    View,
    ViewReference,
    ViewRoute,
)
from pydantic import SecretStr

__all__ = ("DEFAULT_CHARACTERS", "VIEW_ID", "RunningSource", "start_source")

DEFAULT_CHARACTERS: Final = ViewBudget().max_projection_characters
"""Projection ceiling of a default View, characters."""

VIEW_ID: Final = "view:contract"
"""Id of the View that reads and changes made by hand claim to serve."""

_BUDGET: Final = ViewBudget()

Item = TypeVar("Item", RouteManifest, ActionManifest)


@attrs.define(kw_only=True, eq=False)
class RunningSource:
    """One instance of a Source, asked the way Core asks it but one call at a time.

    Attributes:
        live: The instance as the engine sees it.
        folder: Where this instance may keep what it stores.
        scope: Whose memory it is asked for, unless a call names another scope.
        disposed: Whether it was disposed.
    """

    live: LiveSource
    folder: Path
    scope: OperationScope
    disposed: bool = False

    @property
    def key(self) -> str:
        """The Source instance key."""
        return self.live.key

    @property
    def definition(self) -> SourceDefinition:
        """The definition it was made from."""
        return self.live.record.definition

    async def facts(
        self, scope: OperationScope | None = None, scenario: str = "plugin-test"
    ) -> SourceFacts:
        """Ask for facts and judge them as Core does.

        Raises:
            ViewRejected: The facts are malformed or exceed the manifest.
        """
        request = FactsRequest(
            source_instance_key=self.key, scope=scope or self.scope, scenario=scenario
        )
        facts = await self.live.runtime.facts(request)
        check_facts(self.live, facts)
        return facts

    async def project(
        self,
        characters: int = DEFAULT_CHARACTERS,
        *,
        mode: ProjectionMode = "routed",
        include: bool = True,
        scope: OperationScope | None = None,
        revision: str | None = None,
    ) -> Contribution:
        """Ask for text and grant.

        Args:
            characters: Ceiling of every fragment.
            mode: ``eager`` or ``routed``.
            include: False asks for the grant only.
            scope: Whose memory; that of this instance by default.
            revision: Revision to project; the one of fresh facts by default.
        """
        if revision is None:
            revision = (await self.facts(scope)).revision
        request = ProjectRequest(
            source_instance_key=self.key,
            scope=scope or self.scope,
            expected_revision=revision,
            include_projection=include,
            mode=mode,
            max_characters=characters,
        )
        return await self.live.runtime.project(request)

    async def grant(self) -> ReadGrant:
        """Ask for the grant that a View with routes of this Source holds."""
        grant = (await self.project(1, include=False)).read_grant
        assert grant is not None, f"{self.key} offers routes but returned no ReadGrant"
        return grant

    async def query(
        self,
        route_id: str,
        input: Any,
        *,
        grant: ReadGrant | None = None,
        results: int = _BUDGET.max_evidence_results,
        characters: int = _BUDGET.max_evidence_characters,
    ) -> Evidence:
        """Dispatch one read under a grant; a fresh one by default.

        Args:
            route_id: The Source's own route id.
            input: JSON that fits the route's schema.
            grant: Grant to read under.
            results: Ceiling of the items.
            characters: Ceiling of the items' characters together.
        """
        used = grant or await self.grant()
        request = self.query_request(route_id, input, used, results=results, characters=characters)
        return await self.dispatch(request)

    def query_request(
        self,
        route_id: str,
        input: Any,
        grant: ReadGrant,
        *,
        results: int = _BUDGET.max_evidence_results,
        characters: int = _BUDGET.max_evidence_characters,
    ) -> QueryRequest:
        """Build the request that Core would send; arguments as of `query`."""
        route = _named(self.definition.manifest.routes, route_id)
        offered = ViewRoute(
            id=f"{self.key}/{route.id}",
            source_instance_key=self.key,
            source_route_id=route.id,
            description=route.description,
            capability=route.capability,
            input_schema=route.input_schema,
            read_grant_id=grant.id,
            max_calls=route.max_calls,
            max_results=min(route.max_results or results, results),
            max_characters=min(route.max_characters or characters, characters),
        )
        frozen = check_input(route.input_schema, input, route_id)
        return QueryRequest(view=self._view(), route=offered, grant=grant, input=frozen)

    async def dispatch(self, request: QueryRequest) -> Evidence:
        """Send a read to the Source, and nothing else."""
        assert isinstance(self.live.runtime, Queries), f"{self.key} has no query()"
        return await self.live.runtime.query(request)

    async def mutate(self, action_id: str, input: Any) -> Receipt:
        """Dispatch one change and judge its Receipt as Core does.

        Args:
            action_id: The Source's own action id.
            input: JSON that fits the action's schema.

        Raises:
            ReceiptInvalid: The Receipt is malformed or contradicts itself.
        """
        return await self.execute(await self.mutate_request(action_id, input))

    async def mutate_request(self, action_id: str, input: Any) -> MutateRequest:
        """Build the request that Core would send, with this Source's own grant if it has one."""
        action = _named(self.definition.manifest.actions, action_id)
        offer = ActionOffer(
            id=f"{self.key}/{action.id}",
            source_instance_key=self.key,
            source_action_id=action.id,
            description=action.description,
            capability=action.capability,
            input_schema=action.input_schema,
            authority=action.authority,
        )
        frozen = check_input(action.input_schema, input, action_id)
        grant = (await self.project(1, include=False)).read_grant
        return MutateRequest(view=self._view(), offer=offer, grant=grant, input=frozen)

    async def execute(self, request: MutateRequest) -> Receipt:
        """Send a change to the Source, and judge its Receipt as `mutate` does."""
        assert isinstance(self.live.runtime, Mutates), f"{self.key} has no mutate()"
        receipt = await self.live.runtime.mutate(request)
        return check_receipt(receipt, cast("View", request.view), request.offer)

    async def manage(
        self,
        operation: str,
        input: Any = None,
        *,
        expected_revision: str | None = None,
        confirmed: bool = True,
    ) -> ManagementResult:
        """Send one management mutation, confirmed, fenced with the current revision by default."""
        assert isinstance(self.live.runtime, Manages), f"{self.key} has no manage()"
        if expected_revision is None:
            expected_revision = (await self.facts(scenario="management.mutate")).revision
        request = ManagementRequest(
            source_instance_key=self.key,
            scope=self.scope,
            mode="mutate",
            operation=operation,
            input=input,
            expected_revision=expected_revision,
            confirmed=confirmed,
        )
        return await self.live.runtime.manage(request)

    async def dispose(self) -> None:
        """Dispose the runtime, if it has anything to dispose."""
        self.disposed = True
        if isinstance(self.live.runtime, Disposes):
            await self.live.runtime.dispose()

    def _view(self) -> ViewReference:
        return ViewReference(id=VIEW_ID, scope=self.scope)


def _named(items: Sequence[Item], name: str) -> Item:
    for item in items:
        if item.id == name:
            return item
    raise AssertionError(f"the manifest declares no {name!r}")


def start_source(
    definition: SourceDefinition,
    *,
    key: str,
    folder: Path,
    scope: OperationScope,
    configuration: Mapping[str, Any],
    secrets: Mapping[str, str],
) -> RunningSource:
    """Call a Source's factory as a generation does.

    Args:
        definition: The Source.
        key: Source instance key, ``source:<entry id>``.
        folder: Where the instance may keep what it stores.
        scope: Whose memory it is asked for.
        configuration: What the Host supplies for the instance, JSON.
        secrets: Secret settings by name.
    """
    provenance = Provenance(
        package_name=definition.manifest.package_name, entry_id=key.removeprefix("source:")
    )
    context = SourceContext(
        source_instance_key=key,
        provenance=provenance,
        configuration=configuration,
        secrets={name: SecretStr(value) for name, value in secrets.items()},
    )
    live = LiveSource(
        record=InstalledSource(instance_key=key, definition=definition, provenance=provenance),
        runtime=definition.create(context),
        configuration=context.configuration,
        ceiling=None,
        secrets_digest=None,
    )
    return RunningSource(live=live, folder=folder, scope=scope)
