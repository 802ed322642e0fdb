"""Mounting Memory Spaces and its Providers as one row of a profile (spec/core.md §18)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dsh_mnemon_core.errors import RegistrationError
from dsh_mnemon_core.sdk import (
    MEMORY_SERVICE,
    Context,
    Contributions,
    Disposer,
    MemoryPlugin,
    Plugin,
    ProvidedCapability,
    install_memory,
)

from dsh_mnemon_source_memory_spaces._children import ChildEntry, mount_children
from dsh_mnemon_source_memory_spaces._config import Config
from dsh_mnemon_source_memory_spaces._recall.quality import QualityPolicy
from dsh_mnemon_source_memory_spaces.actions import MANIFEST
from dsh_mnemon_source_memory_spaces.source import memory_spaces_source

__all__ = ("MEMORY_PLUGIN", "install_memory_spaces", "plugin")

MEMORY_PLUGIN: Final = MemoryPlugin(
    package_name=MANIFEST.package_name,
    label={"en": "Memory Spaces", "zh-CN": "记忆空间"},
    description={
        "en": "Long-term memory in named Spaces, each held by a Provider, read on demand.",
        "zh-CN": "保存在命名空间中的长期记忆，每个空间由一个 Provider 承载，按需读取。",
    },
    roles=("source",),
    provides=(ProvidedCapability(id="source"), ProvidedCapability(id="source.durable-evidence")),
)
"""Descriptor of the plugin, readable before anything runs."""


async def install_memory_spaces(
    ctx: Context,
    entries: Sequence[ChildEntry],
    *,
    config: Config | None = None,
    instance_id: str | None = None,
    policies: Mapping[str, QualityPolicy] | None = None,
) -> Disposer:
    """Mount Providers as children and register one Source over them (D27).

    A child that cannot be imported, configured or started is left out and named by the Source's
    reads; the others are not harmed.

    Args:
        ctx: Context of the plugin; its end is that of the Source and its Providers.
        entries: The Providers, in order.
        config: Configuration of the Source; ``providers`` in it is not looked at.
        instance_id: Entry id of the Source; the location of the Fiber by default.
        policies: Recall policies besides the shipped ones, by id.

    Returns:
        Removes the Source before the Fiber ends.

    Raises:
        ConfigurationError: ``providers-empty``, ``provider-duplicated`` or ``providers-failed``.
        RegistrationError: ``instance-id-missing``, or the Source cannot join the registry.
    """
    entry_id = instance_id or ctx.entry_id
    if entry_id is None:
        raise RegistrationError(
            "instance-id-missing", "give instance_id, or mount the plugin with an entry_id"
        )
    own = config or Config()
    mounted = await mount_children(ctx, entry_id, entries)
    definition = memory_spaces_source(own, mounted, policies=policies)
    return install_memory(
        ctx,
        Contributions(plugin=MEMORY_PLUGIN, sources=(definition,)),
        instance_id=entry_id,
        effective_digest=mounted.effective_digest(_open_settings(own)),
    )


def _open_settings(config: Config) -> dict[str, object]:
    """Return the row's configuration as JSON, without Providers and without secrets."""
    return config.model_dump(
        mode="json",
        by_alias=True,
        exclude_unset=True,
        exclude={
            "providers": True,
            "embedding": {"api_key"},
            "persistence_strategy": {"provider_connections"},
        },
    )


async def _apply(ctx: Context, config: Config) -> None:
    await install_memory_spaces(ctx, config.children, config=config)


plugin: Final = Plugin(
    name=MANIFEST.package_name,
    apply=_apply,
    config_model=Config,
    requires=(MEMORY_SERVICE,),
    memory_plugin=MEMORY_PLUGIN,
)
"""The plugin that a profile row names."""
