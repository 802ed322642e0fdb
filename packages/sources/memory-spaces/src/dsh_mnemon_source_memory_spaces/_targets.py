"""From a Space's id to the Provider child that serves it (spec/sources.md §4.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from dsh_mnemon_core.errors import AuthorityError, InputError, StorageError

from dsh_mnemon_source_memory_spaces._children import Children
from dsh_mnemon_source_memory_spaces._recall.report import Target
from dsh_mnemon_source_memory_spaces._registry.records import Catalogue, SpaceRecord
from dsh_mnemon_source_memory_spaces.provider_sdk.fields import secret_values
from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import CapabilityName

__all__ = ("Targets", "require")

_NAMED: Final = 16
"""How many Spaces a message names; as many as the directory shows."""

_DEEDS: Final[Mapping[CapabilityName, str]] = {
    "search": "search",
    "browse": "list its memories",
    "graph": "show a graph",
    "entities": "name entities",
    "related": "follow links",
    "remember": "take memories",
    "link": "join memories",
    "forget": "forget memories",
}
"""What a Provider does that has a capability."""


class Targets:
    """The Spaces of one catalogue with their Providers.

    Args:
        catalogue: What is listed now.
        children: The Providers of this generation.
    """

    def __init__(self, catalogue: Catalogue, children: Children) -> None:
        self.catalogue = catalogue
        self._children = children

    def of(self, space: SpaceRecord) -> Target:
        """Return a Space with its Provider.

        Raises:
            LifecycleError: ``provider-not-ready``.
        """
        child = self._children.get(space.provider_id)
        return Target(
            space=space.view(),
            provider_id=space.provider_id,
            manifest=child.manifest,
            adapter=child.adapter,
            secrets=self._secrets(space),
        )

    def get(self, space_id: str) -> Target:
        """Return a listed Space, active or not.

        Raises:
            InputError: ``space-unknown``.
            LifecycleError: ``provider-not-ready``.
        """
        return self.of(self.catalogue.get(space_id))

    def readable(self, space_id: str) -> Target:
        """Return a Space that may be read.

        Raises:
            InputError: ``space-unknown`` or ``space-inactive``.
            LifecycleError: ``provider-not-ready``.
        """
        space = self.catalogue.get(space_id)
        if not self.catalogue.is_active(space):
            raise InputError(
                "space-inactive",
                f"Memory Space {space.name!r} is not active, so it cannot be read; activate it "
                "first",
                details={"id": space_id},
            )
        return self.of(space)

    def all(self, space_ids: Sequence[str] | None = None) -> tuple[Target, ...]:
        """Return the named Spaces, or all active ones, in registry order.

        Raises:
            InputError: ``space-unknown`` or ``space-inactive``.
            StorageError: The registry cannot be read.
        """
        if not space_ids:
            return self._active()
        return self._ordered(self.readable(space_id) for space_id in space_ids)

    def shown(self, space_ids: Sequence[str] | None = None) -> tuple[Target, ...]:
        """Return the named Spaces, active or not, or all active ones, in registry order.

        Raises:
            InputError: ``space-unknown``.
        """
        if not space_ids:
            return self._active()
        return self._ordered(self.get(space_id) for space_id in space_ids)

    def faults(self, space_ids: Sequence[str] | None = None) -> tuple[StorageError, ...]:
        """Return why Spaces may be missing; nothing for named ones, as those are there."""
        return () if space_ids else self.catalogue.faults

    def _active(self) -> tuple[Target, ...]:
        self.catalogue.check_known()
        return tuple(
            self.of(space)
            for space in self.catalogue.active
            if self._children.find(space.provider_id) is not None
        )

    def _ordered(self, targets: Iterable[Target]) -> tuple[Target, ...]:
        named = {target.space.id: target for target in targets}
        return tuple(named[space.id] for space in self.catalogue.spaces if space.id in named)

    def only(self, capability: CapabilityName, among: Iterable[str] | None = None) -> str:
        """Return the one active Space that can do something.

        Raises:
            InputError: ``space-required``; there are several, or none.
        """
        allowed = None if among is None else frozenset(among)
        able = [
            target.space.id
            for target in self.all()
            if getattr(target.manifest.capabilities, capability)
            and (allowed is None or target.space.id in allowed)
        ]
        if len(able) != 1:
            raise self.unnamed(able)
        return able[0]

    def unnamed(self, space_ids: Sequence[str]) -> InputError:
        """Return ``space-required``, naming the Spaces that may be meant by id and name."""
        names = {space.id: space.name for space in self.catalogue.spaces}
        known = [f"{id} ({names.get(id, 'unknown')})" for id in space_ids]
        if known:
            more = len(known) - _NAMED
            told = [*known[:_NAMED], *([f"and {more} more"] if more > 0 else [])]
            message = f"name the memoryBodyId; it may be one of: {', '.join(told)}"
        else:
            message = "no active Memory Space can take this; make or activate one, or name one"
        return InputError("space-required", message, details={"memoryBodyIds": list(space_ids)})

    def _secrets(self, space: SpaceRecord) -> tuple[str, ...]:
        service = self.catalogue.service(space.provider_id)
        saved: dict[str, Any] = {**(service.settings or {} if service else {}), **space.connection}
        return secret_values(self.catalogue.manifest(space), saved)


def require(target: Target, capability: CapabilityName) -> Target:
    """Return a Space that can do something.

    Raises:
        AuthorityError: ``capability-missing``; its Provider cannot.
    """
    if not getattr(target.manifest.capabilities, capability):
        raise AuthorityError(
            "capability-missing",
            f"{target.manifest.label}, which holds the Memory Space {target.space.name!r}, cannot "
            f"{_DEEDS[capability]}",
            details={"memoryBodyId": target.space.id, "capability": capability},
        )
    return target
