"""What Memory Spaces can do now, and what a View is shown and granted of it (§4.1; pure)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dsh_mnemon_core.sdk import (
    Presentation,
    PresentationItem,
    ReadGrant,
    SourceFacts,
    json_clone,
    truncate,
)

from dsh_mnemon_source_memory_spaces._registry.records import Catalogue
from dsh_mnemon_source_memory_spaces.actions import MANIFEST

__all__ = ("GRANT_SCHEMA", "cover", "facts_of", "grant_of", "presentation_of")

GRANT_SCHEMA: Final = "dsh-mnemon.memory-spaces/v1"
"""Schema of the grant: ``{memoryBodyIds, knownMemoryBodyIds}``."""

_SHOWN: Final = 24
_TITLE, _EXCERPT = 160, 600
_HINTS: Final = ("reason", "file", "firstBadIndex")
_UNAVAILABLE: Final = "unavailable"


def facts_of(key: str, catalogue: Catalogue, *, write_enabled: bool) -> SourceFacts:
    """Return the facts of a catalogue; a registry of which nothing can be read is unavailable.

    Args:
        key: Instance key of the Source.
        catalogue: What is registered.
        write_enabled: Whether anything may be changed.
    """
    identity: dict[str, Any] = {
        "source_instance_key": key,
        "source_type_id": MANIFEST.type_id,
        "role": MANIFEST.role,
    }
    faults = _faults(catalogue)
    if catalogue.unknown is not None:
        return SourceFacts(
            **identity, availability="unavailable", revision=_UNAVAILABLE, hints=faults
        )
    offered = {"inspect", *_readable(catalogue)}
    if write_enabled:
        offered |= {"manage-spaces", *_changeable(catalogue)}
    routes = tuple(route for route in MANIFEST.routes if route.id in offered)
    actions = tuple(action for action in MANIFEST.actions if action.id in offered)
    able: set[str] = {"status", "project"}
    able |= {route.capability for route in routes} | {action.capability for action in actions}
    active = len(catalogue.active)
    return SourceFacts(
        **identity,
        availability="ready" if active and not faults else "degraded",
        revision=catalogue.revision,
        capabilities=tuple(name for name in MANIFEST.capabilities if name in able),
        route_ids=tuple(route.id for route in routes),
        action_ids=tuple(action.id for action in actions),
        hints={"activeCount": active, "providerCount": len(catalogue.manifests), **faults},
    )


def _faults(catalogue: Catalogue) -> dict[str, Any]:
    if not catalogue.faults:
        return {}
    details = catalogue.faults[0].details
    return {key: details[key] for key in _HINTS if key in details}


def _readable(catalogue: Catalogue) -> set[str]:
    """Return the routes that some active Space can answer."""
    active = [catalogue.manifest(space).capabilities for space in catalogue.active]
    can: Mapping[str, bool] = {
        "recall": any(item.search for item in active),
        "related": any(item.related for item in active),
    }
    return {route for route, able in can.items() if able}


def _changeable(catalogue: Catalogue) -> set[str]:
    """Return the actions on memories that some Provider, or active Space, can execute."""
    active = [catalogue.manifest(space).capabilities for space in catalogue.active]
    mounted = [manifest.capabilities for manifest in catalogue.manifests.values()]
    can: Mapping[str, bool] = {
        "remember": any(item.remember for item in mounted),
        "link": any(item.link for item in active),
        "forget": any(item.forget for item in active),
    }
    return {action for action, able in can.items() if able}


def cover(catalogue: Catalogue) -> str:
    """Return the one line about Memory Spaces that a model always sees."""
    total = len(catalogue.spaces)
    plural = "Space" if total == 1 else "Spaces"
    return (
        f"{len(catalogue.active)} active of {total} configured Memory {plural} available through"
        " scoped recall."
    )


def grant_of(key: str, catalogue: Catalogue) -> ReadGrant:
    """Return the grant of a View: the Spaces it may read, and those it knows."""
    revision = catalogue.revision
    return ReadGrant(
        id=f"{key}/grant/{revision}",
        source_instance_key=key,
        schema=GRANT_SCHEMA,
        value=json_clone(
            {
                "memoryBodyIds": sorted(space.id for space in catalogue.active),
                "knownMemoryBodyIds": sorted(space.id for space in catalogue.spaces),
            }
        ),
        revision=revision,
        consistency=MANIFEST.consistency,
    )


def presentation_of(catalogue: Catalogue) -> Presentation:
    """Return counts and a few of the active Spaces for people; those are what is visible."""
    shown = [
        PresentationItem(
            id=space.id,
            title=truncate(space.name, _TITLE),
            excerpt=truncate(space.description, _EXCERPT) or None,
        )
        for space in catalogue.active[:_SHOWN]
    ]
    return Presentation(
        visible_items=len(catalogue.active), total_items=len(catalogue.spaces), items=tuple(shown)
    )
