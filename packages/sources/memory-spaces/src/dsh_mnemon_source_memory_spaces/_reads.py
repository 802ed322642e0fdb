"""Management reads (spec/sources.md §4.10)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias, cast

from dsh_mnemon_core.instant import iso_utc
from pydantic import Field

from dsh_mnemon_source_memory_spaces._answers import Patience, ask
from dsh_mnemon_source_memory_spaces._bodies import body_json, services_json
from dsh_mnemon_source_memory_spaces._browse import ListInput, browse
from dsh_mnemon_source_memory_spaces._catalog import Overview, placement_summary
from dsh_mnemon_source_memory_spaces._entities import EntitiesInput, entities_of
from dsh_mnemon_source_memory_spaces._gaps import fault_json, registry_notes, whole
from dsh_mnemon_source_memory_spaces._graph import GraphInput, graph_of
from dsh_mnemon_source_memory_spaces._import import ImportCheckInput, check_import
from dsh_mnemon_source_memory_spaces._inputs import (
    BLANK,
    WHOLE,
    Input,
    Name,
    SpaceIds,
    limited,
    read_input,
)
from dsh_mnemon_source_memory_spaces._memory import SpacesMemory
from dsh_mnemon_source_memory_spaces._related import traverse
from dsh_mnemon_source_memory_spaces._targets import require
from dsh_mnemon_source_memory_spaces.provider_sdk.adapter import NativeAdapter
from dsh_mnemon_source_memory_spaces.routes import RecallInput, RelatedInput

__all__ = ("READS", "Read", "SpaceIdInput", "writable")

Read: TypeAlias = Callable[[SpacesMemory, Any], Awaitable[Any]]

_RELATED: Final = 50


class SpaceIdInput(Input):
    """The id of one Space."""

    memory_body_id: Name


class SearchInput(RecallInput):
    """Input of ``search``: as ``recall``, with the ceiling of the service."""

    limit: Annotated[int, Field(strict=True, ge=1, le=50), WHOLE] | None = None


class _WriteScope(Input):
    view_id: Annotated[str, limited(500)]
    grant: dict[str, Any]


class _DirectoryInput(Input):
    write_scope: _WriteScope | None = None


class _SampleInput(Input):
    memory_body_ids: SpaceIds


class _FinalizeInput(Input):
    selection: dict[str, Any]
    request: dict[str, Any] | None = None
    run_id: Annotated[Annotated[str, limited(300)] | None, BLANK] = None
    subagent_provider: Annotated[Annotated[str, limited(300)] | None, BLANK] = None


def writable(memory: SpacesMemory, view_id: str, grant: Any) -> tuple[str, ...]:
    """Return the Spaces a View may write to: those its grant knows, and those it created."""
    given = cast("Mapping[str, Any]", grant if isinstance(grant, Mapping) else {})
    known: Sequence[str] = given.get("knownMemoryBodyIds", ())
    return tuple(dict.fromkeys((*known, *memory.views.spaces(view_id))))


# -- what there is --------------------------------------------------------------------------------


async def _status(memory: SpacesMemory, _input: Any) -> Any:
    described = await _described(memory, await memory.probed(all=False))
    exposed = await memory.spaces.exposed()
    return {**described, "exposed": exposed} if exposed else described


async def _status_summary(memory: SpacesMemory, _input: Any) -> Any:
    return await _described(memory, memory.overview(await memory.spaces.current()))


async def _described(memory: SpacesMemory, overview: Overview) -> dict[str, Any]:
    config, catalogue = memory.config, overview.catalogue
    optional = {"cliPath": config.cli_path, "defaultStore": catalogue.default_store}
    return {
        **overview.health(engine_ready=await memory.children.native_ready()),
        **{key: value for key, value in optional.items() if value is not None},
        "dataDir": str(memory.settings.root),
        "defaultRecallLimit": config.default_recall_limit,
        "persistenceStrategy": placement_summary(config),
        "bodies": [body_json(space, overview) for space in catalogue.spaces],
        "generatedAt": iso_utc(memory.clock()),
        **registry_notes(catalogue),
    }


async def _directory(memory: SpacesMemory, value: Any) -> Any:
    scope = read_input(_DirectoryInput, value, "body-directory").write_scope
    overview = memory.overview(await memory.spaces.current())
    listed = _listed(memory, overview)
    if scope is None:
        return listed
    grant = scope.grant.get("value", scope.grant)
    allowed = frozenset(writable(memory, scope.view_id, grant))
    ids = [space.id for space in overview.catalogue.spaces if space.id in allowed]
    within = {"viewId": scope.view_id, "sourceInstanceKey": memory.key, "memoryBodyIds": ids}
    return {**listed, "writeScope": within}


async def _bodies(memory: SpacesMemory, _input: Any) -> Any:
    return _listed(memory, await memory.probed(all=True))


def _listed(memory: SpacesMemory, overview: Overview) -> dict[str, Any]:
    catalogue = overview.catalogue
    catalogue.check_known()
    return {
        "bodies": [body_json(space, overview) for space in catalogue.spaces],
        "total": len(catalogue.spaces),
        "activeCount": len(catalogue.active),
        "persistenceStrategy": placement_summary(memory.config),
        "generatedAt": iso_utc(memory.clock()),
        **registry_notes(catalogue),
    }


async def _services(memory: SpacesMemory, _input: Any) -> Any:
    catalogue = await memory.spaces.current()
    faults = [fault_json(fault) for fault in catalogue.faults]
    listed = {"services": services_json(memory.overview(catalogue))}
    return {**listed, "faults": faults} if faults else listed


async def _reconnect(memory: SpacesMemory, value: Any) -> Any:
    space_id = read_input(SpaceIdInput, value, "body-reconnect").memory_body_id
    targets = await memory.targets()
    target = targets.get(space_id)
    memory.health.forget(target)
    await memory.health.look([target])
    space = targets.catalogue.get(space_id)
    return {"body": body_json(space, memory.overview(targets.catalogue))}


async def _embedding(memory: SpacesMemory, _input: Any) -> Any:
    child = memory.children.native
    adapter = child.adapter if child else None
    if not isinstance(adapter, NativeAdapter):
        return {"enabled": False, "available": False}
    answer = await ask(adapter.embedding_status, Patience(memory.seconds))
    if answer.value is None:
        return {"enabled": False, "available": False, "error": answer.fault}
    return dict(answer.value)


# -- what is in them ------------------------------------------------------------------------------


async def _list(memory: SpacesMemory, value: Any) -> Any:
    request = read_input(ListInput, value, "list")
    known = await memory.targets()
    targets = known.shown(request.memory_body_ids)
    faults = known.faults(request.memory_body_ids)
    return await browse(targets, request, seconds=memory.seconds, faults=faults)


async def _graph(memory: SpacesMemory, value: Any) -> Any:
    request = read_input(GraphInput, value, "graph")
    known = await memory.targets()
    targets = known.shown(request.memory_body_ids)
    now, faults = iso_utc(memory.clock()), known.faults(request.memory_body_ids)
    return await graph_of(targets, request, seconds=memory.seconds, generated_at=now, faults=faults)


async def _entities(memory: SpacesMemory, value: Any) -> Any:
    request = read_input(EntitiesInput, value, "entities")
    known = await memory.targets()
    targets = known.all(request.memory_body_ids)
    able = [target for target in targets if target.manifest.capabilities.entities]
    health = await memory.health.look(able)
    faults = known.faults(request.memory_body_ids)
    found = await entities_of(targets, health, request, seconds=memory.seconds, faults=faults)
    if request.entity is None:
        return found
    asked = RecallInput.model_validate({"query": request.entity, "intent": "ENTITY"})
    report = await memory.recall(asked.model_copy(update={"limit": request.limit}), targets)
    return {**found, "selected": {"entity": request.entity, **report.to_json()}}


async def _search(memory: SpacesMemory, value: Any) -> Any:
    request = read_input(SearchInput, value, "search")
    known = await memory.targets()
    report = await memory.recall(request, known.all(request.memory_body_ids))
    lost = any(source.unreadable for source in report.sources)
    return whole(report.to_json(), known.faults(request.memory_body_ids), lost=lost)


async def _related(memory: SpacesMemory, value: Any) -> Any:
    """Walk from a memory; a Provider that fails, or does not know it, is an error."""
    request = read_input(RelatedInput, value, "related")
    targets = await memory.targets()
    space_id = request.memory_body_id or targets.only("related")
    target = require(targets.readable(space_id), "related")
    found = await traverse(target, request, limit=_RELATED, seconds=memory.seconds)
    if found.error is not None:
        raise found.error
    hint = {} if found.hint is None else {"hint": found.hint}
    return {
        "query": f"related:{request.id}",
        "mode": "related",
        "results": list(found.rows),
        "truncated": found.truncated,
        **hint,
    }


async def _sample(memory: SpacesMemory, value: Any) -> Any:
    request = read_input(_SampleInput, value, "metadata-sample")
    return {"samples": await memory.spaces.sample_metadata(request.memory_body_ids)}


# -- where a new one goes -------------------------------------------------------------------------


async def _import_check(memory: SpacesMemory, value: Any) -> Any:
    request = read_input(ImportCheckInput, value, "body-import-check")
    request.check()
    if request.memory_body_id is None:
        return await check_import(None, request)
    target = require((await memory.targets()).get(request.memory_body_id), "remember")
    return await check_import(target, request)


async def _prepare(memory: SpacesMemory, value: Any) -> Any:
    return (await memory.spaces.placement(value or None)).to_json()


async def _finalize(memory: SpacesMemory, value: Any) -> Any:
    request = read_input(_FinalizeInput, value, "finalize-placement")
    return await memory.spaces.finalize_placement(
        request.selection,
        request=request.request,
        run_id=request.run_id,
        subagent_provider=request.subagent_provider,
    )


READS: Final[Mapping[str, Read]] = MappingProxyType(
    {
        "status": _status,
        "status-summary": _status_summary,
        "body-directory": _directory,
        "bodies": _bodies,
        "provider-services": _services,
        "embedding-status": _embedding,
        "body-reconnect": _reconnect,
        "list": _list,
        "graph": _graph,
        "entities": _entities,
        "search": _search,
        "related": _related,
        "metadata-sample": _sample,
        "body-import-check": _import_check,
        "prepare-body-placement": _prepare,
        "finalize-placement": _finalize,
    }
)
"""The reads by operation."""
