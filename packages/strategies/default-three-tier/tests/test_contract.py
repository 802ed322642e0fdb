"""The contract of main Strategies, kept by Layered."""

from dsh_mnemon_strategy_default_three_tier import layered_strategy
from dsh_mnemon_testing.strategy_contract import StrategyContract


class TestLayered(StrategyContract):
    """Layered sorts by role, so the order of installation decides nothing."""

    def make_strategy(self):
        return layered_strategy()
