"""Configuration of the Memory Spaces Source (spec/sources.md §1.2, §4.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, cast
from urllib.parse import quote, urlsplit

import attrs
from dsh_mnemon_core.configuration import read_configuration
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    model_validator,
)
from pydantic.alias_generators import to_camel

from dsh_mnemon_source_memory_spaces._mounting import ChildEntry
from dsh_mnemon_source_memory_spaces._registry.records import NATIVE_PROVIDER_ID
from dsh_mnemon_source_memory_spaces.provider_sdk.definition import (
    EmbeddingSettings,
    NativeSettings,
    ProviderConfig,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.ids import FieldKey, ProviderId, StoreName

__all__ = (
    "Config",
    "PersistenceStrategy",
    "PlacementRules",
    "RecallQuality",
    "RequiredCapability",
    "Settings",
    "settings",
)

RequiredCapability: TypeAlias = Literal[
    "graph", "entities", "related", "exact-write", "link", "forget"
]
"""What the Provider of a new Space may be required to do."""

_LABEL: Final = "Memory Spaces Source"
_Unit: TypeAlias = Annotated[float, Field(ge=0, le=1, strict=True, allow_inf_nan=False)]
_Switch: TypeAlias = Annotated[bool, Field(strict=True)]
_Results: TypeAlias = Annotated[int, Field(ge=0, le=50, strict=True)]


def _directory(path: str) -> str:
    absolute = path == "~" or path.startswith("~/") or Path(path).is_absolute()
    if not absolute or "\0" in path:
        raise ValueError("must be an absolute path, or begin with ~/")
    return path


def _printable(value: str) -> str:
    if any(ord(character) < 32 or ord(character) == 127 for character in value):
        raise ValueError("must not hold control characters")
    return value


def _printable_secret(value: SecretStr) -> SecretStr:
    _printable(value.get_secret_value())
    return value


def _endpoint(value: str) -> str:
    try:
        parts = urlsplit(value)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname)
        _ = parts.port  # raises where the port is no number
    except ValueError:
        good = False
    if not good or any(c in value for c in "@?#\\") or any(c.isspace() for c in value):
        raise ValueError("must be an http(s) address without credentials, query and fragment")
    return value.rstrip("/")


def _unique(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _scalar(value: object) -> object:
    good = isinstance(value, (str, bool, int, SecretStr)) or (
        isinstance(value, float) and math.isfinite(value)
    )
    if not good:
        raise ValueError("must be a string, a finite number or a boolean")
    return value


def _entry(value: object) -> object:
    return {"use": value} if isinstance(value, str) else value


class _Section(BaseModel):
    """Frozen settings in camelCase; unknown keys are refused (D33)."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        hide_input_in_errors=True,
    )


class Embedding(_Section):
    """The embedding service of the native Provider."""

    enabled: _Switch = False
    endpoint: Annotated[
        str, Field(max_length=2_048), AfterValidator(_printable), AfterValidator(_endpoint)
    ] = "http://localhost:11434"
    model: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_printable)] = (
        "nomic-embed-text"
    )
    api_key: Annotated[SecretStr, Field(max_length=2_048), AfterValidator(_printable_secret)] = (
        SecretStr("")
    )
    protocol: Literal["auto", "ollama", "openai"] = "auto"


class RecallQuality(_Section):
    """How results are judged; whether ``policy`` is registered is checked where it is used."""

    policy: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")] = "strict-v1"
    low_score_threshold: _Unit = 0.25
    high_score_threshold: _Unit = 0.6
    candidate_multiplier: Annotated[int, Field(ge=1, le=5, strict=True)] = 3
    max_medium_results: _Results = 4
    max_unknown_results: _Results = 2

    @model_validator(mode="after")
    def _ordered(self) -> RecallQuality:
        if self.low_score_threshold >= self.high_score_threshold:
            raise ValueError("lowScoreThreshold must be smaller than highScoreThreshold")
        return self


class PlacementRules(_Section):
    """Bounds on the Provider of a new Space; no allowed Provider means the native one."""

    allowed_provider_ids: Annotated[tuple[ProviderId, ...], AfterValidator(_unique)] = (
        NATIVE_PROVIDER_ID,
    )
    data_boundary: Literal["allow-remote", "local-only"] = "allow-remote"
    required_capabilities: Annotated[tuple[RequiredCapability, ...], AfterValidator(_unique)] = ()
    preference: Literal["balanced", "local-first", "shared-first"] = "balanced"


class PersistenceStrategy(_Section):
    """Which Provider holds a Space that is created without naming one (spec/sources.md §4.5).

    Attributes:
        provider_defaulted: ``provider_id`` is only the default, nobody chose it.
        provider_connections: Service and memory fields by Provider id, used when it is chosen.
    """

    mode: Literal["manual", "automatic"] = "manual"
    provider_id: ProviderId = NATIVE_PROVIDER_ID
    provider_defaulted: _Switch = False
    prompt: Annotated[str, Field(max_length=4_000)] = ""
    rules: PlacementRules = PlacementRules()
    provider_connections: dict[
        ProviderId, dict[FieldKey, Annotated[Any, BeforeValidator(_scalar)]]
    ] = Field(default_factory=dict, repr=False)

    @model_validator(mode="after")
    def _allowed(self) -> PersistenceStrategy:
        if self.mode == "automatic" and not self.rules.allowed_provider_ids:
            raise ValueError("rules.allowedProviderIds must name a Provider while automatic")
        return self

    @property
    def fixed_provider_id(self) -> str | None:
        """The Provider somebody chose for ``manual``."""
        chosen = "provider_id" in self.model_fields_set and not self.provider_defaulted
        return self.provider_id if chosen else None


class ChildDeclaration(_Section):
    """One Provider child: an importable name, alone or with its id and configuration."""

    use: Annotated[str, Field(min_length=1, max_length=300)]
    instance_id: ProviderId | None = None
    config: dict[str, Any] = Field(default_factory=dict, repr=False)


class Config(_Section):
    """Settings of one mounted Memory Spaces Source, keys in camelCase.

    Attributes:
        data_dir: Storage root; ``~/.mnemon/sources/<instance key>`` by default.
        cli_path: The ``mnemon`` binary, for a native Provider that uses it.
        store: The native default store, over what the root's ``active`` file says.
        timeout_ms: Limit of one Provider call, ms.
        default_recall_limit: Results of a recall that names no limit.
        write_enabled: Whether anything may be changed.
        providers: The children, in order; none is mounted that is not listed.
    """

    data_dir: Annotated[str, AfterValidator(_directory)] | None = None
    cli_path: Annotated[str, Field(min_length=1, max_length=4_096)] | None = None
    store: StoreName | None = None
    timeout_ms: Annotated[int, Field(ge=1, le=600_000, strict=True)] = 10_000
    default_recall_limit: Annotated[int, Field(ge=1, le=50, strict=True)] = 10
    write_enabled: _Switch = True
    embedding: Embedding = Embedding()
    recall_quality: RecallQuality = RecallQuality()
    persistence_strategy: PersistenceStrategy = PersistenceStrategy()
    providers: tuple[Annotated[ChildDeclaration, BeforeValidator(_entry)], ...] = ()

    @property
    def children(self) -> tuple[ChildEntry, ...]:
        """The children to mount."""
        return tuple(
            ChildEntry(use=item.use, instance_id=item.instance_id, config=item.config)
            for item in self.providers
        )


@attrs.frozen(kw_only=True)
class Settings:
    """Configuration in force: the root and everything else as `Config` has it."""

    root: Path
    config: Config

    @property
    def native(self) -> NativeSettings:
        """What a native Provider gets besides (D46)."""
        embedding = self.config.embedding
        return NativeSettings(
            data_dir=self.root,
            store=self.config.store,
            cli_path=self.config.cli_path,
            embedding=EmbeddingSettings(
                enabled=embedding.enabled,
                endpoint=embedding.endpoint,
                model=embedding.model,
                api_key=embedding.api_key,
                protocol=embedding.protocol,
            ),
        )

    @property
    def provider(self) -> ProviderConfig:
        """What every Provider keeps to."""
        return ProviderConfig(
            timeout_ms=self.config.timeout_ms,
            default_recall_limit=self.config.default_recall_limit,
        )

    def connection(self, provider_id: str) -> dict[str, Any]:
        """Return the configured connection of a Provider, secrets in clear; empty without one."""
        connections = self.config.persistence_strategy.provider_connections
        return {
            key: value.get_secret_value() if isinstance(value, SecretStr) else value
            for key, value in connections.get(provider_id, {}).items()
        }


def settings(
    own: Config,
    host: Mapping[str, Any],
    source_instance_key: str,
    secrets: Mapping[str, SecretStr] | None = None,
) -> Settings:
    """Merge the row's own configuration with the Host's, key by key, sections included.

    What the row sets explicitly wins, except in account-isolated deployments
    (``accountIsolated: true`` from the Host), where the Host's values win.

    Args:
        own: Configuration of the row.
        host: ``SourceContext.configuration``.
        source_instance_key: Names the default root.
        secrets: ``SourceContext.secrets``: values by the dotted path of their key.

    Raises:
        ConfigurationError: ``config-invalid``.
    """
    supplied = {key: value for key, value in host.items() if key != "accountIsolated"}
    for path, secret in (secrets or {}).items():
        supplied = _with(supplied, path.split("."), secret)
    explicit = own.model_dump(by_alias=True, exclude_unset=True)
    if "providerId" in explicit.get("persistenceStrategy", {}):
        explicit = _with(explicit, ["persistenceStrategy", "providerDefaulted"], False)
    isolated = host.get("accountIsolated") is True
    merged = _over(explicit, supplied) if isolated else _over(supplied, explicit)
    config = read_configuration(Config, merged, _LABEL)
    return Settings(root=_root(config.data_dir, source_instance_key), config=config)


def _with(tree: Mapping[str, Any], path: Sequence[str], value: object) -> dict[str, Any]:
    """Return a copy of nested mappings with one value set."""
    head, *rest = path
    if rest:
        below = tree.get(head)
        inner = cast("dict[str, Any]", below if isinstance(below, Mapping) else {})
        value = _with(inner, rest, value)
    return {**tree, head: value}


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return both mappings as one; ``above`` wins, nested mappings are merged alike."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        if isinstance(under, Mapping) and isinstance(value, Mapping):
            value = _over(cast("Mapping[str, Any]", under), cast("Mapping[str, Any]", value))
        merged[key] = value
    return merged


def _root(data_dir: str | None, source_instance_key: str) -> Path:
    if data_dir is not None:
        return Path(data_dir).expanduser()
    return Path.home() / ".mnemon" / "sources" / quote(source_instance_key, safe="!*'()")
