"""Sections about memory: limits, embedding, recall quality, layers, View (host.md §2.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.values import FrozenDict, json_clone, thaw
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from dsh_mnemon_host.config.section import (
    ComponentId,
    FrozenMap,
    OffOr,
    Printable,
    Section,
    Switch,
    printable,
    unique,
)

__all__ = (
    "LAYERS",
    "ChannelUse",
    "Embedding",
    "EntryChoice",
    "Layer",
    "MemoryTopology",
    "MemoryView",
    "Participation",
    "RecallQuality",
    "RuntimeMemory",
)

LAYERS: Final = ("runtime", "documents", "memory-spaces")
"""Source types that always have a layer."""

ENTRY_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:/-]{0,299}$"
_ENTRY_CHARACTERS = 65_536
_UNSAFE = frozenset({"__proto__", "prototype", "constructor"})

Bytes: TypeAlias = Annotated[int, Field(ge=1, le=1_048_576, strict=True)]
Unit: TypeAlias = Annotated[float, Field(ge=0, le=1, strict=True, allow_inf_nan=False)]
ChannelUse: TypeAlias = Annotated[Literal["off", "manual", "automatic"], OffOr]
"""Who may use a channel of a layer: nobody, a person, or also tools and hooks (§4.3)."""


class RuntimeMemory(Section):
    """Limits of working memory."""

    memory_limit_bytes: Bytes = 10_240
    """UTF-8 bytes of MEMORY.md."""
    user_limit_bytes: Bytes = 4_096
    """UTF-8 bytes of USER.md."""
    maintenance_max_tokens: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] = 8_192
    """Completion budget of the migration and compaction workers."""


def _endpoint(value: str) -> str:
    try:
        parts = urlsplit(value)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname)
        _ = parts.port  # raises where the port is no number
    except ValueError:
        good = False
    if not good or any(c in value for c in "@?#\\") or any(c.isspace() for c in value):
        raise PydanticCustomError("setting-format", "is not a usable service address")
    return value.rstrip("/")


def _key(value: SecretStr) -> SecretStr:
    printable(value.get_secret_value())
    return value


class Embedding(Section):
    """The embedding service of the native Provider."""

    enabled: Switch = False
    """Whether the native Provider computes vectors with this service."""
    endpoint: Annotated[
        str,
        Field(max_length=2_048, json_schema_extra={"format": "service-url"}),
        Printable,
        AfterValidator(_endpoint),
    ] = "http://localhost:11434"
    """Address of the service, without trailing slashes."""
    model: Annotated[str, Field(min_length=1, max_length=200), Printable] = "nomic-embed-text"
    """Model the service is asked for."""
    api_key: Annotated[SecretStr, Field(max_length=2_048), AfterValidator(_key)] = SecretStr("")
    """Credential of the service; masked in every snapshot."""
    protocol: Literal["auto", "ollama", "openai"] = "auto"
    """Wire protocol; ``auto`` lets the Provider find out."""


class RecallQuality(Section):
    """How Memory Spaces judges what a search brings (sources.md §4.7)."""

    policy: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")] = "strict-v1"
    """Registered policy id; ``strict-v1``, ``balanced-v1`` and ``exhaustive-v1`` are shipped."""
    low_score_threshold: Unit = 0.25
    """Scores below are low; smaller than the high threshold."""
    high_score_threshold: Unit = 0.6
    """Scores from here on are high."""
    candidate_multiplier: Annotated[int, Field(ge=1, le=5, strict=True)] = 3
    """Candidates fetched per wanted result."""
    max_medium_results: Annotated[int, Field(ge=0, le=50, strict=True)] = 4
    """Most results of medium relevance."""
    max_unknown_results: Annotated[int, Field(ge=0, le=50, strict=True)] = 2
    """Most results without a comparable score."""

    @model_validator(mode="after")
    def _check_thresholds(self) -> RecallQuality:
        if self.low_score_threshold >= self.high_score_threshold:
            raise PydanticCustomError(
                "setting-inconsistent",
                "must be smaller than highScoreThreshold",
                {"key": "lowScoreThreshold"},
            )
        return self


class Participation(Section):
    """Who may use each channel of one layer (§4.3)."""

    recall: ChannelUse = "automatic"
    """Reads on demand."""
    write: ChannelUse = "automatic"
    """Changes."""
    projection: ChannelUse = "automatic"
    """Text in the Wake."""
    maintenance: ChannelUse = "automatic"
    """Upkeep, export and status."""


class Layer(Section):
    """One Source type: its master switch and channels; never deletes data."""

    enabled: Switch = True
    """Whether Sources of this type take part at all."""
    participation: Participation = Participation()
    """Who may use each channel."""
    adapter_ids: Annotated[tuple[ComponentId, ...], AfterValidator(unique)] = ()
    """Legacy list; kept and ignored."""


def _layers(value: Mapping[str, Layer]) -> FrozenDict:
    return FrozenDict({name: Layer() for name in LAYERS} | dict(value))


class MemoryTopology(Section):
    """The layers of memory and the legacy choice of Strategy."""

    id: ComponentId = "default-three-tier"
    """Legacy label."""
    strategy_id: ComponentId = "default-three-tier"
    """Main Strategy unless ``memoryView.strategyTypeId`` names another."""
    layers: Annotated[
        Mapping[ComponentId, Layer],
        Field(max_length=64, validate_default=True),
        AfterValidator(_layers),
    ] = {}
    """Layers by Source type; the three default ones are always there."""


def _unsafe(value: object) -> bool:
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, object]", value)
        return not _UNSAFE.isdisjoint(entries) or any(map(_unsafe, entries.values()))
    return isinstance(value, tuple) and any(map(_unsafe, cast("Sequence[object]", value)))


def _entry_config(value: Any) -> Any:
    try:
        frozen = json_clone(value)
    except InputError as error:
        code = "text-not-unicode" if error.code == "text-not-unicode" else "setting-type"
        raise PydanticCustomError(code, "is not plain JSON") from None
    if _unsafe(frozen):
        raise PydanticCustomError("setting-format", "uses a reserved key")
    if len(json.dumps(thaw(frozen), ensure_ascii=False, separators=(",", ":"))) > _ENTRY_CHARACTERS:
        raise PydanticCustomError("setting-range", "is longer than 65536 characters of JSON")
    return frozen


class EntryChoice(Section):
    """Whether one plugin entry is on, and its options."""

    enabled: Switch
    """Whether the entry is on."""
    config: Annotated[Mapping[str, Any], AfterValidator(_entry_config)] = Field(
        default={}, validate_default=True
    )
    """Options of the plugin, at most 65 536 characters of JSON; its own schema judges them."""


def _entries(value: Any) -> Any:
    if isinstance(value, Mapping) and not _UNSAFE.isdisjoint(cast("Mapping[str, object]", value)):
        raise PydanticCustomError("setting-format", "uses a reserved key")
    return cast("Any", value)


class MemoryView(Section):
    """The chosen main Strategy and plugin options (§20)."""

    strategy_type_id: ComponentId | None = None
    """Main Strategy: ``default-three-tier`` or ``general`` are shipped."""
    entries: Annotated[
        Mapping[Annotated[str, Field(pattern=ENTRY_PATTERN)], EntryChoice],
        Field(max_length=64, validate_default=True),
        BeforeValidator(_entries),
        FrozenMap,
    ] = {}
    """Plugin choices by entry id."""
