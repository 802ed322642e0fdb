"""The options of a runner, which see a description of a Source and never its record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
from dsh_mnemon_core.runtime import GenerationOptions, InstalledSource
from pydantic import SecretStr

__all__ = ("MountedSource", "generation_options")


@attrs.frozen(kw_only=True)
class MountedSource:
    """What the options of a runner are told about a Source."""

    source_instance_key: str
    source_type_id: str
    role: str
    package_name: str


def generation_options(
    configuration: Callable[[MountedSource], Mapping[str, Any]] | None,
    capabilities: Callable[[MountedSource], Sequence[str] | None] | None,
    secrets: Callable[[MountedSource], Mapping[str, str]] | None,
    **more: Any,
) -> GenerationOptions:
    """Translate the options of `dsh_mnemon_testing.open_runner`; ``more`` are passed on."""

    def configured(source: InstalledSource) -> Mapping[str, Any]:
        return {} if configuration is None else configuration(_mounted(source))

    def permitted(source: InstalledSource) -> Sequence[str] | None:
        return None if capabilities is None else capabilities(_mounted(source))

    def secret(source: InstalledSource) -> Mapping[str, SecretStr]:
        plain: Mapping[str, str] = {} if secrets is None else secrets(_mounted(source))
        return {name: SecretStr(value) for name, value in plain.items()}

    return GenerationOptions(
        source_configuration=configured,
        source_capabilities=permitted,
        source_secrets=secret,
        **more,
    )


def _mounted(source: InstalledSource) -> MountedSource:
    manifest = source.definition.manifest
    return MountedSource(
        source_instance_key=source.instance_key,
        source_type_id=manifest.type_id,
        role=manifest.role,
        package_name=manifest.package_name,
    )
