"""What recent Views have returned and created: only that admits related, link and forget (§4.6)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

import attrs
from dsh_mnemon_core.errors import AuthorityError, InputError

__all__ = ("Views",)

_REMEMBERED: Final = 128


@attrs.define
class _Seen:
    """One View: the Spaces of each returned item, and the Spaces it created."""

    owners: dict[str, dict[str, None]] = attrs.field(factory=dict[str, dict[str, None]])
    created: dict[str, None] = attrs.field(factory=dict[str, None])


class Views:
    """The last 128 Views that returned or created something."""

    def __init__(self) -> None:
        self._views: OrderedDict[str, _Seen] = OrderedDict()

    def returned(self, view_id: str, items: Iterable[tuple[str, str]]) -> None:
        """Remember what a View was really given: ``(Space id, item id)``."""
        for space_id, item_id in items:
            self._of(view_id).owners.setdefault(item_id, {})[space_id] = None

    def created(self, view_id: str, space_id: str) -> None:
        """Remember that a View created a Space, which it may then write to."""
        self._of(view_id).created[space_id] = None

    def spaces(self, view_id: str) -> tuple[str, ...]:
        """Return the Spaces a View created, oldest first."""
        seen = self._views.get(view_id)
        return tuple(seen.created) if seen else ()

    def owner(self, view_id: str, item_id: str, space_id: str | None = None) -> str:
        """Return the Space an admitted item is of.

        Args:
            view_id: The View.
            item_id: The item.
            space_id: The Space that is meant, where several have an item of this id.

        Raises:
            AuthorityError: ``evidence-not-admitted``; this View has not returned it.
            InputError: ``space-required``; several Spaces have it.
        """
        seen = self._views.get(view_id)
        known = seen.owners.get(item_id, {}) if seen else {}
        owners = [owner for owner in known if space_id in (None, owner)]
        if not owners:
            raise AuthorityError(
                "evidence-not-admitted",
                "only a memory that recall returned in this View can be named here",
                details={"id": item_id},
            )
        if len(owners) > 1:
            raise InputError(
                "space-required",
                "several Memory Spaces have a memory of this id; name the memoryBodyId, one of: "
                + ", ".join(owners),
                details={"memoryBodyIds": owners},
            )
        return owners[0]

    def _of(self, view_id: str) -> _Seen:
        seen = self._views.setdefault(view_id, _Seen())
        self._views.move_to_end(view_id)
        while len(self._views) > _REMEMBERED:
            self._views.popitem(last=False)
        return seen
