"""The contract of main Strategies, kept by General."""

import pytest
from dsh_mnemon_strategy_general import GeneralConfig, general_strategy
from dsh_mnemon_testing import StrategyContract


@pytest.mark.requirement("general:pure")
class TestGeneral(StrategyContract):
    """General sorts by instance key, so the order of installation decides nothing."""

    def make_strategy(self):
        return general_strategy()


@pytest.mark.requirement("general:pure")
class TestGeneralConfigured(StrategyContract):
    """Configured residents, of which some are not there, change nothing about the promises."""

    def make_strategy(self):
        keys = ("source:documents-1", "source:other-2", "source:ghost")
        return general_strategy(GeneralConfig(resident_source_keys=keys, instruction="Be brief."))
