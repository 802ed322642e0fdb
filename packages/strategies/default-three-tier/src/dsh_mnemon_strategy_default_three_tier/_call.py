"""One route call inside an executing turn, as the read policies see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import attrs
from dsh_mnemon_core.checks import record
from dsh_mnemon_core.errors import AuthorityError
from dsh_mnemon_core.evidence import Evidence
from dsh_mnemon_core.strategy import TurnRead
from dsh_mnemon_core.values import json_clone
from dsh_mnemon_core.view import ReadGrant, ViewRoute

__all__ = ("Call",)


def _strings(value: object) -> tuple[str, ...]:
    """Return the strings of a JSON array, trimmed, blanks and repetitions removed, in order."""
    items = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()
    stripped = (item.strip() for item in items if isinstance(item, str))
    return tuple(dict.fromkeys(item for item in stripped if item))


@attrs.frozen(kw_only=True)
class Call:
    """What was asked and how to read for it.

    Attributes:
        view_id: The View of the turn.
        route: The route called, with the ceilings in force.
        grant: The ReadGrant of the route's Source.
        input: The checked input.
        read: Dispatches one counted read of the route.
    """

    view_id: str
    route: ViewRoute
    grant: ReadGrant
    input: Mapping[str, Any] = attrs.field(converter=record)
    read: TurnRead

    @property
    def source_key(self) -> str:
        """The Source instance the route belongs to."""
        return self.route.source_instance_key

    def spaces(self, requested: object) -> tuple[str, ...]:
        """Return the Memory Space ids to read: the requested ones, or all that are granted.

        Raises:
            AuthorityError: ``recall-space-outside-grant``.
        """
        granted = _strings(record(self.grant.value).get("memoryBodyIds"))
        wanted = _strings(requested)
        outside = [space for space in wanted if space not in granted]
        if outside:
            raise AuthorityError(
                "recall-space-outside-grant",
                f"Memory Space {outside[0]!r} is not readable in this View",
            )
        return wanted or granted

    def limit(self, maximum: int) -> int:
        """Return the number of results asked for, ``maximum`` when absent and at most that."""
        return min(int(self.input.get("limit") or maximum), maximum)

    def unread(self, output: Mapping[str, Any]) -> Evidence:
        """Answer without a read: no items, only the output that says why."""
        return Evidence(
            id=f"{self.route.id}#not-run",
            view_id=self.view_id,
            route_id=self.route.id,
            source_instance_key=self.source_key,
            metadata=json_clone({"notRun": True}),
            output=json_clone(output),
        )
