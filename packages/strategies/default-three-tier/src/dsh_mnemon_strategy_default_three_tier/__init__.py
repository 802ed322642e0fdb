"""The Layered strategy of dsh-mnemon: hot memory, documents, long-term evidence."""

from dsh_mnemon_strategy_default_three_tier._config import LayeredConfig
from dsh_mnemon_strategy_default_three_tier._plugin import plugin
from dsh_mnemon_strategy_default_three_tier.strategy import MANIFEST, compose, layered_strategy
from dsh_mnemon_strategy_default_three_tier.workflow import action_workflow

__all__ = (
    "MANIFEST",
    "LayeredConfig",
    "action_workflow",
    "compose",
    "layered_strategy",
    "plugin",
)
