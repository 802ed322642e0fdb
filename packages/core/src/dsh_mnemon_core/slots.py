"""The standard extension slots: their values and the helpers around them (spec/core.md §14)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypedDict, cast

import attrs
from attrs.converters import optional

from dsh_mnemon_core.checks import distinct, integer, record, text
from dsh_mnemon_core.errors import ContractError
from dsh_mnemon_core.scope import ViewRequest
from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_core.strategy import (
    ANY,
    ExtensionContribution,
    ExtensionDefinition,
    ExtensionManifest,
    Slot,
    SourceSelection,
)
from dsh_mnemon_core.wire import from_wire, nearest, to_wire, wire_name

__all__ = (
    "MAX_INSTRUCTION",
    "Capture",
    "Projection",
    "Selection",
    "SlotValue",
    "SlotValues",
    "capture_guidance",
    "define_memory_view_extension",
    "memory_view_extension_values",
    "read_action_ids",
    "read_source_keys",
    "validate_memory_view_extension",
)

MAX_INSTRUCTION: Final = 4_000
"""Characters of an instruction for the model that a person may configure."""

_SOURCE_KEY = re.compile(r"source:[a-zA-Z0-9][a-zA-Z0-9._:/-]{0,292}")
_ACTION_ID = re.compile(r"[a-z][a-z0-9-]{0,127}")

_CAPTURE_RULES: Final = (
    "Act only through one of these actions, where the current View offers it for one of these "
    "Sources, with exactly its schema; the Host still decides whether it may run. Put each fact "
    "into one Source only. Capture adds: it never overwrites and never deletes. What counts is the "
    "receipt; proposing a fact has not written it. Nothing runs in the background: a capture you "
    "do not make yourself is not made."
)


def _listed(value: object, pattern: re.Pattern[str]) -> tuple[str, ...] | None:
    """Return at most 32 strings of one pattern, or ``None`` for anything else."""
    items = tuple(cast("Sequence[object]", value)) if isinstance(value, (list, tuple)) else None
    if items is None or len(items) > 32:
        return None
    good = all(isinstance(item, str) and pattern.fullmatch(item) for item in items)
    return cast("tuple[str, ...]", items) if good else None


def read_source_keys(value: object) -> tuple[str, ...]:
    """Read at most 32 distinct Source instance keys.

    Raises:
        ContractError: ``source-keys-invalid`` or ``source-keys-duplicated``.
    """
    keys = _listed(value, _SOURCE_KEY)
    if keys is None:
        raise ContractError("source-keys-invalid", "Source keys must be at most 32 instance keys")
    return distinct(keys, "Source keys", kind=ContractError, code="source-keys-duplicated")


def _limit(value: object) -> int:
    if value is None:
        raise ContractError("projection-limit-required", "maxProjectionCharacters is required")
    return integer(value, "maxProjectionCharacters", 1, 10_000_000, kind=ContractError)


def _instruction(value: object) -> str:
    return text("" if value is None else value, "instruction", MAX_INSTRUCTION, kind=ContractError)


def read_action_ids(value: object) -> tuple[str, ...]:
    """Read 1 to 32 distinct Source-local action ids.

    Raises:
        ContractError: ``capture-actions-invalid``.
    """
    ids = _listed(value, _ACTION_ID)
    if not ids or len(set(ids)) != len(ids):
        raise ContractError("capture-actions-invalid", "actionIds must be 1..32 distinct Ids")
    return ids


@attrs.frozen(kw_only=True)
class Selection:
    """Slot ``selection``: Sources in priority order; of them the writable ones, all if absent."""

    source_keys: tuple[str, ...] = attrs.field(converter=read_source_keys)
    writable_source_keys: tuple[str, ...] | None = attrs.field(
        default=None, converter=optional(read_source_keys)
    )

    def __attrs_post_init__(self) -> None:
        """Refuse a writable Source that is not selected."""
        if not set(self.writable_source_keys or ()) <= set(self.source_keys):
            raise ContractError("writable-not-selected", "writable Sources must be selected ones")

    def writable(self, source_key: str) -> bool:
        """Tell whether a selected Source may offer actions."""
        return self.writable_source_keys is None or source_key in self.writable_source_keys


@attrs.frozen(kw_only=True)
class Projection:
    """Slot ``projection``: a ceiling, 1..10 000 000 characters, that only narrows the budget."""

    max_projection_characters: int = attrs.field(converter=_limit)


@attrs.frozen(kw_only=True)
class Capture:
    """Slot ``capture``: an instruction, Text(4000); action ids; Sources, any if absent."""

    instruction: str = attrs.field(converter=_instruction)
    action_ids: tuple[str, ...] = attrs.field(converter=read_action_ids)
    source_keys: tuple[str, ...] | None = attrs.field(
        default=None, converter=optional(read_source_keys)
    )


SlotValue: TypeAlias = Selection | Projection | Capture
"""A checked value of a standard slot."""


class SlotValues(TypedDict, total=False):
    """Checked values by slot; a slot that nobody filled is absent."""

    selection: Selection
    projection: Projection
    capture: Capture


_CLASSES: Final[Mapping[str, type[SlotValue]]] = {
    "selection": Selection,
    "projection": Projection,
    "capture": Capture,
}


def validate_memory_view_extension(slot: str, value: object) -> SlotValue:
    """Check a contributed value, in its JSON form, against its standard slot.

    Raises:
        ContractError: ``slot-unsupported``, ``not-an-object``, ``extension-field-unsupported``, or
            the code of the field that is wrong (spec/core.md §14).
    """
    if slot not in _CLASSES:
        raise ContractError("slot-unsupported", f"{slot!r} is no standard slot")
    mapping = record(value, f"the value of slot {slot}", kind=ContractError)
    known = sorted(wire_name(field.name) for field in attrs.fields(_CLASSES[slot]))
    for key in sorted(mapping.keys() - known):
        raise ContractError(
            "extension-field-unsupported", f"slot {slot} has no {key!r}{nearest(key, known)}"
        )
    return from_wire(_CLASSES[slot], mapping)


def memory_view_extension_values(contributions: Iterable[ExtensionContribution]) -> SlotValues:
    """Check every contribution and return the values by slot.

    Raises:
        ContractError: ``slot-duplicated``, or as `validate_memory_view_extension`.
    """
    values: dict[str, SlotValue] = {}
    for item in contributions:
        if item.slot in values:
            raise ContractError("slot-duplicated", f"two contributions fill slot {item.slot!r}")
        values[item.slot] = validate_memory_view_extension(item.slot, item.value)
    return cast("SlotValues", values)


def define_memory_view_extension(
    *,
    type_id: str,
    package_name: str,
    slot: Slot,
    contribute: Callable[[ViewRequest, Sequence[AvailableSource]], SlotValue | Mapping[str, Any]],
    strategy_type_id: str = ANY,
) -> ExtensionDefinition:
    """Define an extension of a standard slot; every value of ``contribute`` is checked.

    ``contribute`` is pure and returns a slot value or its JSON form. The extension serves every
    Strategy that declares the slot unless ``strategy_type_id`` names one.
    """

    def checked(request: ViewRequest, sources: Sequence[AvailableSource]) -> Any:
        return to_wire(validate_memory_view_extension(slot, to_wire(contribute(request, sources))))

    manifest = ExtensionManifest(
        type_id=type_id,
        package_name=package_name,
        strategy_type_id=strategy_type_id,
        slot=slot,
        deterministic=True,
    )
    return ExtensionDefinition(manifest=manifest, contribute=checked)


def capture_guidance(
    capture: Capture, selections: Sequence[SourceSelection], sources: Sequence[AvailableSource]
) -> str | None:
    """Write the system block that invites capture, or ``None`` when there is no target.

    A target is a selected Source, among ``capture.source_keys`` when given, whose selection offers
    one of ``capture.action_ids`` with capability ``write`` or ``maintain`` and no ``authority``.
    """
    offered = {
        (source.source_instance_key, action.id)
        for source in sources
        for action in source.actions
        if action.authority is None and action.capability in ("write", "maintain")
    }
    targets = [
        key
        for key, ids in ((item.source_instance_key, item.action_ids or ()) for item in selections)
        if (capture.source_keys is None or key in capture.source_keys)
        and any(action in capture.action_ids and (key, action) in offered for action in ids)
    ]
    if not targets:
        return None
    eligible, actions = ", ".join(targets), ", ".join(capture.action_ids)
    return (
        f"MNEMON OPTIONAL AUTO CAPTURE\n{capture.instruction}\n"
        f"Eligible Sources: {eligible}\nActions: {actions}\n{_CAPTURE_RULES}"
    )
