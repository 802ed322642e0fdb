"""Core's own judgement of a proposal, without a generation that runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs
from dsh_mnemon_core._engine.activation import Selection
from dsh_mnemon_core._engine.facts import Known
from dsh_mnemon_core._engine.generation import Generation
from dsh_mnemon_core._engine.proposal import Proposal, propose
from dsh_mnemon_core._engine.registry import InstalledStrategy
from dsh_mnemon_core.identity import Provenance
from dsh_mnemon_core.runtime import GenerationOptions, Snapshot
from dsh_mnemon_core.scope import OperationScope, ViewRequest
from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_core.strategy import StrategyDefinition, ViewSpec
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_testing.fakes import fake_source
from dsh_mnemon_testing.running import start_source


def judge(
    strategy: StrategyDefinition,
    spec: ViewSpec,
    request: ViewRequest,
    sources: Sequence[AvailableSource],
) -> Proposal:
    """Validate a proposal as the engine does.

    Raises:
        ViewRejected: With the code the engine would reject the View with.
    """

    def compose(*_: object) -> ViewSpec:
        return spec

    installed = InstalledStrategy(
        instance_key="strategy:contract",
        definition=attrs.evolve(strategy, compose=compose),
        provenance=_provenance(strategy.manifest.package_name),
    )
    generation = Generation(
        id="generation:contract",
        snapshot=Snapshot(),
        options=GenerationOptions(),
        selection=Selection(strategy=installed, extensions=(), diagnostics=()),
        sources=(),
    )
    return propose(generation, request, [_known(source) for source in sources], ())


def _provenance(package_name: str) -> Provenance:
    return Provenance(package_name=package_name, entry_id="contract")


def _known(source: AvailableSource) -> Known:
    manifest = {
        "typeId": source.source_type_id,
        "packageName": "contract-source",
        "role": source.role,
        "capabilities": source.capabilities,
        "consistency": "exact-snapshot",
        "routes": to_wire(source.routes),
        "actions": to_wire(source.actions),
    }
    running = start_source(
        fake_source({"manifest": manifest}),
        key=source.source_instance_key,
        folder=Path(),
        scope=OperationScope(storage="custom"),
        configuration={},
        secrets={},
    )
    return Known(live=running.live, available=source, diagnostic=None)
