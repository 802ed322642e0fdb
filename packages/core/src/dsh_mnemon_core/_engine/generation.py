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
from dsh_mnemon_core._foreign import calling, contain, plain
from dsh_mnemon_core.errors import CompositionRejected, LifecycleError, MnemonError
from dsh_mnemon_core.identity import read_capability
from dsh_mnemon_core.scope import Capability
from dsh_mnemon_core.source import Disposes, SourceContext, SourceManifest, SourceRuntime
from dsh_mnemon_core.strategy import StrategyTurn
from dsh_mnemon_core.values import canonical, digest
from dsh_mnemon_core.view import Diagnostic
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

    @property
    def manifest(self) -> SourceManifest:
        """What it declares."""
        return self.record.definition.manifest


@attrs.define(eq=False)
class Ledger:
    """What one executing turn has used: calls by View and route, its policy by View."""

    calls: dict[tuple[str, str], int] = attrs.field(factory=dict[tuple[str, str], int])
    policies: dict[str, StrategyTurn] = attrs.field(factory=dict[str, StrategyTurn])


@attrs.define(eq=False)
class Generation:
    """One composed set of runtimes. All but ``open``, ``leases`` and the ledgers is fixed."""

    id: str
    snapshot: Snapshot
    options: GenerationOptions
    selection: Selection
    sources: tuple[LiveSource, ...]
    open: bool = True
    leases: int = 0
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
        chosen = (self.selection.strategy.instance_key, *self.selection.extension_keys)
        return {*chosen, *(item.instance_key for item in self.snapshot.sources)}

    def check_open(self) -> None:
        """Raise `LifecycleError` ``generation-disposed`` once closed."""
        if not self.open:
            raise LifecycleError("generation-disposed", "this generation has been disposed")


async def dispose_sources(sources: tuple[LiveSource, ...]) -> list[Exception]:
    """Dispose runtimes in reverse creation order, letting none keep another from it."""
    failures: list[Exception] = []
    for source in reversed(sources):
        try:
            if isinstance(source.runtime, Disposes):
                await source.runtime.dispose()
        except BaseException as error:
            failures.append(contain(error))
            failures[-1].add_note(f"while disposing {source.key}")
    return failures


class CandidateFailed(Exception):
    """Raised when a candidate cannot be built; carries what must be disposed."""

    def __init__(self, cause: MnemonError, created: tuple[LiveSource, ...]) -> None:
        super().__init__(cause.message)
        self.cause = cause
        self.created = created


def build_candidate(
    snapshot: Snapshot, options: GenerationOptions, serving: Generation | None = None
) -> Generation:
    """Build a candidate generation (§8 A-G); synchronous, since factories do no I/O.

    Args:
        snapshot: What is installed.
        options: How to compose.
        serving: What serves now; none of its Sources is ever left out.

    Raises:
        CandidateFailed: With the cause and the runtimes created so far.
    """
    created: list[LiveSource] = []
    left_out: list[Diagnostic] = []
    try:
        check_snapshot(snapshot)
        check_graph(snapshot)
        selection = select(snapshot, options)
        for record in snapshot.sources:
            try:
                created.append(_create(record, options))
            except MnemonError as error:
                key = record.instance_key
                if options.source_fallback == "reject" or (serving and serving.source(key)):
                    raise
                left_out.append(
                    Diagnostic(
                        code=error.code, message=error.message, contribution_instance_key=key
                    )
                )
        selection = attrs.evolve(selection, diagnostics=(*left_out, *selection.diagnostics))
        identity = digest(generation_input(snapshot, options, selection, created))
    except MnemonError as error:
        raise CandidateFailed(error, tuple(created)) from error
    return Generation(f"generation:{identity}", snapshot, options, selection, tuple(created))


def _create(record: InstalledSource, options: GenerationOptions) -> LiveSource:
    key = record.instance_key
    with calling(CompositionRejected, "source-factory-raised", f"creating {key} failed"):
        # Whatever can fail comes before the factory, so that no runtime is lost undisposed.
        permitted = options.source_capabilities(record)
        ceiling: tuple[Capability, ...] | None = (
            None if permitted is None else tuple(read_capability(name) for name in permitted)
        )
        context = SourceContext(
            source_instance_key=key,
            provenance=record.provenance,
            configuration=options.source_configuration(record),
            secrets=options.source_secrets(record),
        )
        secrets_digest = _secrets_digest(context.secrets)
        runtime = plain(record.definition.create(context))
        if not isinstance(runtime, SourceRuntime):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise CompositionRejected(
                "source-runtime-invalid", f"{key} made no runtime with facts and project"
            )
    return LiveSource(
        record=record,
        runtime=runtime,
        configuration=context.configuration,
        ceiling=ceiling,
        secrets_digest=secrets_digest,
    )


def _secrets_digest(values: Mapping[str, SecretStr]) -> str | None:
    if not values:
        return None
    revealed = canonical({name: value.get_secret_value() for name, value in values.items()})
    return hmac.new(_SECRET_KEY, revealed.encode(), sha256).hexdigest()


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
