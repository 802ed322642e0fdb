"""Runtime memory Source of dsh-mnemon: the short entries every turn starts with.

``plugin`` is what a profile row mounts; `runtime_source` builds the definition alone.
"""

from __future__ import annotations

from typing import Final

from dsh_mnemon_core.sdk import (
    MEMORY_SERVICE,
    Context,
    Contributions,
    MemoryPlugin,
    Plugin,
    ProvidedCapability,
    install_memory,
)

from dsh_mnemon_source_runtime._config import Config
from dsh_mnemon_source_runtime.actions import MANIFEST
from dsh_mnemon_source_runtime.source import RuntimeSource, runtime_source

__all__ = ("MEMORY_PLUGIN", "Config", "RuntimeSource", "plugin", "runtime_source")

MEMORY_PLUGIN: Final = MemoryPlugin(
    package_name=MANIFEST.package_name,
    label={"en": "Runtime Memory", "zh-CN": "运行时记忆"},
    description={
        "en": "Short working memory in USER.md and MEMORY.md, in view at the start of every turn.",
        "zh-CN": "USER.md 与 MEMORY.md 中的简短工作记忆，每一轮开始时即可见。",
    },
    roles=("source",),
    provides=(ProvidedCapability(id="source"), ProvidedCapability(id="source.working-context")),
)
"""Descriptor of the plugin, readable before anything runs."""


def _apply(ctx: Context, config: Config) -> None:
    install_memory(ctx, Contributions(plugin=MEMORY_PLUGIN, sources=(runtime_source(config),)))


plugin: Final = Plugin(
    name=MANIFEST.package_name,
    apply=_apply,
    config_model=Config,
    requires=(MEMORY_SERVICE,),
    memory_plugin=MEMORY_PLUGIN,
)
"""The plugin that a profile row names."""
