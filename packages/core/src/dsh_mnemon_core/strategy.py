"""Strategies and their extensions: manifests, proposals, turn policies (core.md §4.3, §4.6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Literal, Protocol, TypeAlias, get_args

import attrs
from attrs.converters import optional

from dsh_mnemon_core.checks import array, distinct, identifier, integer
from dsh_mnemon_core.errors import DefinitionError
from dsh_mnemon_core.evidence import Evidence
from dsh_mnemon_core.identity import (
    API_VERSION,
    Kind,
    callback,
    constant,
    read_package_name,
    read_type_id,
)
from dsh_mnemon_core.scope import ViewRequest
from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_core.view import Guidance, ProjectionMode, ReadGrant, View, ViewRoute

__all__ = (
    "ANY",
    "STANDARD_SLOTS",
    "ExtensionContribution",
    "ExtensionDefinition",
    "ExtensionManifest",
    "ProjectionSpec",
    "ReadLimits",
    "Slot",
    "SourceSelection",
    "StrategyDefinition",
    "StrategyManifest",
    "StrategyNote",
    "StrategyTurn",
    "TurnRead",
    "ViewSpec",
)

ANY: Final = "*"
"""Wildcard: any role for a Strategy, any Strategy for an extension of a standard slot."""

Slot: TypeAlias = Literal["selection", "projection", "capture"]
"""The standard slots."""

STANDARD_SLOTS: Final[tuple[Slot, ...]] = get_args(Slot)
"""All standard slots."""


def _roles(value: object) -> tuple[str, ...]:
    label = "supportedSourceRoles"
    roles = [_role(item) for item in array(value, label, kind=DefinitionError)]
    if ANY in roles and len(roles) > 1:
        raise DefinitionError("wildcard-role-not-alone", "the role * must stand alone")
    return distinct(roles, label, kind=DefinitionError)


def _role(value: object) -> str:
    """Read the name of a role or of a Strategy type, or the wildcard for any of them."""
    return ANY if value == ANY else read_type_id(value)


def _ceiling(value: object) -> int:
    return integer(value, "maxSources, maxRoutes and maxActions", 1, 1000, kind=DefinitionError)


def _slots(value: object) -> tuple[str, ...]:
    slots = [_slot(item) for item in array(value, "extensionSlots", kind=DefinitionError)]
    return distinct(slots, "extensionSlots", kind=DefinitionError)


def _slot(value: object) -> str:
    return identifier(value, "slot", kind=DefinitionError)


@attrs.frozen(kw_only=True)
class StrategyManifest:
    """What a Strategy declares (spec/core.md §4.3).

    Attributes:
        type_id: Id of the Strategy type.
        package_name: Distribution that provides it.
        deterministic: Always True; a Strategy is a pure function.
        supported_source_roles: Distinct role Ids, or exactly ``("*",)``.
        max_sources: Sources it may select, 1..1000.
        max_routes: Routes it may offer, 1..1000.
        max_actions: Actions it may offer, 1..1000.
        extension_slots: Slots it accepts contributions for.
    """

    api_version: str = constant(API_VERSION, "api-version-unsupported", "apiVersion")
    kind: Kind = constant("strategy", "kind-mismatch", "kind")  # noqa: RUF009 - it is a field
    type_id: str = attrs.field(converter=read_type_id)
    package_name: str = attrs.field(converter=read_package_name)
    deterministic: bool = constant(True, "deterministic-required", "deterministic", required=True)
    supported_source_roles: tuple[str, ...] = attrs.field(converter=_roles)
    max_sources: int = attrs.field(converter=_ceiling)
    max_routes: int = attrs.field(converter=_ceiling)
    max_actions: int = attrs.field(converter=_ceiling)
    extension_slots: tuple[str, ...] | None = attrs.field(default=None, converter=optional(_slots))


@attrs.frozen(kw_only=True)
class ExtensionManifest:
    """What a Strategy extension declares: its target Strategy type (or ``*``) and slot."""

    api_version: str = constant(API_VERSION, "api-version-unsupported", "apiVersion")
    kind: Kind = constant("strategy-extension", "kind-mismatch", "kind")  # noqa: RUF009 - it is a field
    type_id: str = attrs.field(converter=read_type_id)
    package_name: str = attrs.field(converter=read_package_name)
    strategy_type_id: str = attrs.field(converter=_role)
    slot: str = attrs.field(converter=_slot)
    deterministic: bool = constant(True, "deterministic-required", "deterministic", required=True)

    def __attrs_post_init__(self) -> None:
        """Refuse a wildcard target for a slot that only one Strategy knows."""
        if self.strategy_type_id == ANY and self.slot not in STANDARD_SLOTS:
            raise DefinitionError(
                "slot-not-standard",
                f"slot {self.slot!r} is not standard, so it needs a named Strategy",
            )


@attrs.frozen(kw_only=True)
class ProjectionSpec:
    """Asks for a Source's projection: mode and ceiling in characters, 1..10 000 000."""

    mode: ProjectionMode
    max_characters: int


@attrs.frozen(kw_only=True)
class SourceSelection:
    """How one Source takes part; route and action ids are the Source's own.

    Attributes:
        source_instance_key: The Source.
        required: Whether the View fails without it.
        projection: What to project; absent for none.
        route_ids: Offered routes to include.
        action_ids: Offered actions to include.
    """

    source_instance_key: str
    required: bool = True
    projection: ProjectionSpec | None = None
    route_ids: tuple[str, ...] | None = None
    action_ids: tuple[str, ...] | None = None


@attrs.frozen(kw_only=True)
class StrategyNote:
    """A diagnostic of a Strategy: code Id, message Text(300) (D22)."""

    code: str
    message: str


@attrs.frozen(kw_only=True)
class ViewSpec:
    """A Strategy's proposal; Core judges it, it is never authority (spec/core.md §4.6).

    Attributes:
        strategy_type_id: The proposing Strategy's type id.
        sources: Selections, in View order.
        explanation: Text(4000) for a person.
        guidance: Trusted text for system sections.
        diagnostics: At most 16 notes.
    """

    strategy_type_id: str
    sources: tuple[SourceSelection, ...]
    explanation: str
    guidance: Guidance | None = None
    diagnostics: tuple[StrategyNote, ...] | None = None


@attrs.frozen(kw_only=True)
class ExtensionContribution:
    """What an active extension said: identity, slot and frozen JSON value."""

    instance_key: str
    type_id: str
    slot: str
    value: Any


@attrs.frozen(kw_only=True)
class ReadLimits:
    """Narrower ceilings of one read: items 1..10 000, characters 1..10 000 000."""

    max_results: int | None = None
    max_characters: int | None = None


class TurnRead(Protocol):
    """The continuation a turn policy reads with; usable only while its call runs."""

    def __call__(self, input: Any, limits: ReadLimits | None = None) -> Awaitable[Evidence]:
        """Dispatch one counted read of the policy's route."""
        ...


class StrategyTurn(Protocol):
    """The read policy of one executing turn; created lazily, once per execution identity."""

    async def query(
        self, route: ViewRoute, grant: ReadGrant, input: Any, read: TurnRead
    ) -> Evidence:
        """Answer one route call, reading through ``read`` or replaying."""
        ...


Compose: TypeAlias = Callable[
    [ViewRequest, Sequence[AvailableSource], Sequence[ExtensionContribution]], ViewSpec
]
Contribute: TypeAlias = Callable[[ViewRequest, Sequence[AvailableSource]], Any]


@attrs.frozen(kw_only=True)
class StrategyDefinition:
    """A manifest and the functions of a Strategy.

    Attributes:
        manifest: What it declares.
        compose: The pure proposal.
        create_turn: Makes the read policy of one executing turn.
        action_workflow: Pure rule of ``(source type id, action id)`` that names the Host workflow
            around an action, or ``None`` when it commits directly (§15.5).
    """

    manifest: StrategyManifest
    compose: Compose = attrs.field(validator=callback)
    create_turn: Callable[[View], StrategyTurn] | None = attrs.field(
        default=None, validator=attrs.validators.optional(callback)
    )
    action_workflow: Callable[[str, str], str | None] | None = attrs.field(
        default=None, validator=attrs.validators.optional(callback)
    )


@attrs.frozen(kw_only=True)
class ExtensionDefinition:
    """A manifest and the pure ``contribute``, which returns a JSON value for its slot."""

    manifest: ExtensionManifest
    contribute: Contribute = attrs.field(validator=callback)
