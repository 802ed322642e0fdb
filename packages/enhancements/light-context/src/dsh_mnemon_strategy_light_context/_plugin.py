"""What a profile mounts."""

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

from dsh_mnemon_strategy_light_context._config import LightContextConfig
from dsh_mnemon_strategy_light_context.extension import PACKAGE_NAME, light_context_extension

__all__ = ("plugin",)

_DESCRIPTOR: Final = MemoryPlugin(
    package_name=PACKAGE_NAME,
    label={"en": "Light context", "zh-CN": "轻量上下文"},
    description={
        "en": (
            "Shows less memory in each turn by narrowing the shared projection budget; what can be "
            "read and written stays the same."
        ),
        "zh-CN": "收窄共享的投影预算，使每一轮展示更少的记忆；可读取与可写入的内容不变。",
    },
    roles=("strategy-extension",),
    provides=(ProvidedCapability(id="strategy.projection", exclusive=True),),
    requires=("strategy",),
)


def _apply(ctx: Context, config: LightContextConfig) -> None:
    extension = light_context_extension(config)
    install_memory(ctx, Contributions(plugin=_DESCRIPTOR, strategy_extensions=(extension,)))


plugin = Plugin(
    name=PACKAGE_NAME,
    apply=_apply,
    config_model=LightContextConfig,
    requires=(MEMORY_SERVICE,),
    memory_plugin=_DESCRIPTOR,
)
