"""Memory Spaces of dsh-mnemon: long-term memory in named Spaces, each held by a Provider.

``plugin`` is what a profile row mounts; `install_memory_spaces` mounts the same by hand. Providers
are written against `provider_sdk` and tested with `testing`.
"""

from dsh_mnemon_source_memory_spaces._children import ChildEntry
from dsh_mnemon_source_memory_spaces._config import Config
from dsh_mnemon_source_memory_spaces._plugin import MEMORY_PLUGIN, install_memory_spaces, plugin
from dsh_mnemon_source_memory_spaces._recall.quality import (
    Decision,
    QualityPolicy,
    Scored,
    Thresholds,
)
from dsh_mnemon_source_memory_spaces.source import MemorySpacesSource, memory_spaces_source

__all__ = (
    "MEMORY_PLUGIN",
    "ChildEntry",
    "Config",
    "Decision",
    "MemorySpacesSource",
    "QualityPolicy",
    "Scored",
    "Thresholds",
    "install_memory_spaces",
    "memory_spaces_source",
    "plugin",
)
