"""The Provider module, and which engine a child gets (spec/mnemon-native.md §13, D46)."""

from __future__ import annotations

from typing import Final

from dsh_mnemon_core.sdk import Context
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    NativeAdapter,
    ProviderContext,
    ProviderDefinition,
    ProviderHost,
    ProviderModule,
    ProviderNotConfigured,
)

from dsh_mnemon_provider_mnemon_native._config import Config
from dsh_mnemon_provider_mnemon_native.descriptor import MANIFEST, PROVIDER_ID

__all__ = ("create_adapter", "provider")


def create_adapter(context: ProviderContext, config: Config) -> NativeAdapter:
    """Make the adapter of one child; nothing is opened yet.

    Raises:
        ProviderNotConfigured: The Source gave no native settings.
    """
    native, timeout_ms = context.native, context.config.timeout_ms
    if native is None:
        raise ProviderNotConfigured(f"{PROVIDER_ID} needs the data directory of its Source")
    # Imported here: an engine is larger than all that a command needs which asks no Space.
    if config.engine == "cli":
        from dsh_mnemon_provider_mnemon_native._cli import CliAdapter

        return CliAdapter(native, config, timeout_ms=timeout_ms)
    from dsh_mnemon_provider_mnemon_native._adapter import MnemonNativeAdapter

    return MnemonNativeAdapter(native, config, timeout_ms=timeout_ms)


def _apply(ctx: Context, host: ProviderHost, config: Config) -> None:
    def create(context: ProviderContext) -> NativeAdapter:
        return create_adapter(context, config)

    host.install(ctx, ProviderDefinition(manifest=MANIFEST, create=create))


provider: Final = ProviderModule(id=PROVIDER_ID, apply=_apply, config_model=Config)
"""The Provider module of this package (D28)."""
