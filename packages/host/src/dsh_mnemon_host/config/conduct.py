"""Sections about conduct: review, placement of new Spaces, models, page (host.md §2.2)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, cast

from dsh_mnemon_core.values import FrozenDict
from pydantic import (
    AfterValidator,
    Field,
    PlainValidator,
    SecretStr,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from dsh_mnemon_host.config.redaction import is_secret_name
from dsh_mnemon_host.config.section import ID_PATTERN, ComponentId, Section, Switch, unique

__all__ = (
    "ConversationInteraction",
    "IdleReview",
    "PersistenceStrategy",
    "PlacementRules",
    "SpaceCapability",
    "TaskAgentModel",
)

SpaceCapability: TypeAlias = Literal[
    "graph", "entities", "related", "exact-write", "link", "forget"
]
"""What a Provider may be required to do."""


class IdleReview(Section):
    """Background review of completed turns (§12)."""

    enabled: Switch = True
    """Whether reviews run at all."""
    provider: Literal["spawn", "fork"] = "spawn"
    """A bounded checkpoint, or the inherited context of the parent."""
    fallback: Literal["spawn", "skip"] = "spawn"
    """What happens when fork is not available; decided before the start only."""
    agent_teams: Literal["pause", "scoped"] = "pause"
    """Whether review pauses while a team-spawning tool is visible to the parent."""
    runtime_memory: Switch = True
    """Whether the reviewer may change working memory."""
    min_interval_ms: Annotated[int, Field(ge=5_000, le=86_400_000, strict=True)] = 300_000
    """Least distance between two attempts, in ms; failures and cancellations count."""
    max_per_session: Annotated[int, Field(ge=0, le=200, strict=True)] = 20
    """Attempts per loaded parent Agent; 0 suspends review."""
    max_context_chars: Annotated[int, Field(ge=1_000, le=1_000_000, strict=True)] = 24_000
    """Characters of the checkpoint for ``spawn``."""
    max_tokens: Annotated[int, Field(ge=128, le=131_072, strict=True)] = 4_096
    """Output limit per model answer of the reviewer."""


class ConversationInteraction(Section):
    """What the page shows inside a conversation."""

    turn_bar: Switch = True
    """Show the memory bar of a turn."""
    save_action: Switch = True
    """Offer to save a message."""
    toolviews: Switch = False
    """Accepted and unused."""


class PlacementRules(Section):
    """Bounds on the Provider chosen for a new Space."""

    allowed_provider_ids: Annotated[tuple[ComponentId, ...], AfterValidator(unique)] = (
        "mnemon-native",
    )
    """Eligible Providers; empty means the native one in ``manual`` and is refused otherwise."""
    data_boundary: Literal["allow-remote", "local-only"] = "allow-remote"
    """Whether data may leave the machine."""
    required_capabilities: Annotated[tuple[SpaceCapability, ...], AfterValidator(unique)] = ()
    """What the Provider must be able to do."""
    preference: Literal["balanced", "local-first", "shared-first"] = "balanced"
    """Which eligible Provider is preferred."""


def _connection_value(name: str, value: object) -> object:
    if not isinstance(value, str):
        return value
    if not value.isascii():
        value.encode("utf-8")
    return SecretStr(value) if is_secret_name(name) else value


def _scalar(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (str, bool, int, SecretStr))


def _connections(value: object) -> FrozenDict:
    """Keep what is a map of scalars under a Provider id; drop the rest without a word (§2.2)."""
    if not isinstance(value, Mapping):
        raise PydanticCustomError("setting-type", "is not a mapping")
    try:
        return FrozenDict(
            {
                provider: FrozenDict(
                    {
                        str(name): _connection_value(str(name), item)
                        for name, item in cast("Mapping[object, object]", fields).items()
                        if _scalar(item)
                    }
                )
                for provider, fields in cast("Mapping[object, object]", value).items()
                if isinstance(provider, str)
                and re.fullmatch(ID_PATTERN, provider)
                and isinstance(fields, Mapping)
            }
        )
    except UnicodeEncodeError:
        raise PydanticCustomError(
            "text-not-unicode", "holds a lone surrogate, which is not Unicode text"
        ) from None


Connections: TypeAlias = Annotated[
    Mapping[str, Mapping[str, Any]],
    PlainValidator(_connections),
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": {"type": ["string", "number", "boolean"]},
            },
        }
    ),
]


class PersistenceStrategy(Section):
    """Which Provider holds a Space that an Agent creates (sources.md §4.5)."""

    mode: Literal["manual", "automatic"] = "manual"
    """A fixed Provider, or one chosen for each Space."""
    provider_id: ComponentId = "mnemon-native"
    """The fixed Provider of ``manual``."""
    prompt: Annotated[str, Field(max_length=4_000)] = ""
    """What to prefer in ``automatic``."""
    rules: PlacementRules = PlacementRules()
    """Bounds on the choice."""
    provider_connections: Connections = Field(default={}, validate_default=True)
    """Connection settings by Provider id; values under secret names are kept secret."""

    @model_validator(mode="after")
    def _check_allowed(self) -> PersistenceStrategy:
        if self.mode == "automatic" and not self.rules.allowed_provider_ids:
            raise PydanticCustomError(
                "setting-required",
                "needs at least one Provider while mode is automatic",
                {"key": "rules.allowedProviderIds"},
            )
        return self

    @property
    def allowed_provider_ids(self) -> tuple[str, ...]:
        """Return the eligible Providers; never empty."""
        return self.rules.allowed_provider_ids or ("mnemon-native",)


class TaskAgentModel(Section):
    """The model of workers and task Agents (§13.3)."""

    mode: Literal["inherit", "fixed"] = "inherit"
    """Take the model of the parent or session, or the one named here."""
    provider: Annotated[str, Field(max_length=200)] | None = None
    """Model provider; required for ``fixed``."""
    model: Annotated[str, Field(max_length=300)] | None = None
    """Model name; required for ``fixed``."""

    @model_validator(mode="after")
    def _check_pair(self) -> TaskAgentModel:
        for key in ("provider", "model"):
            if self.mode == "fixed" and getattr(self, key) is None:
                raise PydanticCustomError(
                    "setting-required", "is required while mode is fixed", {"key": key}
                )
        return self
