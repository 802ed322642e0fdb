"""Invites the model of a dsh-mnemon turn to keep one lasting fact of the user's by itself."""

from dsh_mnemon_strategy_auto_capture._config import AutoCaptureConfig
from dsh_mnemon_strategy_auto_capture._plugin import plugin
from dsh_mnemon_strategy_auto_capture.extension import auto_capture_extension

__all__ = ("AutoCaptureConfig", "auto_capture_extension", "plugin")
