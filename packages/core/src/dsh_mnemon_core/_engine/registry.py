"""Who is installed: records, snapshots and the registry (spec/core.md §6.2, §6.3, §6.5)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import attrs

from dsh_mnemon_core.errors import LifecycleError, RegistrationError
from dsh_mnemon_core.identity import Kind, Provenance, read_instance_key
from dsh_mnemon_core.plugin import Contributions, MemoryPlugin
from dsh_mnemon_core.source import SourceDefinition
from dsh_mnemon_core.strategy import ANY, ExtensionDefinition, StrategyDefinition


@attrs.frozen(kw_only=True, eq=False)
class InstalledSource:
    """A Source in the registry; ``effective_digest`` covers its private dependencies."""

    instance_key: str
    definition: SourceDefinition
    provenance: Provenance
    effective_digest: str | None = None


@attrs.frozen(kw_only=True, eq=False)
class InstalledStrategy:
    """A Strategy in the registry."""

    instance_key: str
    definition: StrategyDefinition
    provenance: Provenance


@attrs.frozen(kw_only=True, eq=False)
class InstalledExtension:
    """A Strategy extension in the registry."""

    instance_key: str
    definition: ExtensionDefinition
    provenance: Provenance


@attrs.frozen(kw_only=True, eq=False)
class InstalledPlugin:
    """A plugin descriptor in the registry."""

    instance_key: str
    entry_id: str
    descriptor: MemoryPlugin


Contributor: TypeAlias = InstalledSource | InstalledStrategy | InstalledExtension


@attrs.frozen(kw_only=True)
class Snapshot:
    """Everything installed at one revision.

    Sources and Strategies stand in installation order, extensions and plugins by instance key.
    """

    revision: int = 0
    sources: tuple[InstalledSource, ...] = ()
    strategies: tuple[InstalledStrategy, ...] = ()
    extensions: tuple[InstalledExtension, ...] = ()
    plugins: tuple[InstalledPlugin, ...] = ()

    @property
    def contributors(self) -> tuple[Contributor, ...]:
        """Sources, Strategies and extensions together."""
        return (*self.sources, *self.strategies, *self.extensions)


Listener: TypeAlias = Callable[[Snapshot], None]


def records(
    entry_id: str,
    contributions: Contributions,
    *,
    artifact_digest: str | None = None,
    effective_digest: str | None = None,
) -> Snapshot:
    """Turn one batch into records with instance keys (§4.4), as a snapshot of revision 0."""

    def key(kind: Kind, definitions: Sequence[Any], type_id: str) -> str:
        suffix = f"/{type_id}" if len(definitions) > 1 else ""
        return read_instance_key(f"{kind}:{entry_id}{suffix}", kind)

    def origin(package: str) -> Provenance:
        return Provenance(package_name=package, entry_id=entry_id, artifact_digest=artifact_digest)

    sources = tuple(
        InstalledSource(
            instance_key=key("source", contributions.sources, item.manifest.type_id),
            definition=item,
            provenance=origin(item.manifest.package_name),
            effective_digest=effective_digest,
        )
        for item in contributions.sources
    )
    strategies = tuple(
        InstalledStrategy(
            instance_key=key("strategy", contributions.strategies, item.manifest.type_id),
            definition=item,
            provenance=origin(item.manifest.package_name),
        )
        for item in contributions.strategies
    )
    group = contributions.strategy_extensions
    extensions = tuple(
        InstalledExtension(
            instance_key=key("strategy-extension", group, item.manifest.type_id),
            definition=item,
            provenance=origin(item.manifest.package_name),
        )
        for item in group
    )
    plugins: tuple[InstalledPlugin, ...] = ()
    if contributions.plugin is not None:
        plugins = (
            InstalledPlugin(
                instance_key=f"plugin:{entry_id}",
                entry_id=entry_id,
                descriptor=contributions.plugin,
            ),
        )
    return Snapshot(sources=sources, strategies=strategies, extensions=extensions, plugins=plugins)


def merge(base: Snapshot, batch: Snapshot, revision: int) -> Snapshot:
    """Add a batch to a snapshot; extensions and plugins stay sorted by instance key."""
    return Snapshot(
        revision=revision,
        sources=(*base.sources, *batch.sources),
        strategies=(*base.strategies, *batch.strategies),
        extensions=tuple(sorted((*base.extensions, *batch.extensions), key=_by_key)),
        plugins=tuple(sorted((*base.plugins, *batch.plugins), key=_by_key)),
    )


def _by_key(record: Any) -> str:
    return str(record.instance_key)


def _without(base: Snapshot, batch: Snapshot, revision: int) -> Snapshot:
    """Remove the very records of a batch, leaving equal ones of others alone."""
    gone = {id(item) for item in (*batch.contributors, *batch.plugins)}
    return Snapshot(
        revision=revision,
        sources=tuple(item for item in base.sources if id(item) not in gone),
        strategies=tuple(item for item in base.strategies if id(item) not in gone),
        extensions=tuple(item for item in base.extensions if id(item) not in gone),
        plugins=tuple(item for item in base.plugins if id(item) not in gone),
    )


def check_snapshot(snapshot: Snapshot) -> None:
    """Check what only shows between records (§6.3); definitions cannot be wrong by themselves.

    Raises:
        RegistrationError: ``revision-invalid``, ``slot-conflict``, ``instance-key-duplicated``,
            ``plugin-descriptor-orphan``, ``plugin-package-mismatch`` or
            ``plugin-role-undeclared``.
    """
    if isinstance(snapshot.revision, bool) or snapshot.revision < 0:
        raise RegistrationError("revision-invalid", "the revision is a non-negative integer")
    _check_slots(snapshot.extensions)
    _check_distinct([item.instance_key for item in snapshot.contributors])
    _check_distinct([item.instance_key for item in snapshot.plugins])
    for plugin in snapshot.plugins:
        _check_plugin(plugin, snapshot)


def _check_distinct(keys: Sequence[str]) -> None:
    for index, key in enumerate(keys):
        if key in keys[:index]:
            raise RegistrationError("instance-key-duplicated", f"{key} is installed twice")


def _check_slots(extensions: Sequence[InstalledExtension]) -> None:
    for index, later in enumerate(extensions):
        for earlier in extensions[:index]:
            a, b = earlier.definition.manifest, later.definition.manifest
            targets = {a.strategy_type_id, b.strategy_type_id}
            if a.slot == b.slot and (len(targets) == 1 or ANY in targets):
                raise RegistrationError(
                    "slot-conflict",
                    f"{earlier.instance_key} and {later.instance_key} both fill slot {a.slot}",
                )


def _check_plugin(plugin: InstalledPlugin, snapshot: Snapshot) -> None:
    mine = [x for x in snapshot.contributors if x.provenance.entry_id == plugin.entry_id]
    if not mine:
        raise RegistrationError(
            "plugin-descriptor-orphan", f"{plugin.instance_key} describes no contribution"
        )
    for record in mine:
        kind = record.definition.manifest.kind
        if record.provenance.package_name != plugin.descriptor.package_name:
            raise RegistrationError(
                "plugin-package-mismatch",
                f"{record.instance_key} comes from {record.provenance.package_name}, "
                f"its descriptor from {plugin.descriptor.package_name}",
            )
        if kind not in plugin.descriptor.roles:
            raise RegistrationError(
                "plugin-role-undeclared", f"{record.instance_key} has undeclared role {kind}"
            )


class Registry:
    """The installed contributions and those who follow them."""

    def __init__(self) -> None:
        self._snapshot = Snapshot()
        self._listeners: list[Listener] = []
        self._depth = 0
        self._changed = False
        self._settled = self._snapshot
        self._closed = False

    @property
    def snapshot(self) -> Snapshot:
        """The latest snapshot."""
        return self._snapshot

    @property
    def settled(self) -> Snapshot:
        """The latest snapshot, or during a batch the one from before it."""
        return self._settled if self._depth else self._snapshot

    def install(self, batch: Snapshot) -> Callable[[], None]:
        """Install one batch of records (§6.2) and notify.

        Returns:
            An idempotent disposer that removes only these very records.

        Raises:
            RegistrationError: ``contribution-empty``, ``instance-already-installed`` or a code of
                `check_snapshot`; the registry is then untouched.
            LifecycleError: ``runtime-disposed``.
        """
        if self._closed:
            raise LifecycleError("runtime-disposed", "the memory runtime is closed")
        if not batch.contributors:
            raise RegistrationError(
                "contribution-empty", "a batch installs at least one Source, Strategy or extension"
            )
        present = {
            item.instance_key for item in (*self._snapshot.contributors, *self._snapshot.plugins)
        }
        for item in (*batch.contributors, *batch.plugins):
            if item.instance_key in present:
                raise RegistrationError(
                    "instance-already-installed", f"{item.instance_key} is already installed"
                )
        candidate = merge(self._snapshot, batch, self._snapshot.revision + 1)
        check_snapshot(candidate)
        self._publish(candidate)

        def dispose() -> None:
            remaining = _without(self._snapshot, batch, self._snapshot.revision + 1)
            if len(remaining.contributors) < len(self._snapshot.contributors):
                self._publish(remaining)

        return dispose

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with every new snapshot; return an idempotent unsubscriber."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    @contextmanager
    def batch(self) -> Generator[None]:
        """Hold notifications back until the outermost batch ends, also when it fails (§6.5)."""
        if self._depth == 0:
            self._settled = self._snapshot
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0 and self._changed:
                self._notify()

    def close(self) -> None:
        """Refuse further installations."""
        self._closed = True

    def _publish(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._changed = True
        if self._depth == 0:
            self._notify()

    def _notify(self) -> None:
        # Listeners are generation hosts: `reconcile` reports a failure, it does not raise one.
        self._changed = False
        for listener in tuple(self._listeners):
            listener(self._snapshot)
