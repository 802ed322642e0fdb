"""Provider children as private Fibers of the Source's own (spec/core.md §18, D27).

A child has one capability: to install one definition. One that cannot be imported, configured or
started is left out and says why; the others are not harmed.
"""

from __future__ import annotations

import hmac
import importlib
import inspect
import logging
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast

import anyio
import attrs
from dsh_mnemon_core.errors import ConfigurationError, DefinitionError, LifecycleError, MnemonError
from dsh_mnemon_core.sdk import (
    Context,
    Fiber,
    Plugin,
    configuration_digest,
    digest,
    identifier,
)
from pydantic import BaseModel, SecretBytes, SecretStr
from pydantic_core import to_jsonable_python

from dsh_mnemon_source_memory_spaces._backtrace import log_failure
from dsh_mnemon_source_memory_spaces.provider_sdk.definition import (
    ProviderDefinition,
    ProviderModule,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import ProviderManifest

__all__ = ("ChildEntry", "ChildState", "MountedChild", "MountedChildren", "mount_children")

_log = logging.getLogger(__name__)

ChildState: TypeAlias = Literal["ready", "absent", "failed"]
"""``absent``: its module is not installed; ``failed``: it was not loaded or started, or broke."""

_SECRET_KEY: Final = secrets.token_bytes(32)
_PATIENCE: Final = 10.0


@attrs.frozen(kw_only=True)
class ChildEntry:
    """One child as the configuration lists it.

    Attributes:
        use: Importable name of the module that exposes ``provider``; or that object itself.
        instance_id: Its id in this Source; the module's own id when absent.
        config: Configuration in the module's own spelling; may hold secrets.
    """

    use: str | ProviderModule
    instance_id: str | None = None
    config: Mapping[str, Any] = attrs.field(factory=dict[str, Any], repr=False)

    @property
    def name(self) -> str:
        """What the entry names, for people."""
        return self.use if isinstance(self.use, str) else self.use.id


class _Capability:
    """The host of one child: takes one definition while the child starts."""

    def __init__(self) -> None:
        self.definition: ProviderDefinition | None = None
        self._open = True

    def install(self, ctx: Context, definition: ProviderDefinition) -> None:
        """Keep the definition for as long as ``ctx`` lives."""
        if not self._open:
            raise LifecycleError(
                "provider-installed-twice", "a Provider installs one definition, while it starts"
            )
        ctx.defer(self._withdraw)
        self._open, self.definition = False, definition

    def _withdraw(self) -> None:
        self.definition = None

    def seal(self, module: ProviderModule) -> None:
        """Take nothing more, and judge what came."""
        self._open = False
        definition = cast("object", self.definition)
        if definition is None:
            raise DefinitionError("provider-missing", f"{module.id} installed no definition")
        if not isinstance(definition, ProviderDefinition) or not isinstance(
            cast("object", definition.manifest), ProviderManifest
        ):
            raise DefinitionError("provider-invalid", f"{module.id} installed no definition")
        if definition.manifest.type_id != module.id:
            raise DefinitionError(
                "provider-type-mismatch",
                f"module {module.id!r} installed a Provider of type "
                f"{definition.manifest.type_id!r}",
            )


@attrs.define(eq=False)
class MountedChild:
    """One child and what became of it.

    Attributes:
        instance_id: Its id in this Source; what the entry names while the module is unknown.
        key: ``<source instance>/provider:<instance id>``.
        use: What the entry names.
        config_digest: Digest of its validated configuration, secrets as HMAC under a random key
            of the process (D32).
        definition: What it installed.
    """

    entry: ChildEntry
    source_instance_id: str
    module: ProviderModule | None = None
    error: Exception | None = None
    config_digest: str | None = None
    definition: ProviderDefinition | None = None
    fiber: Fiber | None = None

    @property
    def instance_id(self) -> str:
        """See the class."""
        return self.entry.instance_id or (self.module.id if self.module else self.entry.name)

    @property
    def key(self) -> str:
        """See the class."""
        return f"{self.source_instance_id}/provider:{self.instance_id}"

    @property
    def use(self) -> str:
        """See the class."""
        return self.entry.name

    @property
    def manifest(self) -> ProviderManifest | None:
        """What it says of itself, once it has installed its definition."""
        return self.definition.manifest if self.definition else None

    @property
    def failure(self) -> Exception | None:
        """Why it does not run; a child may also break later."""
        if self.error is not None or self.fiber is None or self.fiber.state == "active":
            return self.error
        return self.fiber.error or LifecycleError("fiber-inactive", f"{self.use} has ended")


class MountedChildren:
    """Every child of one Source, in the order of the configuration.

    Attributes:
        source_instance_id: Entry id of the Source.
        children: All of them, those that do not run included.
        digest: Hex SHA-256 over the running ones as they started: keys, configuration and semantic
            manifests.
    """

    def __init__(self, source_instance_id: str, children: Sequence[MountedChild]) -> None:
        self.source_instance_id = source_instance_id
        self.children = tuple(children)
        running = [child for child in self.children if child.failure is None]
        self.digest = digest([_record(child) for child in sorted(running, key=lambda c: c.key)])

    def __iter__(self) -> Iterator[MountedChild]:
        return iter(self.children)

    def effective_digest(self, config: object) -> str:
        """Return what `install_memory` gets as ``effective_digest``.

        Args:
            config: The Source's own configuration, JSON without secrets.
        """
        return f"providers:{digest({'providers': self.digest, 'config': config})}"


def _record(child: MountedChild) -> dict[str, Any]:
    manifest = child.manifest
    return {
        "childKey": child.key,
        "instanceId": child.instance_id,
        "configDigest": child.config_digest,
        "manifest": manifest.semantic() if manifest else None,
    }


async def mount_children(
    ctx: Context,
    source_instance_id: str,
    entries: Sequence[ChildEntry],
    *,
    patience: float = _PATIENCE,
) -> MountedChildren:
    """Mount every listed Provider as a child of the Source's Fiber, one after the other.

    Args:
        ctx: The Source's Context; its end is the children's.
        source_instance_id: Entry id of the Source.
        entries: What the configuration lists, in order.
        patience: Seconds a child may take to start.

    Raises:
        ConfigurationError: ``providers-empty``, ``provider-duplicated``, or ``providers-failed``
            when no child is left, with ``{instanceId, code, message}`` of each in the details.
    """
    if not entries:
        raise ConfigurationError("providers-empty", "Memory Spaces needs at least one Provider")
    children = [await _loaded(entry, source_instance_id) for entry in entries]
    repeated = [
        name for name, count in Counter(c.instance_id for c in children).items() if count > 1
    ]
    if repeated:
        raise ConfigurationError(
            "provider-duplicated", f"two Providers have the instance id {repeated[0]!r}"
        )
    for child in children:
        await _start(ctx, child, patience)
    if all(child.failure is not None for child in children):
        raise ConfigurationError(
            "providers-failed",
            "no Provider could be started: "
            + "; ".join(f"{child.instance_id}: {explain(child.failure)[1]}" for child in children),
            details={"providers": [_problem(child) for child in children]},
        )
    return MountedChildren(source_instance_id, children)


def state_of(failure: Exception | None) -> ChildState:
    """Tell the state that a failure means."""
    if failure is None:
        return "ready"
    absent = isinstance(failure, MnemonError) and failure.code == "module-absent"
    return "absent" if absent else "failed"


def explain(failure: Exception | None) -> tuple[str | None, str | None]:
    """Return code and sentence of a failure, without the text of a foreign exception."""
    if failure is None:
        return None, None
    if isinstance(failure, MnemonError):
        return failure.code, failure.message
    return "provider-failed", f"{type(failure).__name__} at start; the log has more"


def _problem(child: MountedChild) -> dict[str, Any]:
    code, message = explain(child.failure)
    return {"instanceId": child.instance_id, "code": code, "message": message}


async def _loaded(entry: ChildEntry, source_instance_id: str) -> MountedChild:
    """Import the module of an entry; what goes wrong is kept with the child."""
    child = MountedChild(entry=entry, source_instance_id=source_instance_id)
    try:
        child.module = await _module(entry.use)
        identifier(child.instance_id, "instanceId", kind=ConfigurationError)
    except MnemonError as error:
        child.error = error
        # A package that is not installed is nobody's fault; the management plane names it.
        level = logging.INFO if error.code == "module-absent" else logging.WARNING
        _log.log(level, "Provider %s is left out: %s", entry.name, error.message)
    return child


async def _module(use: str | ProviderModule) -> ProviderModule:
    if isinstance(use, ProviderModule):
        return use
    try:
        loaded = await anyio.to_thread.run_sync(importlib.import_module, use)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{use}.".startswith(f"{missing}."):
            raise ConfigurationError("module-absent", f"{use} is not installed") from None
        log_failure(_log, "importing %s failed", use, error=error)
        lacks = f", there is no module {missing}" if missing else "; the log has more"
        raise ConfigurationError(
            "module-import-failed", f"importing {use} failed: {type(error).__name__}{lacks}"
        ) from None
    module = getattr(loaded, "provider", None)
    if not isinstance(module, ProviderModule):
        raise ConfigurationError("provider-missing", f"{use} exposes no provider")
    return module


async def _start(ctx: Context, child: MountedChild, patience: float) -> None:
    module = child.module
    if module is None or child.error is not None:
        return
    capability = _Capability()

    async def apply(own: Context, config: Any) -> None:
        outcome = module.apply(own, capability, config)
        if inspect.isawaitable(outcome):
            await outcome
        capability.seal(module)
        child.config_digest = configuration_digest(_plain(config))

    plugin = Plugin(name=child.key, apply=apply, config_model=module.config_model)
    try:
        with anyio.move_on_after(patience) as waiting:
            child.fiber = await ctx.mount(plugin, child.entry.config)
        if waiting.cancelled_caught:
            raise LifecycleError(
                "provider-start-timeout", f"{child.use} did not start within {patience:g} s"
            )
        child.definition = capability.definition
    except Exception as error:
        child.error = error
        log_failure(_log, "Provider %s is left out", child.key, error=error)


def _plain(config: BaseModel) -> Any:
    """Return a validated configuration as JSON, each secret as its HMAC."""
    return to_jsonable_python(_sealed(config.model_dump(by_alias=True)))


def _sealed(value: object) -> Any:
    if isinstance(value, (SecretStr, SecretBytes)):
        revealed = value.get_secret_value()
        data = revealed.encode() if isinstance(revealed, str) else revealed
        return hmac.new(_SECRET_KEY, data, "sha256").hexdigest()
    if isinstance(value, dict):
        return {key: _sealed(item) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_sealed(item) for item in cast("Sequence[object]", value)]
    return value
