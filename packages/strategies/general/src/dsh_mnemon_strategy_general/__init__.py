"""The General strategy of dsh-mnemon: every Source within one budget, routing left to the model."""

from dsh_mnemon_strategy_general._config import GeneralConfig
from dsh_mnemon_strategy_general._plugin import plugin
from dsh_mnemon_strategy_general.strategy import MANIFEST, general_strategy

__all__ = ("MANIFEST", "GeneralConfig", "general_strategy", "plugin")
