"""The pytest plugin: fixtures, the marker ``requirement``, no network (spec/core.md §20).

pytest imports this module before anything else of a test run. It therefore imports nothing of the
core: what a fixture needs is imported when the fixture is used.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, Any, Final

import pytest

from dsh_mnemon_testing.network import only_loopback

if TYPE_CHECKING:
    from dsh_mnemon_core.source import SourceDefinition
    from dsh_mnemon_core.strategy import StrategyDefinition

    from dsh_mnemon_testing.clock import VirtualClock
    from dsh_mnemon_testing.fakes import Trace
    from dsh_mnemon_testing.runner import MemoryRunner

__all__ = (
    "fake_source",
    "fake_strategy",
    "fake_trace",
    "frozen_now",
    "memory_runner",
    "pytest_configure",
    "pytest_runtest_protocol",
)

_ASSERTING: Final = (
    "_source_reads",
    "_source_writes",
    "extension_contract",
    "guard",
    "source_contract",
    "strategy_contract",
)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and let the assertions of the contract suites explain themselves."""
    config.addinivalue_line(
        "markers", "requirement(id): names a required behaviour that the test shows"
    )
    names = [f"dsh_mnemon_testing.{name}" for name in _ASSERTING]
    pytest.register_assert_rewrite(*(name for name in names if name not in sys.modules))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Keep a test and its fixtures from reaching beyond the loopback interface."""
    with only_loopback():
        return (yield)


@pytest.fixture
def frozen_now() -> VirtualClock:
    """Return a clock that stands at the time of the golden files; ``advance`` moves it."""
    from dsh_mnemon_testing.clock import VirtualClock

    return VirtualClock()


@pytest.fixture
async def memory_runner(
    anyio_backend: Any, frozen_now: VirtualClock, request: pytest.FixtureRequest
) -> AsyncGenerator[MemoryRunner]:
    """Open a runner that tells the time by ``frozen_now``; closing it checks for leaks.

    Indirect parameters are options of `dsh_mnemon_testing.open_runner`.
    """
    from dsh_mnemon_testing.runner import open_runner

    del anyio_backend  # asked for, so that anyio runs this fixture
    options: dict[str, Any] = {"now": frozen_now, **getattr(request, "param", {})}
    async with open_runner(**options) as runner:
        yield runner


@pytest.fixture
def fake_trace() -> Trace:
    """Return the lines that the fakes of this test leave, in start order."""
    return []


@pytest.fixture
def fake_source(fake_trace: Trace) -> Callable[..., SourceDefinition]:
    """Return a factory of fake Sources: ``fake_source(manifest={...}, facts=..., query=...)``.

    The description is that of the golden files; the manifest may leave out what does not matter.
    """
    from dsh_mnemon_testing.fakes import SOURCE_MANIFEST, fake_source

    def make(**spec: Any) -> SourceDefinition:
        manifest = {**SOURCE_MANIFEST, **spec.pop("manifest", {})}
        return fake_source({"manifest": manifest, **spec}, fake_trace)

    return make


@pytest.fixture
def fake_strategy() -> Callable[..., StrategyDefinition]:
    """Return a factory of fake Strategies: ``fake_strategy(compose={"routeIds": "offered"})``.

    The description is that of the golden files; the manifest may leave out what does not matter.
    """
    from dsh_mnemon_testing.fakes import STRATEGY_MANIFEST, fake_strategy

    def make(**spec: Any) -> StrategyDefinition:
        manifest = {**STRATEGY_MANIFEST, **spec.pop("manifest", {})}
        return fake_strategy({"manifest": manifest, "compose": {}, **spec})

    return make
