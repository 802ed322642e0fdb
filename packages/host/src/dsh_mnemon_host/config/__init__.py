"""What can be configured about the Host, how it is read, and what it comes to (host.md §2)."""

from dsh_mnemon_host.config.conduct import (
    ConversationInteraction,
    IdleReview,
    PersistenceStrategy,
    PlacementRules,
    TaskAgentModel,
)
from dsh_mnemon_host.config.locations import absolute, at_home, expand, home_directory
from dsh_mnemon_host.config.memory import (
    Embedding,
    EntryChoice,
    Layer,
    MemoryTopology,
    MemoryView,
    Participation,
    RecallQuality,
    RuntimeMemory,
)
from dsh_mnemon_host.config.model import CustomPack, HostConfig
from dsh_mnemon_host.config.reading import Problem, Reading, UnknownKey, read_strict, read_tolerant
from dsh_mnemon_host.config.redaction import REDACTED, is_secret_name, plain, redact, restore
from dsh_mnemon_host.config.resolution import ResolvedConfig, merge, resolve, snapshot
from dsh_mnemon_host.config.shape import accepted, known_keys, known_paths, nearest_key

__all__ = (
    "REDACTED",
    "ConversationInteraction",
    "CustomPack",
    "Embedding",
    "EntryChoice",
    "HostConfig",
    "IdleReview",
    "Layer",
    "MemoryTopology",
    "MemoryView",
    "Participation",
    "PersistenceStrategy",
    "PlacementRules",
    "Problem",
    "Reading",
    "RecallQuality",
    "ResolvedConfig",
    "RuntimeMemory",
    "TaskAgentModel",
    "UnknownKey",
    "absolute",
    "accepted",
    "at_home",
    "expand",
    "home_directory",
    "is_secret_name",
    "known_keys",
    "known_paths",
    "merge",
    "nearest_key",
    "plain",
    "read_strict",
    "read_tolerant",
    "redact",
    "resolve",
    "restore",
    "snapshot",
)
