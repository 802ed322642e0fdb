"""The contract of Strategy extensions, kept by Scoped."""

import pytest
from dsh_mnemon_strategy_scoped import ScopedConfig, scoped_extension
from dsh_mnemon_testing import ExtensionContract


@pytest.mark.requirement("scoped:pure")
class TestScoped(ExtensionContract):
    """Without keys it names the Sources it is shown."""

    def make_extension(self):
        return scoped_extension()


@pytest.mark.requirement("scoped:pure")
class TestScopedReadOnly(ExtensionContract):
    """A read-only View has the same Sources."""

    def make_extension(self):
        return scoped_extension(ScopedConfig(writable_source_keys=()))


@pytest.mark.requirement("scoped:pure")
class TestScopedConfigured(ExtensionContract):
    """Configured keys are named whether they are there or not."""

    follows_sources = False

    def make_extension(self):
        return scoped_extension(ScopedConfig(source_keys=("source:b", "source:a")))
