"""Narrows a dsh-mnemon composition to chosen Sources, in order, and says which may be written."""

from dsh_mnemon_strategy_scoped._config import ScopedConfig
from dsh_mnemon_strategy_scoped._plugin import plugin
from dsh_mnemon_strategy_scoped.extension import scoped_extension

__all__ = ("ScopedConfig", "plugin", "scoped_extension")
