"""The contract of Strategy extensions, kept by Auto capture."""

import pytest
from dsh_mnemon_strategy_auto_capture import AutoCaptureConfig, auto_capture_extension
from dsh_mnemon_testing import ExtensionContract


@pytest.mark.requirement("auto-capture:pure")
class TestAutoCapture(ExtensionContract):
    """Without keys it names the durable Sources it is shown."""

    def make_extension(self):
        return auto_capture_extension()


@pytest.mark.requirement("auto-capture:pure")
class TestAutoCaptureConfigured(ExtensionContract):
    """Configured keys are named whether they are there or not."""

    follows_sources = False

    def make_extension(self):
        config = AutoCaptureConfig(action_ids=("append",), source_keys=("source:notes",))
        return auto_capture_extension(config)
