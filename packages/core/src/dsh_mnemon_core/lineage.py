"""Migration lineage: proof of where content went before it left its place (core.md §18, D40)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import attrs

from dsh_mnemon_core.checks import text
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.wire import from_wire

__all__ = ("Lineage", "LineageEnd", "migration_lineage")


def _short(value: object) -> str:
    return text(value, "layerId and digest", 300)


def _reference(value: object) -> str:
    return text(value, "reference", 2000)


@attrs.frozen(kw_only=True)
class LineageEnd:
    """Where content was or is: Text(300) layer id, Text(2000) reference, Text(300) digest."""

    layer_id: str = attrs.field(converter=_short)
    reference: str = attrs.field(converter=_reference)
    digest: str = attrs.field(converter=_short)


@attrs.frozen(kw_only=True)
class Lineage:
    """Proof that one piece of content was written elsewhere before it left its place."""

    source: LineageEnd
    destination: LineageEnd


def migration_lineage(value: object) -> tuple[Lineage, ...]:
    """Read at most 1 000 lineage records in their JSON form; absent gives none.

    Raises:
        InputError: ``lineage-invalid``, or as `from_wire` and `text`.
    """
    items = () if value is None else value
    if not isinstance(items, (list, tuple)) or len(cast("Sequence[object]", items)) > 1000:
        raise InputError("lineage-invalid", "lineage must be an array of at most 1000 records")
    return tuple(from_wire(Lineage, item) for item in cast("Sequence[object]", items))
