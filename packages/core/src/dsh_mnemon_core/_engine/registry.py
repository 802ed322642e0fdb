"""Who is installed: records, snapshots and the registry (spec/core.md §6.2, §6.3, §6.5)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, Generic, TypeAlias, TypeVar

import attrs

from dsh_mnemon_core.checks import defaulted, distinct, one_of, optional_text, same
from dsh_mnemon_core.errors import LifecycleError, RegistrationError
from dsh_mnemon_core.identity import Kind, Provenance, read_instance_key
from dsh_mnemon_core.plugin import Contributions, MemoryPlugin
from dsh_mnemon_core.source import SourceDefinition
from dsh_mnemon_core.strategy import ANY, ExtensionDefinition, StrategyDefinition

D = TypeVar("D", SourceDefinition, StrategyDefinition, ExtensionDefinition)

_log = logging.getLogger(__name__)
_by_key = attrgetter("instance_key")


@attrs.frozen(kw_only=True, eq=False)
class Installed(Generic[D]):
    """A contribution in the registry: its instance key, what it is and where it came from."""

    instance_key: str
    definition: D
    provenance: Provenance


@attrs.frozen(kw_only=True, eq=False)
class InstalledSource(Installed[SourceDefinition]):
    """A Source in the registry; ``effective_digest`` covers its private dependencies."""

    effective_digest: str | None = defaulted(
        optional_text, "effectiveDigest", 500, kind=RegistrationError
    )


InstalledStrategy: TypeAlias = Installed[StrategyDefinition]
InstalledExtension: TypeAlias = Installed[ExtensionDefinition]


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


Listener: TypeAlias = Callable[[Snapshot], object]


def records(
    entry_id: str,
    contributions: Contributions,
    *,
    artifact_digest: str | None = None,
    effective_digest: str | None = None,
) -> Snapshot:
    """Turn one batch into records with instance keys (§4.4), as a snapshot of revision 0."""

    def identify(kind: Kind, definitions: Sequence[Any]) -> Iterator[dict[str, Any]]:
        for item in definitions:
            suffix = f"/{item.manifest.type_id}" if len(definitions) > 1 else ""
            yield {
                "instance_key": read_instance_key(f"{kind}:{entry_id}{suffix}", kind),
                "definition": item,
                "provenance": Provenance(
                    package_name=item.manifest.package_name,
                    entry_id=entry_id,
                    artifact_digest=artifact_digest,
                ),
            }

    described = [contributions.plugin] if contributions.plugin else []
    return Snapshot(
        sources=tuple(
            InstalledSource(**identity, effective_digest=effective_digest)
            for identity in identify("source", contributions.sources)
        ),
        strategies=tuple(
            InstalledStrategy(**identity)
            for identity in identify("strategy", contributions.strategies)
        ),
        extensions=tuple(
            InstalledExtension(**identity)
            for identity in identify("strategy-extension", contributions.strategy_extensions)
        ),
        plugins=tuple(
            InstalledPlugin(instance_key=f"plugin:{entry_id}", entry_id=entry_id, descriptor=plugin)
            for plugin in described
        ),
    )


def merge(base: Snapshot, batch: Snapshot, revision: int) -> Snapshot:
    """Add a batch to a snapshot; extensions and plugins stay sorted by instance key."""
    return Snapshot(
        revision=revision,
        sources=(*base.sources, *batch.sources),
        strategies=(*base.strategies, *batch.strategies),
        extensions=tuple(sorted((*base.extensions, *batch.extensions), key=_by_key)),
        plugins=tuple(sorted((*base.plugins, *batch.plugins), key=_by_key)),
    )


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
        RegistrationError: ``revision-invalid``, ``instance-key-format``, ``provenance-mismatch``,
            ``slot-conflict``, ``instance-key-duplicated``, ``plugin-descriptor-orphan``,
            ``plugin-package-mismatch`` or ``plugin-role-undeclared``.
    """
    if type(snapshot.revision) is not int or snapshot.revision < 0:
        raise RegistrationError("revision-invalid", "the revision is a non-negative integer")
    for record in snapshot.contributors:
        manifest = record.definition.manifest
        read_instance_key(record.instance_key, manifest.kind)
        same(
            record.provenance.package_name,
            manifest.package_name,
            f"packageName of {record.instance_key}",
            "provenance-mismatch",
            kind=RegistrationError,
        )
    _check_slots(snapshot.extensions)
    for keyed in (snapshot.contributors, snapshot.plugins):
        keys = [item.instance_key for item in keyed]
        distinct(keys, "the registry", kind=RegistrationError, code="instance-key-duplicated")
    for plugin in snapshot.plugins:
        _check_plugin(plugin, snapshot)


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
        same(
            record.provenance.package_name,
            plugin.descriptor.package_name,
            f"packageName of {record.instance_key}",
            "plugin-package-mismatch",
            kind=RegistrationError,
        )
        one_of(
            record.definition.manifest.kind,
            plugin.descriptor.roles,
            f"role of {record.instance_key}",
            "plugin-role-undeclared",
            kind=RegistrationError,
        )


class Registry:
    """The installed contributions and those who follow them.

    Attributes:
        snapshot: The latest snapshot.
        closed: Whether nothing more may be installed or follow.
    """

    def __init__(self) -> None:
        self.snapshot = Snapshot()
        self.closed = False
        self._listeners: list[Listener] = []
        self._depth = 0
        self._settled = self.snapshot

    @property
    def settled(self) -> Snapshot:
        """The latest snapshot, or during a batch the one from before it."""
        return self._settled if self._depth else self.snapshot

    def install(self, batch: Snapshot) -> Callable[[], None]:
        """Install one batch of records (§6.2) and notify.

        Returns:
            An idempotent disposer that removes only these very records.

        Raises:
            RegistrationError: ``contribution-empty``, ``instance-already-installed`` or a code of
                `check_snapshot`; the registry is then untouched.
            LifecycleError: ``runtime-disposed``.
        """
        self.check_open()
        if not batch.contributors:
            raise RegistrationError(
                "contribution-empty", "a batch installs at least one Source, Strategy or extension"
            )
        present = {
            item.instance_key for item in (*self.snapshot.contributors, *self.snapshot.plugins)
        }
        for item in (*batch.contributors, *batch.plugins):
            if item.instance_key in present:
                raise RegistrationError(
                    "instance-already-installed", f"{item.instance_key} is already installed"
                )
        candidate = merge(self.snapshot, batch, self.snapshot.revision + 1)
        check_snapshot(candidate)
        self._publish(candidate)

        def dispose() -> None:
            remaining = _without(self.snapshot, batch, self.snapshot.revision + 1)
            if len(remaining.contributors) < len(self.snapshot.contributors):
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
        """Hold notifications back; one follows the outermost batch, also when it fails (§6.5)."""
        if self._depth == 0:
            self._settled = self.snapshot
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            self._notify()

    def check_open(self) -> None:
        """Raise `LifecycleError` ``runtime-disposed`` once closed."""
        if self.closed:
            raise LifecycleError("runtime-disposed", "the memory runtime is closed")

    def _publish(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._notify()

    def _notify(self) -> None:
        if self._depth:
            return
        for listener in tuple(self._listeners):
            try:
                listener(self.snapshot)
            except Exception:
                # What was committed stays, and its disposer must reach the caller (§6.2).
                _log.exception("a follower of the registry failed")
