"""Documents Source of dsh-mnemon: long-form project records, searched on demand.

``plugin`` is what a profile row mounts; `documents_source` builds the definition alone.
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

from dsh_mnemon_source_documents._config import Config
from dsh_mnemon_source_documents.actions import MANIFEST
from dsh_mnemon_source_documents.source import DocumentsSource, documents_source

__all__ = ("MEMORY_PLUGIN", "Config", "DocumentsSource", "documents_source", "plugin")

MEMORY_PLUGIN: Final = MemoryPlugin(
    package_name=MANIFEST.package_name,
    label={"en": "Documents", "zh-CN": "文档"},
    description={
        "en": "Long-form project records as Markdown files, searched and read on demand.",
        "zh-CN": "以 Markdown 文件保存的项目长文档，按需搜索与阅读。",
    },
    roles=("source",),
    provides=(ProvidedCapability(id="source"), ProvidedCapability(id="source.narrative")),
)
"""Descriptor of the plugin, readable before anything runs."""


def _apply(ctx: Context, config: Config) -> None:
    install_memory(ctx, Contributions(plugin=MEMORY_PLUGIN, sources=(documents_source(config),)))


plugin: Final = Plugin(
    name=MANIFEST.package_name,
    apply=_apply,
    config_model=Config,
    requires=(MEMORY_SERVICE,),
    memory_plugin=MEMORY_PLUGIN,
)
"""The plugin that a profile row names."""
