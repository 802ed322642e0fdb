"""Executing the actions of a View (spec/sources.md §4.9)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import attrs
from dsh_mnemon_core.errors import AuthorityError, InputError
from dsh_mnemon_core.sdk import Completion, MutateRequest

from dsh_mnemon_source_memory_spaces._bodies import body_json
from dsh_mnemon_source_memory_spaces._inputs import read_input
from dsh_mnemon_source_memory_spaces._memory import SpacesMemory
from dsh_mnemon_source_memory_spaces._paths import short_paths
from dsh_mnemon_source_memory_spaces._reads import writable
from dsh_mnemon_source_memory_spaces._recall.report import Target
from dsh_mnemon_source_memory_spaces._receipts import completion_of
from dsh_mnemon_source_memory_spaces._targets import require
from dsh_mnemon_source_memory_spaces._writes import Outcome
from dsh_mnemon_source_memory_spaces.actions import (
    ForgetInput,
    LinkInput,
    ManageSpacesInput,
    RememberInput,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import CapabilityName

__all__ = ("Done", "execute")


@attrs.frozen(kw_only=True)
class Done:
    """How far an action got; ``details`` become those of the Receipt."""

    completion: Completion
    details: dict[str, Any]


@attrs.frozen(kw_only=True)
class _Scope:
    """What one View may write to.

    Attributes:
        granted: Spaces it may read, and those it created.
        writable: Spaces it knows, and those it created.
    """

    memory: SpacesMemory
    view_id: str
    granted: tuple[str, ...]
    writable: tuple[str, ...]

    def may_write(self, space_id: str) -> str:
        """Return the id of a Space this View may write to.

        Raises:
            AuthorityError: ``space-outside-grant``.
        """
        if space_id not in self.writable:
            raise _outside(space_id)
        return space_id

    async def admitted(
        self, item_id: str, space_id: str | None, capability: CapabilityName
    ) -> Target:
        """Return the granted Space of an item this View has returned.

        Raises:
            AuthorityError: ``evidence-not-admitted``, ``space-outside-grant`` or
                ``capability-missing``.
            InputError: ``space-required`` or ``space-unknown``.
        """
        owner = self.memory.views.owner(self.view_id, item_id, space_id)
        if owner not in self.granted:
            raise _outside(owner)
        return require((await self.memory.targets()).get(owner), capability)


def _outside(space_id: str) -> AuthorityError:
    return AuthorityError(
        "space-outside-grant",
        f"Memory Space {space_id!r} is not in the scope of this View",
        details={"memoryBodyId": space_id},
    )


async def execute(memory: SpacesMemory, request: MutateRequest) -> Done:
    """Execute an action within the grant of its View.

    Raises:
        AuthorityError: ``read-only``, ``grant-missing``, ``space-outside-grant``,
            ``evidence-not-admitted`` or ``capability-missing``.
        InputError: ``action-unsupported`` or a malformed input.
        MnemonError: A Space could not be created, changed or merged.
    """
    action = _ACTIONS.get(request.offer.source_action_id)
    if action is None:
        raise InputError("action-unsupported", "Memory Spaces has no such action")
    if not memory.config.write_enabled:
        raise AuthorityError("read-only", "Memory Spaces is configured not to change anything")
    if request.grant is None:
        raise AuthorityError("grant-missing", "this View was granted no Memory Spaces")
    view_id, value = request.view.id, request.grant.value
    readable = value.get("memoryBodyIds", ())
    scope = _Scope(
        memory=memory,
        view_id=view_id,
        granted=tuple(dict.fromkeys((*readable, *memory.views.spaces(view_id)))),
        writable=writable(memory, view_id, value),
    )
    return await action(scope, request.input)


# -- memories -------------------------------------------------------------------------------------


def _done(outcome: Outcome) -> Done:
    return Done(completion=outcome.completion, details=outcome.worded(short_paths).to_json())


async def _remember(scope: _Scope, value: Any) -> Done:
    request = read_input(RememberInput, value, "remember")
    named = request.memory_body_id
    targets = await scope.memory.targets()
    if named is None and len(scope.granted) != 1:
        raise targets.unnamed(scope.granted)
    space_id = scope.may_write(named or scope.granted[0])
    target = require(targets.get(space_id), "remember")
    return _done(await scope.memory.writer.remember(target, request.request()))


async def _link(scope: _Scope, value: Any) -> Done:
    request = read_input(LinkInput, value, "link")
    target = await scope.admitted(request.source_id, request.memory_body_id, "link")
    await scope.admitted(request.target_id, target.space.id, "link")
    return _done(await scope.memory.writer.link(target, request))


async def _forget(scope: _Scope, value: Any) -> Done:
    request = read_input(ForgetInput, value, "forget")
    target = await scope.admitted(request.id, request.memory_body_id, "forget")
    return _done(await scope.memory.writer.forget(target, request.id))


# -- Spaces ---------------------------------------------------------------------------------------


async def _manage_spaces(scope: _Scope, value: Any) -> Done:
    request = read_input(ManageSpacesInput, value, "manage-spaces")
    return await _OPERATIONS[request.operation](scope, request)


async def _create(scope: _Scope, request: ManageSpacesInput) -> Done:
    if request.request is None:
        raise _missing("request", "create")
    space = await scope.memory.create(request.request, request.selection)
    scope.memory.views.created(scope.view_id, space.id)
    return await _changed(scope, "create", space.id)


async def _update(scope: _Scope, request: ManageSpacesInput) -> Done:
    if request.memory_body_id is None:
        raise _missing("memoryBodyId", "update")
    if request.name is None and request.description is None and request.active is None:
        raise InputError("change-empty", "give a name, a description or active to change")
    space_id = scope.may_write(request.memory_body_id)
    await scope.memory.spaces.update(
        space_id, name=request.name, description=request.description, active=request.active
    )
    return await _changed(scope, "update", space_id)


async def _changed(scope: _Scope, operation: str, space_id: str) -> Done:
    catalogue = await scope.memory.spaces.current()
    overview = scope.memory.overview(catalogue).for_model()
    body = body_json(catalogue.get(space_id), overview)
    del body["connection"]  # a setting may be a path, and this is shown to a model
    details = {"operation": operation, "memoryBodyId": space_id, "body": body}
    return Done(completion="committed", details=details)


async def _merge(scope: _Scope, request: ManageSpacesInput) -> Done:
    if request.target_memory_body_id is None:
        raise _missing("targetMemoryBodyId", "merge")
    if not request.source_memory_body_ids:
        raise _missing("sourceMemoryBodyIds", "merge")
    target = scope.may_write(request.target_memory_body_id)
    sources = [scope.may_write(space_id) for space_id in request.source_memory_body_ids]
    details = await scope.memory.spaces.merge(
        target, sources, deactivate_sources=request.deactivate_sources
    )
    return Done(completion=completion_of(details), details={"operation": "merge", **details})


def _missing(field: str, operation: str) -> InputError:
    return InputError(
        "field-required", f"manage-spaces: {operation} needs {field}", details={"field": field}
    )


_Operation: TypeAlias = Callable[[_Scope, ManageSpacesInput], Awaitable[Done]]
_OPERATIONS: Final[Mapping[str, _Operation]] = MappingProxyType(
    {"create": _create, "update": _update, "merge": _merge}
)
_ACTIONS: Final[Mapping[str, Callable[[_Scope, Any], Awaitable[Done]]]] = MappingProxyType(
    {
        "manage-spaces": _manage_spaces,
        "remember": _remember,
        "link": _link,
        "forget": _forget,
    }
)
