"""Where memory lies: the one layout function, and what it tells each Source (host.md §3)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import attrs
from dsh_mnemon_core.identity import is_default_instance
from dsh_mnemon_core.scope import Storage
from dsh_mnemon_core.values import FrozenDict, json_clone
from pydantic import SecretStr

from dsh_mnemon_host.config import ResolvedConfig, plain
from dsh_mnemon_host.workspace import canonical_workspace, read_workspace, workspace_id

__all__ = (
    "STORAGES",
    "Layout",
    "SourceSettings",
    "resolve_layout",
    "scope_root",
    "source_configuration",
)

STORAGES: Final[tuple[Storage, ...]] = ("global", "workspace", "custom", "workspaces")
"""All storage scopes in the order people see them."""


@attrs.frozen(kw_only=True)
class Layout:
    """One resolved storage root; nothing in it need exist.

    Attributes:
        storage: The scope that was resolved.
        root: Absolute root of all four areas.
        user_root: Absolute root of USER.md: the global one when asked for (§3.3), else ``root``.
        workspace: The workspace that decided the root: normalized under ``workspace``, canonical
            under ``workspaces``, ``None`` under the other scopes.
    """

    storage: Storage
    root: Path
    user_root: Path
    workspace: Path | None = None

    @property
    def runtime(self) -> Path:
        """Return the area of working memory."""
        return self.root / "runtime"

    @property
    def documents(self) -> Path:
        """Return the area of Documents."""
        return self.root / "documents"

    @property
    def data(self) -> Path:
        """Return the area of Memory Spaces."""
        return self.root / "data"

    @property
    def state(self) -> Path:
        """Return the area of the Provider registry and reserved state."""
        return self.root / "state"


def scope_root(storage: Storage, config: ResolvedConfig, workspace: str) -> Path:
    """Return the absolute root of one storage scope; looks at links, creates nothing.

    Args:
        storage: The scope, which need not be the one in force.
        config: Resolved configuration.
        workspace: Absolute path; only the two workspace scopes look at it.

    Raises:
        InputError: As `read_workspace`.
        StorageError: As `canonical_workspace`.

    Under ``custom`` without a location this is the global root; `resolve` refuses that case.
    Source: spec/host.md §3.1.
    """
    if storage == "workspace":
        return read_workspace(workspace) / ".mnemon"
    if storage == "global":
        return config.global_root
    central = config.data_dir or config.global_root
    if storage == "custom":
        return central
    return central / "workspaces" / workspace_id(workspace)


def resolve_layout(
    config: ResolvedConfig, workspace: str | None = None, *, cwd: str | None = None
) -> Layout:
    """Resolve the layout in force; the same function serves Sources, inventory and packs.

    Args:
        config: Resolved configuration; environment and home entered it in `resolve`.
        workspace: Absolute path of the operation's workspace.
        cwd: Workspace when there is none; the process's directory when absent.

    Raises:
        InputError: ``workspace-not-absolute``, ``text-not-unicode``.
        StorageError: ``workspace-unreadable``.

    Source: spec/host.md §3.1, §3.3.
    """
    storage = config.storage_scope
    place = workspace or cwd or str(Path.cwd())
    root = scope_root(storage, config, place)
    by_workspace = {"workspace": read_workspace, "workspaces": canonical_workspace}
    find = by_workspace.get(storage)
    apart = config.config.runtime_user_scope == "global"
    return Layout(
        storage=storage,
        root=root,
        user_root=config.global_root if apart else root,
        workspace=find(place) if find else None,
    )


def _no_secrets() -> Mapping[str, SecretStr]:
    return MappingProxyType({})


@attrs.frozen(kw_only=True)
class SourceSettings:
    """What the Host hands one Source instance.

    Attributes:
        configuration: Frozen JSON; never holds a secret.
        secrets: Secrets by the dotted path of the configuration key they stand for (D32).
    """

    configuration: FrozenDict = attrs.field(factory=FrozenDict, converter=json_clone)
    secrets: Mapping[str, SecretStr] = attrs.field(factory=_no_secrets, repr=False)


def _memory_spaces(config: ResolvedConfig, layout: Layout) -> SourceSettings:
    settings = config.config
    placement = settings.persistence_strategy
    public: dict[str, dict[str, Any]] = {}
    secrets: dict[str, SecretStr] = {}
    for provider, fields in placement.provider_connections.items():
        public[provider] = {}
        for name, value in fields.items():
            if isinstance(value, SecretStr):
                secrets[f"persistenceStrategy.providerConnections.{provider}.{name}"] = value
            else:
                public[provider][name] = value
    strategy = plain(placement) | {"providerConnections": public}
    strategy["rules"]["allowedProviderIds"] = placement.allowed_provider_ids
    if "provider_id" not in placement.model_fields_set:
        strategy["providerDefaulted"] = True
    embedding = plain(settings.embedding)
    del embedding["apiKey"]
    if settings.embedding.api_key.get_secret_value():
        secrets["embedding.apiKey"] = settings.embedding.api_key
    given = {"cliPath": config.cli_path, "store": config.store}
    configuration = {
        "dataDir": str(layout.root),
        **{key: value for key, value in given.items() if value is not None},
        "timeoutMs": settings.timeout_ms,
        "defaultRecallLimit": settings.default_recall_limit,
        "writeEnabled": settings.write_enabled,
        "embedding": embedding,
        "recallQuality": plain(settings.recall_quality),
        "persistenceStrategy": strategy,
    }
    return SourceSettings(configuration=configuration, secrets=MappingProxyType(secrets))


def source_configuration(
    type_id: str, source_instance_key: str, config: ResolvedConfig, layout: Layout
) -> SourceSettings:
    """Return what one Source instance receives from the Host.

    Args:
        type_id: Type id of the Source.
        source_instance_key: Key of the instance; only the default one of its type gets anything.
        config: Resolved configuration.
        layout: Resolved layout of the operation.

    Returns:
        Configuration and secrets; both empty for other instances and foreign types.

    Source: spec/host.md §2.8, §3.4.
    """
    if not is_default_instance(source_instance_key, type_id):
        return SourceSettings()
    match type_id:
        case "runtime":
            limits = config.config.runtime_memory
            return SourceSettings(
                configuration={
                    "dataDir": str(layout.root),
                    "userDataDir": str(layout.user_root),
                    "memoryLimitBytes": limits.memory_limit_bytes,
                    "userLimitBytes": limits.user_limit_bytes,
                }
            )
        case "documents":
            return SourceSettings(configuration={"dataDir": str(layout.root)})
        case "memory-spaces":
            return _memory_spaces(config, layout)
        case _:
            return SourceSettings()
