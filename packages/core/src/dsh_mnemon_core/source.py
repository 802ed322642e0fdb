"""Sources: manifest, facts, requests and the runtime protocol (spec/core.md §4.3, §4.5, §5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeAlias, get_args, runtime_checkable

import attrs
from attrs.converters import optional
from pydantic import SecretStr

from dsh_mnemon_core.checks import array, distinct, identifier, integer, one_of, text
from dsh_mnemon_core.errors import DefinitionError
from dsh_mnemon_core.evidence import Evidence, Receipt
from dsh_mnemon_core.identity import (
    API_VERSION,
    Kind,
    Provenance,
    callback,
    constant,
    read_capability,
    read_package_name,
    read_type_id,
)
from dsh_mnemon_core.scope import Capability, OperationScope
from dsh_mnemon_core.values import FrozenDict, json_clone
from dsh_mnemon_core.view import (
    ActionOffer,
    Contribution,
    ProjectionMode,
    ReadGrant,
    ViewReference,
    ViewRoute,
)

__all__ = (
    "ActionManifest",
    "Availability",
    "AvailableSource",
    "Consistency",
    "Disposes",
    "FactsRequest",
    "ManagementRequest",
    "ManagementResult",
    "Manages",
    "MutateRequest",
    "Mutates",
    "OperationManifest",
    "ProjectRequest",
    "Queries",
    "QueryRequest",
    "RouteManifest",
    "SourceContext",
    "SourceDefinition",
    "SourceFacts",
    "SourceManifest",
    "SourceRuntime",
    "SourceStanding",
)

Availability: TypeAlias = Literal["ready", "degraded", "unavailable"]
"""``degraded`` is fully selectable; ``unavailable`` offers nothing."""

Consistency: TypeAlias = Literal["exact-snapshot", "namespace-pinned-live-read"]
"""What a ReadGrant pins: captured content, or the namespaces that may be read."""


def _id(value: object) -> str:
    return identifier(value, "id", kind=DefinitionError)


def _description(value: object) -> str:
    return text(value, "description", 2000, kind=DefinitionError)


def _authority(value: object) -> str:
    return text(value, "authority", 300, kind=DefinitionError)


def _schema(value: object) -> Any:
    if value is None:
        raise DefinitionError("json-non-json-value", "inputSchema is required")
    return json_clone(value, "inputSchema")


def _max_calls(value: object) -> int:
    return integer(value, "maxCalls", 1, 100, kind=DefinitionError)


def _max_results(value: object) -> int:
    return integer(value, "maxResults", 1, 10_000, kind=DefinitionError)


def _max_characters(value: object) -> int:
    return integer(value, "maxCharacters", 1, 10_000_000, kind=DefinitionError)


@attrs.frozen(kw_only=True)
class OperationManifest:
    """What routes and actions have in common.

    Attributes:
        id: Id, distinct among the routes or actions of the manifest.
        description: Text(2000) shown to the model.
        capability: Capability it needs to be offered.
        input_schema: JSON Schema (Draft 2020-12) of the input.
    """

    id: str = attrs.field(converter=_id)
    description: str = attrs.field(converter=_description)
    capability: Capability = attrs.field(converter=read_capability)
    input_schema: Any = attrs.field(converter=_schema)  # pyright: ignore[reportUnknownVariableType]


@attrs.frozen(kw_only=True)
class RouteManifest(OperationManifest):
    """A read a Source can answer.

    Attributes:
        max_calls: Dispatched reads per executing turn, 1..100.
        max_results: Items of one read, 1..10 000; the View budget when absent.
        max_characters: Characters of one read, 1..10 000 000; the View budget when absent.
    """

    max_calls: int = attrs.field(converter=_max_calls)
    max_results: int | None = attrs.field(default=None, converter=optional(_max_results))
    max_characters: int | None = attrs.field(default=None, converter=optional(_max_characters))


@attrs.frozen(kw_only=True)
class ActionManifest(OperationManifest):
    """A change a Source can make.

    Attributes:
        authority: Text(300) naming an external authority; the default Host never authorizes it.
    """

    authority: str | None = attrs.field(default=None, converter=optional(_authority))


def _consistency(value: object) -> Consistency:
    return one_of(
        value,
        get_args(Consistency),
        "consistency",
        "consistency-unsupported",
        kind=DefinitionError,
    )


def _capabilities(value: object) -> tuple[Capability, ...]:
    names = array(value, "capabilities", kind=DefinitionError)
    return distinct([read_capability(n) for n in names], "capabilities", kind=DefinitionError)


def _distinct_ids(value: object) -> tuple[Any, ...]:
    items = array(value, "routes and actions", kind=DefinitionError)
    distinct([item.id for item in items], "routes and actions", kind=DefinitionError)
    return items


@attrs.frozen(kw_only=True)
class SourceManifest:
    """What a Source declares about itself; facts may only narrow it (spec/core.md §4.3).

    Attributes:
        type_id: Id of the Source type.
        package_name: Distribution that provides it.
        role: Id of the role it plays, such as ``working-context``.
        capabilities: Distinct known capabilities; may be empty.
        consistency: What its ReadGrants pin.
        routes: Reads it can answer.
        actions: Changes it can make.
        management: JSON descriptor of its management plane, when it has one.
    """

    api_version: str = constant(API_VERSION, "api-version-unsupported", "apiVersion")
    kind: Kind = constant("source", "kind-mismatch", "kind")  # noqa: RUF009 - it is a field
    type_id: str = attrs.field(converter=read_type_id)
    package_name: str = attrs.field(converter=read_package_name)
    role: str = attrs.field(converter=read_type_id)
    capabilities: tuple[Capability, ...] = attrs.field(converter=_capabilities)
    consistency: Consistency = attrs.field(converter=_consistency)
    routes: tuple[RouteManifest, ...] = attrs.field(default=(), converter=_distinct_ids)
    actions: tuple[ActionManifest, ...] = attrs.field(default=(), converter=_distinct_ids)
    management: Any = attrs.field(default=None, converter=json_clone)  # pyright: ignore[reportUnknownVariableType]


@attrs.frozen(kw_only=True)
class SourceStanding:
    """Who a Source is and how it stands right now.

    Attributes:
        source_instance_key: The instance.
        source_type_id: Its type id.
        role: Its role.
        availability: ``ready``, ``degraded`` or ``unavailable``.
        revision: Text(500) that changes whenever the projection would.
        capabilities: Live capabilities, a subset of the manifest's.
        hints: Coarse, non-sensitive JSON.
    """

    source_instance_key: str
    source_type_id: str
    role: str
    availability: Availability
    revision: str
    capabilities: tuple[Capability, ...] = ()
    hints: Any = None


@attrs.frozen(kw_only=True)
class SourceFacts(SourceStanding):
    """What a Source can do right now; judged by Core, so that a wrong one is never an outage.

    Attributes:
        route_ids: Live routes, a subset of the manifest's.
        action_ids: Live actions, a subset of the manifest's.
    """

    route_ids: tuple[str, ...] = ()
    action_ids: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class AvailableSource(SourceStanding):
    """A Source as Strategies and extensions see it: facts after Host permissions (§4.5).

    ``routes`` and ``actions`` are the manifest entries that are live, permitted and whose
    capability is among ``capabilities``, in manifest order.
    """

    routes: tuple[RouteManifest, ...] = ()
    actions: tuple[ActionManifest, ...] = ()

    @property
    def route_ids(self) -> tuple[str, ...]:
        """Ids of the offered routes, manifest order."""
        return tuple(route.id for route in self.routes)

    @property
    def action_ids(self) -> tuple[str, ...]:
        """Ids of the offered actions, manifest order."""
        return tuple(action.id for action in self.actions)


def _secrets(value: Mapping[str, SecretStr]) -> Mapping[str, SecretStr]:
    return MappingProxyType(dict(value))


@attrs.frozen(kw_only=True)
class SourceContext:
    """What a Source factory receives.

    Attributes:
        source_instance_key: Stable identity of the mount.
        provenance: Where the contribution came from.
        configuration: Frozen JSON mapping supplied by the Host; ``{}`` by default.
        secrets: Secret settings by name (D32); never part of the configuration.
    """

    source_instance_key: str
    provenance: Provenance
    configuration: FrozenDict = attrs.field(factory=FrozenDict, converter=json_clone)
    secrets: Mapping[str, SecretStr] = attrs.field(
        factory=dict[str, SecretStr], converter=_secrets, repr=False
    )


@attrs.frozen(kw_only=True)
class FactsRequest:
    """Asks a Source for facts in one scope and scenario."""

    source_instance_key: str
    scope: OperationScope
    scenario: str


@attrs.frozen(kw_only=True)
class ProjectRequest:
    """Asks a Source for its text and grant at the revision its facts named.

    Attributes:
        source_instance_key: The instance asked.
        scope: Whose memory.
        expected_revision: Revision of the facts; a Source at another one raises.
        include_projection: False asks for the grant only.
        mode: ``eager`` or ``routed``.
        max_characters: Ceiling of every fragment.
    """

    source_instance_key: str
    scope: OperationScope
    expected_revision: str
    include_projection: bool
    mode: ProjectionMode
    max_characters: int


@attrs.frozen(kw_only=True)
class QueryRequest:
    """One dispatched read: its route with ceilings in force, its own grant, frozen input."""

    view: ViewReference
    route: ViewRoute
    grant: ReadGrant
    input: Any


@attrs.frozen(kw_only=True)
class MutateRequest:
    """One dispatched change: the offer, this Source's own grant if any, frozen input."""

    view: ViewReference
    offer: ActionOffer
    grant: ReadGrant | None
    input: Any


@attrs.frozen(kw_only=True)
class ManagementRequest:
    """One human operation, independent of any View (spec/core.md §12).

    Attributes:
        source_instance_key: The instance addressed.
        scope: Whose memory.
        mode: ``read`` or ``mutate``.
        operation: Id of the operation.
        input: JSON input, owned by the Source.
        expected_revision: Facts revision the caller saw; required to mutate.
        confirmed: True when a person confirmed the mutation.
    """

    source_instance_key: str
    scope: OperationScope
    mode: Literal["read", "mutate"]
    operation: str
    input: Any = None
    expected_revision: str | None = None
    confirmed: bool = False


@attrs.frozen(kw_only=True)
class ManagementResult:
    """Answer of a management operation: the revision after it, Text(500), and a JSON value."""

    revision: str
    value: Any


@runtime_checkable
class SourceRuntime(Protocol):
    """A running Source. Both calls only read, honour cancellation and share no last snapshot."""

    async def facts(self, request: FactsRequest) -> SourceFacts:
        """Tell cheaply what can be done now."""
        ...

    async def project(self, request: ProjectRequest) -> Contribution:
        """Return bounded text and the grant for the selected revision."""
        ...


@runtime_checkable
class Queries(Protocol):
    """A Source that answers routes."""

    async def query(self, request: QueryRequest) -> Evidence:
        """Read within the grant and the ceilings of the route."""
        ...


@runtime_checkable
class Mutates(Protocol):
    """A Source that executes actions."""

    async def mutate(self, request: MutateRequest) -> Receipt:
        """Make one change and say how far it got."""
        ...


@runtime_checkable
class Manages(Protocol):
    """A Source with a management plane."""

    async def manage(self, request: ManagementRequest) -> ManagementResult:
        """Perform one human operation; fences a mutation inside its own transaction."""
        ...


@runtime_checkable
class Disposes(Protocol):
    """A Source that holds resources."""

    async def dispose(self) -> None:
        """Release them; called once, after the last lease is gone."""
        ...


@attrs.frozen(kw_only=True)
class SourceDefinition:
    """A manifest and the synchronous factory of its runtime; factories do no I/O (D25)."""

    manifest: SourceManifest
    create: Callable[[SourceContext], SourceRuntime] = attrs.field(validator=callback)
