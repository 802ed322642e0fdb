"""The View: immutable, bounded context, routes and actions of one turn (spec/core.md §4.6-4.8)."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import attrs

from dsh_mnemon_core.scope import Capability, OperationScope

__all__ = (
    "ActionOffer",
    "Contribution",
    "Diagnostic",
    "ExtensionIdentity",
    "Fragment",
    "Guidance",
    "Presentation",
    "PresentationItem",
    "ProjectionMode",
    "ReadGrant",
    "Reminders",
    "SourcePresentation",
    "View",
    "ViewConsistency",
    "ViewOperation",
    "ViewReference",
    "ViewRoute",
)

ProjectionMode: TypeAlias = Literal["eager", "routed"]
"""Text in the Wake itself, or a bounded cover inside its routing envelope."""


@attrs.frozen(kw_only=True)
class Fragment:
    """Projected text of one Source.

    Attributes:
        id: Text(300).
        source_instance_key: The Source it belongs to.
        mode: The mode that was asked for.
        text: At most the asked characters; transmitted literally.
        revision: Text(500).
        provenance: JSON; a ``sourceTypeId`` string in it names the Wake section.
    """

    id: str
    source_instance_key: str
    mode: ProjectionMode
    text: str
    revision: str
    provenance: Any = None


@attrs.frozen(kw_only=True)
class ReadGrant:
    """What one Source lets this View read; Host-only, never shown to a model.

    Attributes:
        id: Text(300), distinct within the View.
        source_instance_key: The Source that issued it.
        schema: Text(300) naming the shape of ``value``.
        value: Opaque JSON owned by the Source.
        revision: Text(500).
        consistency: The manifest's consistency.
    """

    id: str
    source_instance_key: str
    schema: str
    value: Any
    revision: str
    consistency: str


@attrs.frozen(kw_only=True)
class PresentationItem:
    """One line for a person: id Text(300), title Text(160), excerpt Text(600)."""

    id: str
    title: str
    excerpt: str | None = None


@attrs.frozen(kw_only=True)
class Presentation:
    """What a Source shows a person about its projection; never authority, never for the model.

    Attributes:
        visible_items: Items projected, 0..1 000 000 000.
        total_items: Items there are, at least ``visible_items``.
        items: At most 24 and at most ``visible_items``, distinct ids.
    """

    visible_items: int
    total_items: int | None = None
    items: tuple[PresentationItem, ...] | None = None


@attrs.frozen(kw_only=True)
class SourcePresentation(Presentation):
    """A `Presentation` inside a View, with the Source and the mode it belongs to."""

    source_instance_key: str
    mode: ProjectionMode


@attrs.frozen(kw_only=True)
class Contribution:
    """Answer of `SourceRuntime.project`: fragments, a grant, a presentation."""

    fragments: tuple[Fragment, ...] = ()
    read_grant: ReadGrant | None = None
    presentation: Presentation | None = None


@attrs.frozen(kw_only=True)
class ViewOperation:
    """What an offered route and an offered action have in common."""

    id: str
    source_instance_key: str
    description: str
    capability: Capability
    input_schema: Any


@attrs.frozen(kw_only=True)
class ViewRoute(ViewOperation):
    """An offered read; ``id`` is ``<sourceInstanceKey>/<sourceRouteId>``.

    ``max_calls`` counts dispatched reads per executing turn; ``max_results`` and
    ``max_characters`` bound one read (items, characters).
    """

    source_route_id: str
    read_grant_id: str
    max_calls: int
    max_results: int
    max_characters: int


@attrs.frozen(kw_only=True)
class ActionOffer(ViewOperation):
    """An offered change; ``id`` is ``<sourceInstanceKey>/<sourceActionId>``. Not permission."""

    source_action_id: str
    authority: str | None = None


@attrs.frozen(kw_only=True)
class Reminders:
    """Short cues of a Strategy, each Text(16 384)."""

    read: str | None = None
    write: str | None = None
    both: str | None = None


@attrs.frozen(kw_only=True)
class Guidance:
    """Trusted Strategy text for system sections, each Text(16 384) (§4.6, D3)."""

    protocol: str | None = None
    system: str | None = None
    routing: str | None = None
    reminders: Reminders | None = None


@attrs.frozen(kw_only=True)
class Diagnostic:
    """A stable code and a message without foreign text.

    Attributes:
        code: Stable kebab-case code.
        message: One sentence of Core or a Strategy, never of a Source's exception.
        contribution_instance_key: The contribution concerned, if one is.
        cause: Code of the error behind ``composition-rejected``.
    """

    code: str
    message: str
    contribution_instance_key: str | None = None
    cause: str | None = None


@attrs.frozen(kw_only=True)
class ExtensionIdentity:
    """An active extension in a View: who it was and the digest of what it said."""

    instance_key: str
    type_id: str
    slot: str
    digest: str


@attrs.frozen(kw_only=True)
class ViewConsistency:
    """Common consistency of the projected Sources (else ``mixed``) and every revision."""

    mode: str
    source_revisions: Any


@attrs.frozen(kw_only=True)
class ViewReference:
    """What a Source learns about the View it serves: its id and scope, nothing else."""

    id: str
    scope: OperationScope


@attrs.frozen(kw_only=True)
class View:
    """The immutable View of one turn (spec/core.md §4.8).

    ``id`` is ``view:`` + ``digest``; the digest covers every field but ``id``, ``digest`` and
    ``created_at``. Equal content gives equal ids, so a View id never identifies a turn.
    """

    id: str
    digest: str
    runtime_generation: str
    strategy_instance_key: str
    strategy_type_id: str
    strategy_extensions: tuple[ExtensionIdentity, ...] | None = None
    created_at: str
    scope: OperationScope
    projection: tuple[Fragment, ...]
    source_presentations: tuple[SourcePresentation, ...] | None = None
    routes: tuple[ViewRoute, ...]
    read_grants: tuple[ReadGrant, ...]
    action_offers: tuple[ActionOffer, ...]
    consistency: ViewConsistency
    explanation: str
    guidance: Guidance | None = None
    diagnostics: tuple[Diagnostic, ...] | None = None

    def reference(self) -> ViewReference:
        """Return what a Source may know about this View."""
        return ViewReference(id=self.id, scope=self.scope)
