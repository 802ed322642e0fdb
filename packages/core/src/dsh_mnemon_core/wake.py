"""The Wake: the text of a View that a model sees (spec/core.md §11, D2)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import attrs

from dsh_mnemon_core.view import Fragment, Guidance, View, ViewOperation
from dsh_mnemon_core.wire import to_wire

__all__ = ("Wake", "WakeSection", "create_wake")

_ROUTES_NOTE = (
    "quoted routing data; read with mnemon_view_route and change with mnemon_view_action, "
    "always by exact id and schema; an offer is not yet permission"
)
_AVAILABILITY_NOTE = "quoted diagnostics; an unavailable Source is no evidence of anything"
_TOOLS_NOTE = "named tools that serve this View"


@attrs.frozen(kw_only=True)
class WakeSection:
    """One fragment as a section: ``layer_id`` is its Source type or instance key."""

    layer_id: str
    mode: str
    text: str


@attrs.frozen(kw_only=True)
class Wake:
    """Model-facing rendering of a View.

    Attributes:
        view_id: The View rendered.
        view_digest: Its digest.
        text: Blocks joined by one blank line; empty when there is nothing to say.
        sections: One per fragment, View order.
        guidance: Strategy text for system sections; not part of ``text``.
    """

    view_id: str
    view_digest: str
    text: str
    sections: tuple[WakeSection, ...]
    guidance: Guidance | None = None


def create_wake(view: View, bindings: Mapping[str, str] | None = None) -> Wake:
    """Render a View for the model; grants, ceilings and authority never show.

    Args:
        view: The View.
        bindings: View route and offer ids to named tools; bound operations are listed by tool
            name only.

    Returns:
        The Wake. Fragment text stands in it literally.
    """
    bound = bindings or {}
    eager = [f.text for f in view.projection if f.mode == "eager" and f.text]
    tools = _tools(view, bound)
    envelope = _envelope(view, bound)
    diagnostics = to_wire(view.diagnostics or ())
    blocks = [
        *eager,
        _line("MNEMON VIEW TOOLS", _TOOLS_NOTE, ", ".join(tools)) if tools else "",
        _line("MNEMON VIEW ROUTES", _ROUTES_NOTE, _json(envelope)) if envelope else "",
        _line("MNEMON VIEW AVAILABILITY", _AVAILABILITY_NOTE, _json(diagnostics))
        if diagnostics
        else "",
    ]
    return Wake(
        view_id=view.id,
        view_digest=view.digest,
        text="\n\n".join(block for block in blocks if block),
        sections=tuple(_section(fragment) for fragment in view.projection),
        guidance=view.guidance,
    )


def _line(title: str, note: str, payload: str) -> str:
    return f"{title} ({note}): {payload}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _section(fragment: Fragment) -> WakeSection:
    provenance = fragment.provenance
    known = cast("dict[str, Any]", provenance) if isinstance(provenance, dict) else {}
    name = known.get("sourceTypeId")
    named = isinstance(name, str) and name.strip()
    return WakeSection(
        layer_id=str(name) if named else fragment.source_instance_key,
        mode=fragment.mode,
        text=fragment.text,
    )


def _tools(view: View, bound: Mapping[str, str]) -> list[str]:
    """Return bound tool names, each once, routes before actions."""
    operations: Sequence[ViewOperation] = (*view.routes, *view.action_offers)
    return list(dict.fromkeys(bound[item.id] for item in operations if item.id in bound))


def _envelope(view: View, bound: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return one entry per Source that has a cover or an operation without a named tool."""
    entries: list[dict[str, Any]] = []
    owners: Sequence[Fragment | ViewOperation] = (
        *view.projection,
        *view.routes,
        *view.action_offers,
    )
    for key in dict.fromkeys(item.source_instance_key for item in owners):
        covers = [
            f.text for f in view.projection if f.source_instance_key == key and f.mode == "routed"
        ]
        routes = _unbound(view.routes, key, bound)
        actions = _unbound(view.action_offers, key, bound)
        if covers or routes or actions:
            cover = {"cover": covers[0]} if covers else {}
            entries.append({"source": key, **cover, "routes": routes, "actions": actions})
    return entries


def _unbound(
    operations: Sequence[ViewOperation], key: str, bound: Mapping[str, str]
) -> list[dict[str, Any]]:
    return [
        {
            "id": item.id,
            "description": item.description,
            "inputSchema": to_wire(item.input_schema),
        }
        for item in operations
        if item.source_instance_key == key and item.id not in bound
    ]
