"""Pytest plugin and contract suites for authors of Sources, Strategies and enhancements.

Names are loaded when they are first used: pytest imports this package with its plugin before a run
begins, and must not import the core for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dsh_mnemon_testing.arbitrary import available_sources, budgets, requests
    from dsh_mnemon_testing.clock import FROZEN, VirtualClock
    from dsh_mnemon_testing.extension_contract import ExtensionContract
    from dsh_mnemon_testing.fakes import (
        fake_contributions,
        fake_extension,
        fake_source,
        fake_strategy,
    )
    from dsh_mnemon_testing.guard import Contract, deviates
    from dsh_mnemon_testing.leaks import LeakedResources
    from dsh_mnemon_testing.management import ManagementClient
    from dsh_mnemon_testing.network import NetworkBlocked
    from dsh_mnemon_testing.options import MountedSource
    from dsh_mnemon_testing.requirements import check_requirements
    from dsh_mnemon_testing.runner import MemoryRunner, open_runner
    from dsh_mnemon_testing.running import RunningSource
    from dsh_mnemon_testing.source_contract import (
        SampleMutation,
        SampleOperation,
        SampleQuery,
        SourceContract,
    )
    from dsh_mnemon_testing.strategy_contract import StrategyContract
    from dsh_mnemon_testing.turn import RunnerTurn

__all__ = (
    "FROZEN",
    "Contract",
    "ExtensionContract",
    "LeakedResources",
    "ManagementClient",
    "MemoryRunner",
    "MountedSource",
    "NetworkBlocked",
    "RunnerTurn",
    "RunningSource",
    "SampleMutation",
    "SampleOperation",
    "SampleQuery",
    "SourceContract",
    "StrategyContract",
    "VirtualClock",
    "available_sources",
    "budgets",
    "check_requirements",
    "deviates",
    "fake_contributions",
    "fake_extension",
    "fake_source",
    "fake_strategy",
    "open_runner",
    "requests",
)

_HOMES: Final[Mapping[str, tuple[str, ...]]] = {
    "arbitrary": ("available_sources", "budgets", "requests"),
    "clock": ("FROZEN", "VirtualClock"),
    "extension_contract": ("ExtensionContract",),
    "fakes": ("fake_contributions", "fake_extension", "fake_source", "fake_strategy"),
    "guard": ("Contract", "deviates"),
    "leaks": ("LeakedResources",),
    "management": ("ManagementClient",),
    "network": ("NetworkBlocked",),
    "options": ("MountedSource",),
    "requirements": ("check_requirements",),
    "runner": ("MemoryRunner", "open_runner"),
    "running": ("RunningSource",),
    "source_contract": ("SampleMutation", "SampleOperation", "SampleQuery", "SourceContract"),
    "strategy_contract": ("StrategyContract",),
    "turn": ("RunnerTurn",),
}
"""The modules and what of each stands here."""


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
