"""How a Provider is mounted: module, definition and factory context (spec/core.md §18)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import attrs
from dsh_mnemon_core.sdk import Context, NoConfig
from pydantic import BaseModel, SecretStr

from dsh_mnemon_source_memory_spaces.provider_sdk.adapter import ProviderAdapter
from dsh_mnemon_source_memory_spaces.provider_sdk.items import SpaceView
from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import ProviderManifest

__all__ = (
    "EmbeddingSettings",
    "MemorySpaceAuthority",
    "NativeSettings",
    "ProviderConfig",
    "ProviderContext",
    "ProviderDefinition",
    "ProviderHost",
    "ProviderModule",
)


class MemorySpaceAuthority(Protocol):
    """What a Provider may ask about Spaces; it knows only those of this child."""

    def data_dir(self) -> Path:
        """Return the Source's data directory."""
        ...

    def list(self) -> Sequence[SpaceView]:
        """Return the child's Spaces, in registry order."""
        ...

    def connection(self, space_id: str) -> Mapping[str, Any]:
        """Return service and memory settings of a Space, memory last; secrets in clear.

        Raises:
            AuthorityError: The Space is another Provider's, unknown or switched off.
        """
        ...

    def service(self) -> Mapping[str, Any]:
        """Return the saved service settings of this Provider; secrets in clear."""
        ...


@attrs.frozen(kw_only=True)
class EmbeddingSettings:
    """Where vectors come from; ``protocol`` is ``auto``, ``ollama`` or ``openai``."""

    enabled: bool = False
    endpoint: str = "http://localhost:11434"
    model: str = "nomic-embed-text"
    api_key: SecretStr = attrs.field(factory=lambda: SecretStr(""))
    protocol: str = "auto"


@attrs.frozen(kw_only=True)
class NativeSettings:
    """What only a Provider of origin ``native`` gets (D46).

    Attributes:
        data_dir: Base folder of the stores.
        store: The store named in the configuration, when one is.
        cli_path: The ``mnemon`` binary, for ``engine: cli``.
    """

    data_dir: Path
    store: str | None = None
    cli_path: str | None = None
    embedding: EmbeddingSettings = attrs.field(factory=EmbeddingSettings)


@attrs.frozen(kw_only=True)
class ProviderConfig:
    """The Source's settings a Provider keeps to; milliseconds and results."""

    timeout_ms: int = 10_000
    default_recall_limit: int = 10


@attrs.frozen(kw_only=True)
class ProviderContext:
    """What a factory is given."""

    instance_id: str
    manifest: ProviderManifest
    memory_spaces: MemorySpaceAuthority
    config: ProviderConfig = attrs.field(factory=ProviderConfig)
    native: NativeSettings | None = None


@attrs.frozen(kw_only=True)
class ProviderDefinition:
    """What a Provider module installs: its manifest and the factory of its adapters.

    The factory does no I/O (D25); an adapter opens what it needs at first use.
    """

    manifest: ProviderManifest
    create: Callable[[ProviderContext], ProviderAdapter]


class ProviderHost(Protocol):
    """The only capability a Provider module has: to install its one definition."""

    def install(self, ctx: Context, definition: ProviderDefinition) -> None:
        """Register the definition for as long as ``ctx`` lives; a second call is an error."""
        ...


@attrs.frozen(kw_only=True)
class ProviderModule:
    """What a Provider package exposes as ``provider`` (D28).

    Attributes:
        id: The type id its definition has.
        apply: Installs the definition; sync or async. It gets the child's Context, the host and
            the validated configuration.
        config_model: Frozen pydantic model of the child's configuration, unknown keys forbidden.
    """

    id: str
    apply: Callable[[Context, ProviderHost, Any], Awaitable[None] | None]
    config_model: type[BaseModel] = NoConfig
