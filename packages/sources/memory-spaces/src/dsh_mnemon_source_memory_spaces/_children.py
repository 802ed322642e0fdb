"""The Provider children of one generation: their adapters, made when first used (core.md §18).

`_mounting` starts the children with the Source's Fiber; a generation then works with them through
the adapters their factories make for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import anyio
from dsh_mnemon_core.errors import DefinitionError, InputError, LifecycleError

from dsh_mnemon_source_memory_spaces._backtrace import log_failure
from dsh_mnemon_source_memory_spaces._mounting import (
    ChildEntry,
    ChildState,
    MountedChild,
    MountedChildren,
    explain,
    mount_children,
    state_of,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.adapter import NativeAdapter, ProviderAdapter
from dsh_mnemon_source_memory_spaces.provider_sdk.definition import (
    MemorySpaceAuthority,
    NativeSettings,
    ProviderConfig,
    ProviderContext,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import ProviderManifest

__all__ = (
    "Child",
    "ChildEntry",
    "ChildState",
    "Children",
    "MountedChild",
    "MountedChildren",
    "check_adapter",
    "mount_children",
)

_log = logging.getLogger(__name__)

_METHODS: Final = {
    "search": "search",
    "browse": "list",
    "graph": "graph",
    "related": "related",
    "remember": "remember",
    "link": "link",
    "forget": "forget",
}
"""Flags and the methods they promise; ``entities`` may be answered by ``status`` alone."""

_PATIENCE: Final = 10.0
"""Seconds an adapter may take to close."""


class Child:
    """One Provider child in one generation; what it does not have raises by name.

    Attributes:
        instance_id: Its id in this Source, under which everything of it is shown.
        key: ``<source instance>/provider:<instance id>``.
        use: What the configuration names.
        config_digest: Digest of its configuration; ``None`` when it never started.
    """

    def __init__(self, mounted: MountedChild, create: Callable[[], ProviderAdapter]) -> None:
        self.instance_id = mounted.instance_id
        self.key = mounted.key
        self.use = mounted.use
        self.config_digest = mounted.config_digest
        self._mounted = mounted
        self._create = create
        self._adapter: ProviderAdapter | None = None
        self._error: Exception | None = None

    @property
    def state(self) -> ChildState:
        """Whether it can be used; asking makes its adapter."""
        return state_of(self._failure())

    @property
    def code(self) -> str | None:
        """Stable code of why it cannot be used."""
        return explain(self._failure())[0]

    @property
    def reason(self) -> str | None:
        """One sentence on why it cannot be used; no text of a foreign exception."""
        return explain(self._failure())[1]

    @property
    def manifest(self) -> ProviderManifest:
        """What the Provider says of itself.

        Raises:
            LifecycleError: ``provider-not-ready``; the child is absent or failed at start.
        """
        if self._mounted.manifest is None:
            raise LifecycleError("provider-not-ready", f"Provider {self.instance_id!r} is not here")
        return self._mounted.manifest

    @property
    def adapter(self) -> ProviderAdapter:
        """Its operations.

        Raises:
            LifecycleError: ``provider-not-ready``; ``reason`` says why.
        """
        failure = self._failure()
        if self._adapter is None or failure is not None:
            raise LifecycleError(
                "provider-not-ready",
                f"Provider {self.instance_id!r} cannot be used: {explain(failure)[1]}",
            )
        return self._adapter

    def _failure(self) -> Exception | None:
        failure = self._mounted.failure or self._error
        if failure is None and self._adapter is None:
            try:
                self._adapter = self._create()
            except Exception as error:
                self._error = failure = error
                log_failure(_log, "Provider %s has no adapter", self.key, error=error)
        return failure


class Children:
    """The Provider children of one generation, in the order of the configuration.

    Args:
        mounted: The children as `mount_children` started them.
        authority: Returns what a child may ask about Spaces.
        config: What every Provider keeps to.
        native: What a Provider of origin ``native`` gets besides, and no other (D46).
    """

    def __init__(
        self,
        mounted: MountedChildren,
        *,
        authority: Callable[[MountedChild], MemorySpaceAuthority],
        config: ProviderConfig,
        native: NativeSettings | None = None,
    ) -> None:
        self.digest = mounted.digest
        self._authority, self._config, self._native = authority, config, native
        self._made: list[tuple[str, ProviderAdapter]] = []
        self._closed = False
        self._children = {
            item.instance_id: Child(item, partial(self._adapter, item)) for item in mounted
        }

    def __iter__(self) -> Iterator[Child]:
        return iter(self._children.values())

    @property
    def ready(self) -> tuple[Child, ...]:
        """Those that can be used."""
        return tuple(child for child in self if child.state == "ready")

    @property
    def native(self) -> Child | None:
        """The first usable child of origin ``native``."""
        return next((child for child in self.ready if child.manifest.origin == "native"), None)

    async def native_ready(self) -> bool:
        """Tell whether the engine of the native Provider can work; one that fails cannot."""
        child = self.native
        adapter = child.adapter if child else None
        if not isinstance(adapter, NativeAdapter):
            return False
        try:
            # In a thread: it may look at folders, or for a program.
            return await anyio.to_thread.run_sync(adapter.ready) is True
        except Exception as error:
            log_failure(_log, "a native engine cannot say whether it is ready", error=error)
            return False

    def find(self, instance_id: str) -> Child | None:
        """Return a usable child, or ``None``."""
        child = self._children.get(instance_id)
        return child if child is not None and child.state == "ready" else None

    def get(self, instance_id: str) -> Child:
        """Return a usable child.

        Raises:
            InputError: ``provider-unknown``; nobody is mounted under that id.
            LifecycleError: ``provider-not-ready``.
        """
        child = self._children.get(instance_id)
        if child is None:
            raise InputError("provider-unknown", f"no Provider is mounted as {instance_id!r}")
        _ = child.adapter
        return child

    def _adapter(self, mounted: MountedChild) -> ProviderAdapter:
        definition = mounted.definition
        if self._closed or definition is None:
            raise LifecycleError("provider-not-ready", f"{mounted.key} is closed")
        native = self._native if definition.manifest.origin == "native" else None
        adapter = definition.create(
            ProviderContext(
                instance_id=mounted.instance_id,
                manifest=definition.manifest,
                memory_spaces=self._authority(mounted),
                config=self._config,
                native=native,
            )
        )
        check_adapter(definition.manifest, adapter)
        self._made.append((mounted.key, adapter))
        return adapter

    async def aclose(self) -> None:
        """Close every adapter that was made, last first; a second call does nothing.

        Raises:
            ExceptionGroup: What could not be closed; the others are closed.
        """
        self._closed = True
        failures: list[Exception] = []
        while self._made:
            key, adapter = self._made.pop()
            try:
                with anyio.move_on_after(_PATIENCE, shield=True) as waiting:
                    await adapter.aclose()
                if waiting.cancelled_caught:
                    raise LifecycleError(
                        "provider-close-timeout", f"{key} did not close within {_PATIENCE:g} s"
                    )
            except Exception as error:
                failures.append(error)
        if failures:
            raise ExceptionGroup("not every Provider was closed cleanly", failures)


def check_adapter(manifest: ProviderManifest, adapter: object) -> None:
    """Refuse an adapter that does not keep what its manifest declares (spec/core.md §18).

    Raises:
        DefinitionError: ``adapter-invalid``, ``adapter-id-mismatch``, ``adapter-method-missing`` or
            ``adapter-scores-undeclared``.
    """
    wanted = NativeAdapter if manifest.origin == "native" else ProviderAdapter
    if not isinstance(adapter, wanted):
        raise DefinitionError("adapter-invalid", f"{manifest.type_id} made no {wanted.__name__}")
    if getattr(adapter, "id", None) != manifest.type_id:
        raise DefinitionError("adapter-id-mismatch", f"the adapter is not {manifest.type_id!r}")
    for flag, method in _METHODS.items():
        own = getattr(getattr(adapter, method), "__func__", None)
        if getattr(manifest.capabilities, flag) and own is getattr(ProviderAdapter, method):
            raise DefinitionError(
                "adapter-method-missing", f"{manifest.type_id} declares {flag} without {method}()"
            )
    promised = manifest.score_semantics == "normalized-relevance"
    if promised and adapter.score_semantics != "normalized-relevance":
        raise DefinitionError(
            "adapter-scores-undeclared", f"the adapter of {manifest.type_id} promises no scores"
        )
