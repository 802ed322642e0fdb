"""What a candidate consists of, decided before any factory runs (spec/core.md §6.4, §8 B-D)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import attrs
from pydantic import SecretStr

from dsh_mnemon_core._engine.registry import (
    InstalledExtension,
    InstalledSource,
    InstalledStrategy,
    Snapshot,
)
from dsh_mnemon_core.checks import defaulted, integer
from dsh_mnemon_core.errors import CompositionRejected
from dsh_mnemon_core.instant import utc_now
from dsh_mnemon_core.strategy import ANY
from dsh_mnemon_core.view import Diagnostic


def _nothing(_source: InstalledSource) -> Mapping[str, Any]:
    return {}


def _no_ceiling(_source: InstalledSource) -> Sequence[str] | None:
    return None


@attrs.frozen(kw_only=True)
class GenerationOptions:
    """How one generation host composes (spec/core.md §7, §8).

    Attributes:
        strategy_instance_key: Exact main Strategy, if chosen by key.
        strategy_type_id: Main Strategy by type, if chosen by type.
        strategy_fallback: ``sole-strategy`` takes the only one when the chosen type is missing.
        source_fallback: ``leave-out`` composes without a Source that cannot be created, and says
            so in a diagnostic; one that serves already is never left out.
        source_timeout_ms: Deadline of one facts or project call, 1..300 000 ms.
        source_configuration: Host configuration of an instance, JSON.
        source_capabilities: Host capability ceiling of an instance; ``None`` for none.
        source_secrets: Secrets of an instance (D32).
        now: Clock in UTC.
    """

    strategy_instance_key: str | None = None
    strategy_type_id: str | None = None
    strategy_fallback: Literal["reject", "sole-strategy"] = "reject"
    source_fallback: Literal["reject", "leave-out"] = "reject"
    source_timeout_ms: int = defaulted(integer, "sourceTimeoutMs", 1, 300_000, default=10_000)
    source_configuration: Callable[[InstalledSource], Mapping[str, Any]] = _nothing
    source_capabilities: Callable[[InstalledSource], Sequence[str] | None] = _no_ceiling
    source_secrets: Callable[[InstalledSource], Mapping[str, SecretStr]] = _nothing
    now: Callable[[], datetime] = utc_now


@attrs.frozen(kw_only=True)
class Selection:
    """The chosen Strategy, its active extensions by key, and what there is to say about it."""

    strategy: InstalledStrategy
    extensions: tuple[InstalledExtension, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def extension_keys(self) -> tuple[str, ...]:
        """Instance keys of the active extensions."""
        return tuple(item.instance_key for item in self.extensions)


def check_graph(snapshot: Snapshot) -> None:
    """Check the edges between plugins.

    Raises:
        CompositionRejected: ``capability-conflict`` or ``dependency-unavailable``.
    """
    provided = {"source", "strategy"}
    provided |= {f"source.{item.definition.manifest.role}" for item in snapshot.sources}
    holders: dict[str, list[bool]] = {}
    for plugin in snapshot.plugins:
        for edge in plugin.descriptor.provides:
            holders.setdefault(edge.id, []).append(edge.exclusive is True)
    for name, exclusive in holders.items():
        if len(exclusive) > 1 and any(exclusive):
            raise CompositionRejected(
                "capability-conflict", f"{name} is provided twice and must be exclusive"
            )
    for plugin in snapshot.plugins:
        for name in plugin.descriptor.requires or ():
            if name not in provided and name not in holders:
                raise CompositionRejected(
                    "dependency-unavailable", f"{plugin.instance_key} requires {name}"
                )


def select(snapshot: Snapshot, options: GenerationOptions) -> Selection:
    """Choose the main Strategy and its active extensions (§8 C, D)."""
    strategy, fallback = _strategy(snapshot, options)
    active, idle = _extensions(snapshot, strategy)
    return Selection(strategy=strategy, extensions=active, diagnostics=(*fallback, *idle))


def _strategy(
    snapshot: Snapshot, options: GenerationOptions
) -> tuple[InstalledStrategy, tuple[Diagnostic, ...]]:
    installed, key, type_id = (
        snapshot.strategies,
        options.strategy_instance_key,
        options.strategy_type_id,
    )
    if key is not None:
        for item in installed:
            if item.instance_key == key:
                return item, ()
        raise CompositionRejected("strategy-instance-unavailable", f"{key} is not installed")
    if type_id is None:
        if len(installed) == 1:
            return installed[0], ()
        raise CompositionRejected(
            "strategy-selection-required", "several main Strategies are installed; choose one"
        )
    fitting = [item for item in installed if item.definition.manifest.type_id == type_id]
    if len(fitting) == 1:
        return fitting[0], ()
    if fitting:
        raise CompositionRejected(
            "strategy-type-ambiguous", f"Strategy type {type_id} is installed more than once"
        )
    if options.strategy_fallback == "sole-strategy" and len(installed) == 1:
        note = Diagnostic(
            code="strategy-fallback",
            message=f"Strategy type {type_id} is not installed; the only installed one serves.",
            contribution_instance_key=installed[0].instance_key,
        )
        return installed[0], (note,)
    raise CompositionRejected(
        "strategy-type-unavailable", f"Strategy type {type_id} is not installed"
    )


def _extensions(
    snapshot: Snapshot, strategy: InstalledStrategy
) -> tuple[tuple[InstalledExtension, ...], tuple[Diagnostic, ...]]:
    manifest = strategy.definition.manifest
    slots = manifest.extension_slots or ()
    active: list[InstalledExtension] = []
    idle: list[Diagnostic] = []
    for item in snapshot.extensions:
        target, slot = item.definition.manifest.strategy_type_id, item.definition.manifest.slot
        if target == manifest.type_id and slot not in slots:
            raise CompositionRejected(
                "extension-slot-unsupported",
                f"{item.instance_key} fills slot {slot}, which {manifest.type_id} does not have",
            )
        if target in (manifest.type_id, ANY) and slot in slots:
            active.append(item)
        else:
            idle.append(
                Diagnostic(
                    code="strategy-extension-inactive",
                    message="Installed, but not for the serving Strategy.",
                    contribution_instance_key=item.instance_key,
                )
            )
    return tuple(active), tuple(idle)
