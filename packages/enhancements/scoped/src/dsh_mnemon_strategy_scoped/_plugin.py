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

from dsh_mnemon_strategy_scoped._config import ScopedConfig
from dsh_mnemon_strategy_scoped.extension import PACKAGE_NAME, scoped_extension

__all__ = ("plugin",)

_DESCRIPTOR: Final = MemoryPlugin(
    package_name=PACKAGE_NAME,
    label={"en": "Scoped", "zh-CN": "限定范围"},
    description={
        "en": (
            "Chooses which memory Sources take part in a turn, in which order, and which of them "
            "may be written."
        ),
        "zh-CN": "选择每一轮有哪些记忆来源参与、以何种顺序参与，以及其中哪些可以写入。",
    },
    roles=("strategy-extension",),
    provides=(ProvidedCapability(id="strategy.selection", exclusive=True),),
    requires=("strategy",),
)


def _apply(ctx: Context, config: ScopedConfig) -> None:
    extension = scoped_extension(config)
    install_memory(ctx, Contributions(plugin=_DESCRIPTOR, strategy_extensions=(extension,)))


plugin = Plugin(
    name=PACKAGE_NAME,
    apply=_apply,
    config_model=ScopedConfig,
    requires=(MEMORY_SERVICE,),
    memory_plugin=_DESCRIPTOR,
)
