"""The configuration of the Host: every key, its range and its default (host.md §2.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from dsh_mnemon_core.scope import Storage
from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from dsh_mnemon_host.config.conduct import (
    ConversationInteraction,
    IdleReview,
    PersistenceStrategy,
    TaskAgentModel,
)
from dsh_mnemon_host.config.locations import Location
from dsh_mnemon_host.config.memory import (
    Embedding,
    MemoryTopology,
    MemoryView,
    RecallQuality,
    RuntimeMemory,
)
from dsh_mnemon_host.config.section import OffOr, Printable, Section, StoreId, Switch

__all__ = ("CustomPack", "HostConfig")

_IGNORED = frozenset({"accountDataDir"})
"""Keys of multi-account deployments: accepted without a word, never used."""


class CustomPack(Section):
    """A named root of the legacy configuration."""

    id: StoreId
    """Distinct among the packs."""
    name: Annotated[str, Field(min_length=1, max_length=100)]
    """Shown to people."""
    data_dir: Location
    """Where the pack lies."""


def _display_mode(value: object) -> object:
    """Read the legacy spelling as the canonical one (§2.7)."""
    return "builtin" if value == "buildin" else value


class HostConfig(Section):
    """Everything a person or a distribution can set about the Host."""

    storage_scope: Storage | None = None
    """Root of all four areas; unset means ``global``, or ``custom`` when a location is given."""
    runtime_user_scope: Literal["storage", "global"] = "storage"
    """``global`` keeps USER.md in the global root, whatever the storage scope."""
    data_dir: Location | None = None
    """Root of ``custom``; central root of ``workspaces``."""
    custom_pack_id: StoreId | None = None
    """Legacy choice among ``customPacks``."""
    custom_packs: Annotated[tuple[CustomPack, ...], Field(max_length=32)] = ()
    """Legacy named roots."""
    cli_path: Annotated[str, Printable] | None = None
    """Path or name of the Mnemon command line."""
    store: StoreId | None = None
    """Legacy hint at the default store; never a routing target."""
    timeout_ms: Annotated[int, Field(ge=100, le=120_000, strict=True)] = 10_000
    """Limit of one command-line call and of one Source call, in ms."""
    default_recall_limit: Annotated[int, Field(ge=1, le=50, strict=True)] = 10
    """Results of a search that does not say how many."""
    runtime_memory: RuntimeMemory = RuntimeMemory()
    """Limits of working memory."""
    embedding: Embedding = Embedding()
    """Embedding service of the native Provider."""
    memory_topology: MemoryTopology = MemoryTopology()
    """Layers of memory."""
    memory_view: MemoryView = MemoryView()
    """Main Strategy and plugin options."""
    legacy_settings_imported: Switch | None = None
    """Set once older settings were taken over."""
    recall_quality: RecallQuality = RecallQuality()
    """How search results are judged."""
    routing_guidance: Switch = True
    """Whether the system prompt has the routing section."""
    lifecycle_enabled: Switch = True
    """Cues and background review on or off."""
    recall_mode: Annotated[Literal["guided", "off"], OffOr] = "guided"
    """Recall cue; the tool stays either way."""
    writeback_mode: Annotated[Literal["guided", "off"], OffOr] = "guided"
    """Writeback cue and review; explicit writes stay either way."""
    idle_review_ms: Annotated[int, Field(ge=5_000, le=600_000, strict=True)] = 30_000
    """Idle time before a review may start, in ms."""
    idle_review: IdleReview = IdleReview()
    """Background review."""
    display_mode: Annotated[Literal["sidebar", "builtin"], BeforeValidator(_display_mode)] = (
        "sidebar"
    )
    """Where the page is shown."""
    tab_enabled: Switch = True
    """Whether the page has an entry; tools stay either way."""
    write_enabled: Switch = True
    """Product-wide switch for changes."""
    remote_access: Literal["read-only", "trusted-host"] = "read-only"
    """What trusted remote pages may do; read once at the start."""
    conversation_interaction: ConversationInteraction = ConversationInteraction()
    """What the page shows inside a conversation."""
    persistence_strategy: PersistenceStrategy = PersistenceStrategy()
    """Provider of Spaces that Agents create."""
    task_agent_model: TaskAgentModel = TaskAgentModel()
    """Model of workers and task Agents."""

    @model_validator(mode="before")
    @classmethod
    def _drop_ignored(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        items = cast("Mapping[str, Any]", value).items()
        return {key: item for key, item in items if key not in _IGNORED}

    @model_validator(mode="after")
    def _check_packs(self) -> HostConfig:
        seen: set[str] = set()
        for index, pack in enumerate(self.custom_packs):
            if pack.id in seen:
                raise PydanticCustomError(
                    "setting-duplicate",
                    "is the id of an earlier pack",
                    {"key": f"customPacks.{index}.id"},
                )
            seen.add(pack.id)
        return self

    @property
    def strategy_type_id(self) -> str:
        """Return the type id of the main Strategy."""
        return self.memory_view.strategy_type_id or self.memory_topology.strategy_id
