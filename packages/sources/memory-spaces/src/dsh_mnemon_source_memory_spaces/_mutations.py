"""Management mutations (spec/sources.md §4.10)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias

import attrs
from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from dsh_mnemon_source_memory_spaces._bodies import body_json, service_json
from dsh_mnemon_source_memory_spaces._import import BodyImportInput, import_into
from dsh_mnemon_source_memory_spaces._inputs import (
    BLANK,
    LISTED,
    Input,
    Name,
    SpaceIds,
    limited,
    read_input,
)
from dsh_mnemon_source_memory_spaces._memory import SpacesMemory
from dsh_mnemon_source_memory_spaces._reads import SpaceIdInput
from dsh_mnemon_source_memory_spaces._recall.report import Target
from dsh_mnemon_source_memory_spaces._receipts import completion_of
from dsh_mnemon_source_memory_spaces._spaces import NewSpace
from dsh_mnemon_source_memory_spaces._targets import Targets, require
from dsh_mnemon_source_memory_spaces._writes import Outcome
from dsh_mnemon_source_memory_spaces.actions import (
    ForgetInput,
    LinkInput,
    RememberInput,
    SelectionInput,
    SpaceInput,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.items import RememberRequest
from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import CapabilityName

__all__ = ("MUTATIONS", "Mutation")

Mutation: TypeAlias = Callable[[SpacesMemory, Any, str], Awaitable[Any]]

_Connection: TypeAlias = dict[str, Any]


def _not_blank(value: str) -> str:
    if not value.strip():
        raise PydanticCustomError("string_too_short", "must hold more than white space")
    return value


class _ServiceInput(Input):
    provider_id: Name
    settings: _Connection = Field(default_factory=dict, repr=False)
    clear_secrets: Annotated[tuple[str, ...], Field(max_length=50), LISTED] = ()
    enabled: bool = True


class _BodyRequest(SpaceInput):
    connection: _Connection | None = Field(None, repr=False)
    provider_connections: dict[str, _Connection] = Field(default_factory=dict, repr=False)

    def new_space(self, placement: Mapping[str, Any] | None) -> NewSpace:
        return NewSpace(
            name=self.name,
            description=self.description,
            active=self.active or False,
            provider_id=self.provider_id,
            placement=placement,
            connection=self.connection,
            provider_connections=self.provider_connections,
        )


class _CreateInput(Input):
    request: _BodyRequest
    placement_decision: dict[str, Any] | None = None


class _PersistenceInput(Input):
    request: SpaceInput
    selection: SelectionInput | None = None


class _UpdateInput(SpaceIdInput):
    name: Annotated[Annotated[str, limited(100)] | None, BLANK] = None
    description: Annotated[Annotated[str, limited(1_000)] | None, BLANK] = None
    active: bool | None = None
    connection: _Connection | None = Field(None, repr=False)
    clear_secrets: Annotated[tuple[str, ...], Field(max_length=50), LISTED] = ()


class _ActivateInput(SpaceIdInput):
    active: bool


class _MergeInput(Input):
    target_memory_body_id: Name
    source_memory_body_ids: SpaceIds
    deactivate_sources: bool = True


class _MetadataInput(Input):
    updates: Annotated[tuple[dict[str, Any], ...], Field(min_length=1, max_length=20)]


class _ExactInput(RememberInput):
    """One memory of many; its white space is part of it."""

    content: Annotated[str, StringConstraints(max_length=8_192), AfterValidator(_not_blank)]


class _ManyInput(Input):
    requests: Annotated[tuple[_ExactInput, ...], Field(min_length=1, max_length=1_000)]
    exact: bool = True

    def kept(self, item: _ExactInput) -> RememberRequest:
        """Return what a Provider is asked to keep: every character, or the statement in it."""
        request = item.request(exact=self.exact)
        return request if self.exact else attrs.evolve(request, content=request.content.strip())


# -- Spaces and Providers -------------------------------------------------------------------------


async def _body(memory: SpacesMemory, space_id: str) -> dict[str, Any]:
    catalogue = await memory.spaces.current()
    return {"body": body_json(catalogue.get(space_id), memory.overview(catalogue))}


async def _service(memory: SpacesMemory, value: Any, fence: str) -> Any:
    request = read_input(_ServiceInput, value, "provider-service-update")
    await memory.spaces.service_update(
        request.provider_id,
        request.settings,
        clear_secrets=request.clear_secrets,
        enabled=request.enabled,
        expected_revision=fence,
    )
    overview = memory.overview(await memory.spaces.current())
    return {"service": service_json(memory.children.get(request.provider_id), overview)}


async def _create(memory: SpacesMemory, value: Any, fence: str) -> Any:
    request = read_input(_CreateInput, value, "body-create")
    new = request.request.new_space(request.placement_decision)
    return await _body(memory, (await memory.spaces.create(new, expected_revision=fence)).id)


async def _create_for_persistence(memory: SpacesMemory, value: Any, fence: str) -> Any:
    request = read_input(_PersistenceInput, value, "body-create-for-persistence")
    space = await memory.create(request.request, request.selection, expected_revision=fence)
    return await _body(memory, space.id)


async def _update(memory: SpacesMemory, value: Any, fence: str) -> Any:
    request = read_input(_UpdateInput, value, "body-update")
    await memory.spaces.update(
        request.memory_body_id,
        name=request.name,
        description=request.description,
        active=request.active,
        connection=request.connection,
        clear_secrets=request.clear_secrets,
        expected_revision=fence,
    )
    return await _body(memory, request.memory_body_id)


async def _activate(memory: SpacesMemory, value: Any, fence: str) -> Any:
    request = read_input(_ActivateInput, value, "body-activate")
    await memory.spaces.set_active(request.memory_body_id, request.active, expected_revision=fence)
    return await _body(memory, request.memory_body_id)


async def _delete(memory: SpacesMemory, value: Any, fence: str) -> Any:
    space_id = read_input(SpaceIdInput, value, "body-delete").memory_body_id
    space = await memory.spaces.remove(space_id, expected_revision=fence)
    return {"deleted": True, "memoryBodyId": space.id, "name": space.name}


async def _merge(memory: SpacesMemory, value: Any, fence: str) -> Any:
    request = read_input(_MergeInput, value, "body-merge")
    details = await memory.spaces.merge(
        request.target_memory_body_id,
        request.source_memory_body_ids,
        deactivate_sources=request.deactivate_sources,
        expected_revision=fence,
    )
    return {**details, "completion": completion_of(details)}


async def _metadata(memory: SpacesMemory, value: Any, fence: str) -> Any:
    updates = read_input(_MetadataInput, value, "body-metadata-update").updates
    changed = await memory.spaces.update_metadata(updates, expected_revision=fence)
    overview = memory.overview(await memory.spaces.current())
    bodies = [body_json(overview.catalogue.get(space.id), overview) for space in changed]
    return {"bodies": bodies}


async def _reload(memory: SpacesMemory, _input: Any, _fence: str) -> Any:
    targets = await memory.targets()
    for space in targets.catalogue.spaces:
        if memory.children.find(space.provider_id) is not None:
            memory.health.forget(targets.of(space))
    return {"reloaded": True, "total": len(targets.catalogue.spaces)}


# -- memories -------------------------------------------------------------------------------------


def _named(targets: Targets, space_id: str | None, capability: CapabilityName) -> Target:
    return require(targets.get(space_id or targets.only(capability)), capability)


def _settled(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome; what the Provider refused is raised as it said it."""
    if outcome.completion == "failed" and outcome.error is not None:
        raise outcome.error
    return {**outcome.to_json(), "completion": outcome.completion}


async def _remember(memory: SpacesMemory, value: Any, _fence: str) -> Any:
    request = read_input(RememberInput, value, "remember")
    target = _named(await memory.targets(), request.memory_body_id, "remember")
    return _settled(await memory.writer.remember(target, request.request()))


async def _remember_many(memory: SpacesMemory, value: Any, _fence: str) -> Any:
    asked = read_input(_ManyInput, value, "remember-many")
    targets = await memory.targets()
    requests = [
        (_named(targets, item.memory_body_id, "remember"), asked.kept(item))
        for item in asked.requests
    ]
    outcomes = await memory.writer.remember_many(requests)
    return {
        "results": [outcome.result for outcome in outcomes],
        "completions": [outcome.completion for outcome in outcomes],
    }


async def _link(memory: SpacesMemory, value: Any, _fence: str) -> Any:
    request = read_input(LinkInput, value, "link")
    target = _named(await memory.targets(), request.memory_body_id, "link")
    return _settled(await memory.writer.link(target, request))


async def _forget(memory: SpacesMemory, value: Any, _fence: str) -> Any:
    request = read_input(ForgetInput, value, "forget")
    target = _named(await memory.targets(), request.memory_body_id, "forget")
    return _settled(await memory.writer.forget(target, request.id))


async def _import(memory: SpacesMemory, value: Any, _fence: str) -> Any:
    request = read_input(BodyImportInput, value, "body-import")
    request.check()
    target = require((await memory.targets()).get(request.memory_body_id), "remember")
    return await import_into(target, request, memory.writer)


MUTATIONS: Final[Mapping[str, Mutation]] = MappingProxyType(
    {
        "provider-service-update": _service,
        "body-create": _create,
        "body-create-for-persistence": _create_for_persistence,
        "body-update": _update,
        "body-activate": _activate,
        "body-delete": _delete,
        "body-merge": _merge,
        "body-metadata-update": _metadata,
        "body-import": _import,
        "remember": _remember,
        "remember-many": _remember_many,
        "link": _link,
        "forget": _forget,
        "reload": _reload,
    }
)
"""The mutations by operation."""
