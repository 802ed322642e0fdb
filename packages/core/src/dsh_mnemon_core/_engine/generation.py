"""One generation: its Sources, its ledgers, and how a candidate is built (core.md §8 A-G)."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from weakref import WeakKeyDictionary

import attrs
from pydantic import SecretStr

from dsh_mnemon_core._engine.activation import GenerationOptions, Selection, check_graph, select
from dsh_mnemon_core._engine.registry import InstalledSource, Snapshot, check_snapshot
from dsh_mnemon_core.errors import CompositionRejected, LifecycleError, MnemonError
from dsh_mnemon_core.identity import read_capability
from dsh_mnemon_core.scope import Capability
from dsh_mnemon_core.source import Disposes, SourceContext, SourceRuntime
from dsh_mnemon_core.strategy import StrategyTurn
from dsh_mnemon_core.values import digest, json_clone
from dsh_mnemon_core.wire import to_wire

_SECRET_KEY = secrets.token_bytes(32)
"""Keys the digests of secrets; random, so that no digest says anything outside this process."""


@attrs.frozen(kw_only=True, eq=False)
class LiveSource:
    """A running Source of one generation, its Host configuration and capability ceiling."""

    record: InstalledSource
    runtime: SourceRuntime
    configuration: Mapping[str, Any]
    ceiling: tuple[Capability, ...] | None
    secrets_digest: str | None

    @property
    def key(self) -> str:
        """The instance key."""
        return self.record.instance_key


@attrs.define(eq=False)
class Ledger:
    """What one executing turn has used: calls by View and route, its policy by View."""

    calls: dict[tuple[str, str], int] = attrs.field(factory=dict[tuple[str, str], int])
    policies: dict[str, StrategyTurn] = attrs.field(factory=dict[str, StrategyTurn])


@attrs.define(eq=False)
class Generation:
    """One composed set of runtimes. Everything but ``open`` and the ledgers is fixed."""

    id: str
    snapshot: Snapshot
    options: GenerationOptions
    selection: Selection
    sources: tuple[LiveSource, ...]
    open: bool = True
    ledgers: WeakKeyDictionary[object, Ledger] = attrs.field(
        factory=WeakKeyDictionary[object, Ledger]
    )

    def source(self, key: str) -> LiveSource | None:
        """Return the Source with this instance key, if it is part of this generation."""
        return next((item for item in self.sources if item.key == key), None)

    def ledger(self, execution: object) -> Ledger:
        """Return the ledger of one executing turn; gone when the turn object is."""
        return self.ledgers.setdefault(execution, Ledger())

    def used_keys(self) -> set[str]:
        """Return the keys whose removal retires this generation: Sources, Strategy, extensions."""
        selected = {item.instance_key for item in self.selection.extensions}
        return {
            *(item.instance_key for item in self.snapshot.sources),
            self.selection.strategy.instance_key,
            *selected,
        }

    def check_open(self) -> None:
        """Raise `LifecycleError` ``generation-disposed`` once closed."""
        if not self.open:
            raise LifecycleError("generation-disposed", "this generation has been disposed")

    async def dispose(self) -> None:
        """Dispose the Source runtimes in reverse creation order; raise all failures as a group."""
        self.open = False
        await dispose_sources(self.sources)


async def dispose_sources(sources: tuple[LiveSource, ...]) -> None:
    """Dispose runtimes in reverse order, letting none keep another from it."""
    failures: list[Exception] = []
    for source in reversed(sources):
        if isinstance(source.runtime, Disposes):
            try:
                await source.runtime.dispose()
            except Exception as error:
                error.add_note(f"while disposing {source.key}")
                failures.append(error)
    if failures:
        raise ExceptionGroup("disposing Source runtimes failed", failures)


class CandidateFailed(Exception):
    """Raised when a candidate cannot be built; carries what must be disposed."""

    def __init__(self, cause: MnemonError, created: tuple[LiveSource, ...]) -> None:
        super().__init__(cause.message)
        self.cause = cause
        self.created = created


def build_candidate(snapshot: Snapshot, options: GenerationOptions) -> Generation:
    """Build a candidate generation (§8 A-G); synchronous, since factories do no I/O.

    Raises:
        CandidateFailed: With the cause and the runtimes created so far.
    """
    created: list[LiveSource] = []
    try:
        check_snapshot(snapshot)
        check_graph(snapshot)
        selection = select(snapshot, options)
        for record in snapshot.sources:
            created.append(_create(record, options))  # noqa: PERF401 - kept when a later one fails
        identity = digest(generation_input(snapshot, options, selection, created))
    except MnemonError as error:
        raise CandidateFailed(error, tuple(created)) from error
    return Generation(f"generation:{identity}", snapshot, options, selection, tuple(created))


def _create(record: InstalledSource, options: GenerationOptions) -> LiveSource:
    configuration = json_clone(options.source_configuration(record), "Source configuration")
    permitted = options.source_capabilities(record)
    source_secrets = options.source_secrets(record)
    context = SourceContext(
        source_instance_key=record.instance_key,
        provenance=record.provenance,
        configuration=configuration,
        secrets=source_secrets,
    )
    try:
        runtime = record.definition.create(context)
    except MnemonError:
        raise
    except Exception as error:
        raise CompositionRejected(
            "source-factory-raised", f"the factory of {record.instance_key} raised"
        ) from error
    if not isinstance(runtime, SourceRuntime):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CompositionRejected(
            "source-runtime-invalid", f"{record.instance_key} made no runtime with facts, project"
        )
    return LiveSource(
        record=record,
        runtime=runtime,
        configuration=configuration,
        ceiling=None if permitted is None else tuple(read_capability(c) for c in permitted),
        secrets_digest=_secrets_digest(source_secrets),
    )


def _secrets_digest(values: Mapping[str, SecretStr]) -> str | None:
    if not values:
        return None
    plain = digest({name: value.get_secret_value() for name, value in values.items()})
    return hmac.new(_SECRET_KEY, plain.encode(), sha256).hexdigest()


def generation_input(
    snapshot: Snapshot,
    options: GenerationOptions,
    selection: Selection,
    sources: list[LiveSource],
) -> dict[str, Any]:
    """Return the JSON whose digest names the generation (§8 F)."""

    def identity(record: Any) -> dict[str, Any]:
        return {
            "instanceKey": record.instance_key,
            "manifest": to_wire(record.definition.manifest),
            "provenance": to_wire(record.provenance),
        }

    value: dict[str, Any] = {
        "contributionRevision": snapshot.revision,
        "sourceTimeoutMs": options.source_timeout_ms,
        "strategy": identity(selection.strategy),
        "sources": [
            {
                **identity(source.record),
                "effectiveDigest": source.record.effective_digest,
                "configuration": source.configuration,
                "permissions": source.ceiling,
                **({"secrets": source.secrets_digest} if source.secrets_digest else {}),
            }
            for source in sources
        ],
    }
    if selection.extensions:
        value["strategyExtensions"] = [identity(item) for item in selection.extensions]
    return value
