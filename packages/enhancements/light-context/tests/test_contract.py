"""The contract of Strategy extensions, kept by Light context."""

import pytest
from dsh_mnemon_strategy_light_context import LightContextConfig, light_context_extension
from dsh_mnemon_testing import ExtensionContract


@pytest.mark.requirement("light-context:pure")
class TestLightContext(ExtensionContract):
    """It names no Source at all."""

    def make_extension(self):
        return light_context_extension()


@pytest.mark.requirement("light-context:pure")
class TestLightContextConfigured(ExtensionContract):
    """Another ceiling is as good."""

    def make_extension(self):
        return light_context_extension(LightContextConfig(max_projection_characters=10_000_000))
