"""The descriptor a plugin module exports, readable before anything runs (spec/core.md §4.3)."""

from __future__ import annotations

import re
from typing import Final, get_args

import attrs
from attrs.converters import optional

from dsh_mnemon_core.checks import array, distinct, identifier, record, text
from dsh_mnemon_core.errors import DefinitionError
from dsh_mnemon_core.identity import Kind, constant, read_package_name
from dsh_mnemon_core.source import SourceDefinition
from dsh_mnemon_core.strategy import ExtensionDefinition, StrategyDefinition
from dsh_mnemon_core.values import FrozenDict

__all__ = ("PLUGIN_API_VERSION", "Contributions", "MemoryPlugin", "ProvidedCapability")

PLUGIN_API_VERSION: Final = "dsh-mnemon/plugin/v1"
"""Version of plugin descriptors."""

_CAPABILITY_ID = re.compile(r"[a-z][a-z0-9.-]{0,127}")


def _capability_id(value: object) -> str:
    return identifier(value, "capability id", pattern=_CAPABILITY_ID, kind=DefinitionError)


def _exclusive(value: object) -> bool | None:
    return True if value is True else None


@attrs.frozen(kw_only=True)
class ProvidedCapability:
    """An edge of the activation graph; ``exclusive`` when nobody else may provide it."""

    id: str = attrs.field(converter=_capability_id)
    exclusive: bool | None = attrs.field(default=None, converter=_exclusive)


def _bilingual(value: object) -> FrozenDict:
    mapping = record(value, "label and description", kind=DefinitionError)
    return FrozenDict(
        {
            lang: text(mapping.get(lang), lang, 4000, kind=DefinitionError)
            for lang in ("en", "zh-CN")
        }
    )


def _roles(value: object) -> tuple[Kind, ...]:
    roles: tuple[Kind, ...] = array(value or (), "roles", kind=DefinitionError)
    kinds = get_args(Kind)
    if not roles or any(role not in kinds for role in roles):
        raise DefinitionError("plugin-roles-invalid", f"roles must be among {', '.join(kinds)}")
    return distinct(roles, "roles", kind=DefinitionError)


def _provides(value: object) -> tuple[ProvidedCapability, ...]:
    provided: tuple[ProvidedCapability, ...] = array(value or (), "provides", kind=DefinitionError)
    if not provided:
        raise DefinitionError("plugin-provides-empty", "a plugin provides at least one capability")
    distinct([item.id for item in provided], "provides", kind=DefinitionError)
    return provided


def _requires(value: object) -> tuple[str, ...]:
    ids = [_capability_id(item) for item in array(value, "requires", kind=DefinitionError)]
    return distinct(ids, "requires", kind=DefinitionError)


@attrs.frozen(kw_only=True)
class MemoryPlugin:
    """What a plugin is and which edges it has in the activation graph.

    Attributes:
        package_name: Distribution name; equals its contributions' own.
        label: ``{en, zh-CN}``, each Text(4000).
        description: ``{en, zh-CN}``, each Text(4000).
        roles: Distinct kinds it contributes.
        provides: Capabilities it provides; an edge, not a permission.
        requires: Capability ids it needs, none of its own.
    """

    api_version: str = constant(PLUGIN_API_VERSION, "api-version-unsupported", "apiVersion")
    package_name: str = attrs.field(converter=read_package_name)
    label: FrozenDict = attrs.field(converter=_bilingual)
    description: FrozenDict = attrs.field(converter=_bilingual)
    roles: tuple[Kind, ...] = attrs.field(converter=_roles)
    provides: tuple[ProvidedCapability, ...] = attrs.field(converter=_provides)
    requires: tuple[str, ...] | None = attrs.field(default=None, converter=optional(_requires))

    def __attrs_post_init__(self) -> None:
        """Refuse a plugin that requires what it provides itself."""
        own = {item.id for item in self.provides} & set(self.requires or ())
        if own:
            raise DefinitionError("plugin-self-requirement", f"requires its own {min(own)!r}")


@attrs.frozen(kw_only=True)
class Contributions:
    """What one plugin registers in one batch; its members come and go together (§6.1).

    Attributes:
        plugin: The plugin's descriptor, when it has edges in the activation graph.
        sources: Source definitions.
        strategies: Strategy definitions.
        strategy_extensions: Extension definitions.
    """

    plugin: MemoryPlugin | None = None
    sources: tuple[SourceDefinition, ...] = ()
    strategies: tuple[StrategyDefinition, ...] = ()
    strategy_extensions: tuple[ExtensionDefinition, ...] = ()
