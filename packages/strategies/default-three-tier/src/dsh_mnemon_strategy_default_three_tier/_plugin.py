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

from dsh_mnemon_strategy_default_three_tier._config import LayeredConfig
from dsh_mnemon_strategy_default_three_tier.strategy import PACKAGE_NAME, layered_strategy

__all__ = ("plugin",)

_DESCRIPTOR: Final = MemoryPlugin(
    package_name=PACKAGE_NAME,
    label={"en": "Layered", "zh-CN": "分层策略"},
    description={
        "en": (
            "Keeps working memory in context, reads Documents and Memory Spaces on demand, and "
            "bounds what one turn may retrieve."
        ),
        "zh-CN": "工作记忆常驻上下文，文档与记忆空间按需读取，并限制每一轮可检索的内容。",
    },
    roles=("strategy",),
    provides=(
        ProvidedCapability(id="strategy"),
        ProvidedCapability(id="strategy.default-three-tier"),
    ),
    requires=("source",),
)


def _apply(ctx: Context, config: LayeredConfig) -> None:
    install_memory(ctx, Contributions(plugin=_DESCRIPTOR, strategies=(layered_strategy(config),)))


plugin = Plugin(
    name=PACKAGE_NAME,
    apply=_apply,
    config_model=LayeredConfig,
    requires=(MEMORY_SERVICE,),
    memory_plugin=_DESCRIPTOR,
)
