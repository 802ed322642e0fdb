"""Core's own judgement of a proposal, without a generation that runs."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from dsh_mnemon_core._engine.activation import Selection
from dsh_mnemon_core._engine.facts import Known
from dsh_mnemon_core._engine.generation import Generation, LiveSource
from dsh_mnemon_core._engine.proposal import Proposal, propose
from dsh_mnemon_core._engine.registry import InstalledStrategy
from dsh_mnemon_core.identity import Provenance
from dsh_mnemon_core.runtime import GenerationOptions, InstalledSource, Snapshot
from dsh_mnemon_core.scope import ViewRequest
from dsh_mnemon_core.source import (
    AvailableSource,
    SourceContext,
    SourceDefinition,
    SourceManifest,
    SourceRuntime,
)
from dsh_mnemon_core.strategy import StrategyDefinition, ViewSpec


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
    installed = InstalledStrategy(
        instance_key="strategy:contract",
        definition=attrs.evolve(strategy, compose=lambda *_: spec),
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
    manifest = SourceManifest(
        type_id=source.source_type_id,
        package_name="contract-source",
        role=source.role,
        capabilities=source.capabilities,
        consistency="exact-snapshot",
        routes=source.routes,
        actions=source.actions,
    )
    record = InstalledSource(
        instance_key=source.source_instance_key,
        definition=SourceDefinition(manifest=manifest, create=_never),
        provenance=_provenance("contract-source"),
    )
    live = LiveSource(
        record=record, runtime=_Silent(), configuration={}, ceiling=None, secrets_digest=None
    )
    return Known(live=live, available=source, diagnostic=None)
