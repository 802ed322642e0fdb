"""Shows less memory in each turn of dsh-mnemon by narrowing the projection budget."""

from dsh_mnemon_strategy_light_context._config import LightContextConfig
from dsh_mnemon_strategy_light_context._plugin import plugin
from dsh_mnemon_strategy_light_context.extension import light_context_extension

__all__ = ("LightContextConfig", "light_context_extension", "plugin")
