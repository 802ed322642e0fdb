"""Which offered operations the named tools serve (core.md §11, host.md §6.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar, cast

import attrs
from dsh_mnemon_core.runtime import Generation
from dsh_mnemon_core.view import ActionOffer, View, ViewRoute

from dsh_mnemon_host.executions import Execution
from dsh_mnemon_host.source_session import chosen_instance

__all__ = (
    "ACTIONS",
    "DOCUMENTS_CREATE",
    "DOCUMENTS_MANAGE",
    "DOCUMENTS_READ",
    "DOCUMENTS_SEARCH",
    "ROUTES",
    "RUNTIME_MUTATE",
    "SPACES_FORGET",
    "SPACES_INSPECT",
    "SPACES_LINK",
    "SPACES_MANAGE",
    "SPACES_RECALL",
    "SPACES_RELATED",
    "SPACES_REMEMBER",
    "NamedOperation",
    "bind",
    "execution_types",
    "named_offer",
    "named_route",
    "source_types",
)


@attrs.frozen
class NamedOperation:
    """An operation of a Source type that named tools serve.

    Attributes:
        type_id: Type of the Source; its default, or only, instance is meant.
        operation_id: The Source's own route or action id.
        tools: The tools, as the Wake lists them.
    """

    type_id: str
    operation_id: str
    tools: str


DOCUMENTS_SEARCH: Final = NamedOperation("documents", "search", "mnemon_document_search")
DOCUMENTS_READ: Final = NamedOperation("documents", "read", "mnemon_document_read")
SPACES_INSPECT: Final = NamedOperation(
    "memory-spaces", "inspect", "mnemon_memory_bodies / mnemon_status"
)
SPACES_RECALL: Final = NamedOperation("memory-spaces", "recall", "mnemon_recall")
SPACES_RELATED: Final = NamedOperation("memory-spaces", "related", "mnemon_related")

ROUTES: Final = (
    DOCUMENTS_SEARCH,
    DOCUMENTS_READ,
    SPACES_INSPECT,
    SPACES_RECALL,
    SPACES_RELATED,
)
"""Every named route."""

RUNTIME_MUTATE: Final = NamedOperation("runtime", "mutate", "mnemon_runtime_memory")
DOCUMENTS_MANAGE: Final = NamedOperation("documents", "manage", "mnemon_document_manage")
DOCUMENTS_CREATE: Final = NamedOperation("documents", "create", "mnemon_document_create")
SPACES_REMEMBER: Final = NamedOperation("memory-spaces", "remember", "mnemon_remember")
SPACES_LINK: Final = NamedOperation("memory-spaces", "link", "mnemon_link")
SPACES_FORGET: Final = NamedOperation("memory-spaces", "forget", "mnemon_forget")
SPACES_MANAGE: Final = NamedOperation(
    "memory-spaces",
    "manage-spaces",
    "mnemon_memory_body_create / mnemon_memory_body_update / mnemon_memory_body_merge",
)

ACTIONS: Final = (
    RUNTIME_MUTATE,
    DOCUMENTS_MANAGE,
    DOCUMENTS_CREATE,
    SPACES_REMEMBER,
    SPACES_LINK,
    SPACES_FORGET,
    SPACES_MANAGE,
)
"""Every named action."""

Offered = TypeVar("Offered", ViewRoute, ActionOffer)


def source_types(generation: Generation) -> Mapping[str, str]:
    """Return the type id of every Source of a generation by instance key."""
    return {source.key: source.record.definition.manifest.type_id for source in generation.sources}


def execution_types(execution: Execution) -> Mapping[str, str]:
    """Return the type ids of the Sources of the generation a turn is pinned to."""
    generation_id = execution.context.view.runtime_generation
    with execution.graph.attachment.host.acquire(generation_id) as lease:
        return source_types(lease.generation)


def named_offer(view: View, types: Mapping[str, str], named: NamedOperation) -> ActionOffer | None:
    """Return the offer a named tool serves in this View: that of the default or only instance."""
    key = _instance(types, named.type_id)
    for offer in view.action_offers:
        if offer.source_instance_key == key and offer.source_action_id == named.operation_id:
            return offer
    return None


def named_route(view: View, types: Mapping[str, str], named: NamedOperation) -> ViewRoute | None:
    """Return the route a named tool serves in this View.

    Its grant must have the schema of the Source type: a Source of another make answers in words
    the tool does not know.
    """
    key = _instance(types, named.type_id)
    schema = f"dsh-mnemon.{named.type_id}/v1"
    if not any(g.source_instance_key == key and g.schema == schema for g in view.read_grants):
        return None
    for route in view.routes:
        if route.source_instance_key == key and route.source_route_id == named.operation_id:
            return route
    return None


def _instance(types: Mapping[str, str], type_id: str) -> str | None:
    present = [key for key, known in types.items() if known == type_id]
    return chosen_instance(present, type_id)


def bind(view: View, types: Mapping[str, str]) -> dict[str, str]:
    """Map the View's route and offer ids to the named tools that serve them."""
    routes = ((named_route(view, types, named), named.tools) for named in ROUTES)
    offers = ((named_offer(view, types, named), named.tools) for named in ACTIONS)
    found = cast("Any", (*routes, *offers))
    return {operation.id: tools for operation, tools in found if operation is not None}
