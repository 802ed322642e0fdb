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

from dsh_mnemon_strategy_auto_capture._config import AutoCaptureConfig
from dsh_mnemon_strategy_auto_capture.extension import PACKAGE_NAME, auto_capture_extension

__all__ = ("plugin",)

_DESCRIPTOR: Final = MemoryPlugin(
    package_name=PACKAGE_NAME,
    label={"en": "Auto capture", "zh-CN": "主动记录"},
    description={
        "en": (
            "Invites the model to keep, within the turn and through the offered actions, at most "
            "one lasting fact that the user supplied."
        ),
        "zh-CN": "邀请模型在当轮通过已提供的操作，至多记录一条由用户给出的持久事实。",
    },
    roles=("strategy-extension",),
    provides=(ProvidedCapability(id="strategy.capture", exclusive=True),),
    requires=("strategy", "source.durable-evidence"),
)


def _apply(ctx: Context, config: AutoCaptureConfig) -> None:
    extension = auto_capture_extension(config)
    install_memory(ctx, Contributions(plugin=_DESCRIPTOR, strategy_extensions=(extension,)))


plugin = Plugin(
    name=PACKAGE_NAME,
    apply=_apply,
    config_model=AutoCaptureConfig,
    requires=(MEMORY_SERVICE,),
    memory_plugin=_DESCRIPTOR,
)
