"""Spaces and Providers as people see them: everything but secrets (spec/sources.md §4.10)."""

from __future__ import annotations

from typing import Any

from dsh_mnemon_core.sdk import thaw

from dsh_mnemon_source_memory_spaces._catalog import Overview
from dsh_mnemon_source_memory_spaces._children import Child
from dsh_mnemon_source_memory_spaces._health import stats_json
from dsh_mnemon_source_memory_spaces._registry.records import SpaceRecord
from dsh_mnemon_source_memory_spaces.provider_sdk.fields import shown_settings

__all__ = ("body_json", "service_json", "services_json")


def body_json(space: SpaceRecord, overview: Overview) -> dict[str, Any]:
    """Return one Space with its Provider, settings without secrets, and known health."""
    catalogue = overview.catalogue
    manifest = catalogue.manifest(space)
    shown, secrets = shown_settings(manifest, "memory", space.connection)
    known = overview.known.get(space.id)
    state = overview.status_of(space)
    value: dict[str, Any] = {
        "id": space.id,
        "name": space.name,
        "description": space.description,
        "active": space.active,
        "providerId": space.provider_id,
        "providerLabel": manifest.label,
        "providerEnabled": catalogue.is_enabled(space.provider_id),
        "native": catalogue.is_native(space),
        "capabilities": manifest.capabilities.model_dump(mode="json", by_alias=True),
        "externalId": space.external_id,
        "metadataSource": space.metadata_source,
        "placement": None if space.placement is None else thaw(space.placement),
        "connection": shown,
        "configuredSecrets": list(secrets),
        "status": state,
        "error": overview.worded(str(known.error)) if known and state == "unhealthy" else None,
        "note": overview.worded(known.note) if known and known.note else None,
        "stats": stats_json(known.stats) if known is not None and known.stats else None,
        "createdAt": space.created_at,
        "updatedAt": space.updated_at,
    }
    return {key: item for key, item in value.items() if item is not None}


def services_json(overview: Overview) -> list[dict[str, Any]]:
    """Return every Provider child in configured order, those that do not run included."""
    return [service_json(child, overview) for child in overview.children]


def service_json(child: Child, overview: Overview) -> dict[str, Any]:
    """Return one Provider child: manifest, open settings, names of the secrets that are set."""
    value: dict[str, Any] = {
        "providerId": child.instance_id,
        "use": child.use,
        "state": child.state,
        "code": child.code,
        "reason": child.reason,
    }
    if child.state == "ready":
        value |= _running(child, overview)
    return {key: item for key, item in value.items() if item is not None}


def _running(child: Child, overview: Overview) -> dict[str, Any]:
    manifest, catalogue = child.manifest, overview.catalogue
    service = catalogue.service(child.instance_id)
    saved = service.settings if service else None
    shown, secrets = shown_settings(manifest, "service", saved or {})
    enabled = catalogue.is_enabled(child.instance_id)
    spaces = [space for space in catalogue.spaces if space.provider_id == child.instance_id]
    described = manifest.model_dump(mode="json", by_alias=True, exclude_none=True)
    hidden = ("apiVersion", "kind", "secrets")
    return {
        **{key: item for key, item in described.items() if key not in hidden},
        "enabled": enabled,
        "configured": service.configured if service else enabled,
        "settings": shown,
        "configuredSecrets": list(secrets),
        "memoryBodyCount": len(spaces),
        "activeMemoryBodyCount": sum(catalogue.is_active(space) for space in spaces),
    }
