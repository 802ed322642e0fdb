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

from dsh_mnemon_strategy_general._config import GeneralConfig
from dsh_mnemon_strategy_general.strategy import PACKAGE_NAME, general_strategy

__all__ = ("plugin",)

_DESCRIPTOR: Final = MemoryPlugin(
    package_name=PACKAGE_NAME,
    label={"en": "General", "zh-CN": "通用策略"},
    description={
        "en": (
            "Offers every available memory Source, of whatever kind, within one shared budget and "
            "leaves it to the model which of them to use."
        ),
        "zh-CN": "在同一份预算内提供所有可用的记忆来源（不限类型），由模型自行决定使用哪一个。",
    },
    roles=("strategy",),
    provides=(ProvidedCapability(id="strategy"), ProvidedCapability(id="strategy.general")),
    requires=("source",),
)


def _apply(ctx: Context, config: GeneralConfig) -> None:
    install_memory(ctx, Contributions(plugin=_DESCRIPTOR, strategies=(general_strategy(config),)))


plugin = Plugin(
    name=PACKAGE_NAME,
    apply=_apply,
    config_model=GeneralConfig,
    requires=(MEMORY_SERVICE,),
    memory_plugin=_DESCRIPTOR,
)
