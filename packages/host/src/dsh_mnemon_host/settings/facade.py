"""Settings kept in a YAML file that people edit too (host.md §2.6, D33, D60)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
import attrs
from anyio import to_thread
from dsh_mnemon_core.errors import (
    ConfigurationError,
    ConflictError,
    InputError,
    LifecycleError,
    StorageError,
)
from dsh_mnemon_core.values import FrozenDict, JsonObject, json_equal
from pydantic import BaseModel

from dsh_mnemon_host.config import UnknownKey
from dsh_mnemon_host.settings._editions import (
    Edition,
    History,
    Namespace,
    read_namespace,
    with_layer,
)
from dsh_mnemon_host.settings._listeners import Listeners
from dsh_mnemon_host.settings.file import FileMoved, SettingsFile, Stored
from dsh_mnemon_host.settings.legacy import canonicalize_display_mode
from dsh_mnemon_host.settings.operations import Operation, OperationLike, apply, read_operations
from dsh_mnemon_host.settings.service import (
    NAMESPACES,
    Admission,
    Listener,
    NamespaceDescription,
    conflict,
)

__all__ = ("FileSettings",)

M = TypeVar("M", bound=BaseModel)

_log = logging.getLogger(__name__)

_RETRIES: Final = 2


class FileSettings:
    """A `SettingsService` over one settings file; made by `open`.

    Other processes and people with an editor may change the file too: an edit applies to what it
    says at that moment, and is refused only where a place is no longer what its author saw.

    Attributes:
        problem: Why the file's latest content is not in force; ``None`` when it is.
    """

    def __init__(self, file: SettingsFile) -> None:
        self.problem: Exception | None = None
        self._file = file
        self._gate = anyio.Lock()
        self._edition = Edition(Stored(), FrozenDict())
        self._looked_at: Stored | None = Stored()
        self._history = History()
        self._base: JsonObject = {}
        self._spaces: dict[str, Namespace] = {}
        self._listeners = Listeners()
        self._closed = False

    @classmethod
    async def open(cls, path: Path, *, read_only: bool = False) -> FileSettings:
        """Read a settings file, which need not exist.

        Raises:
            ConfigurationError: ``settings-malformed``, with line and column.
            StorageError: ``store-unreadable``.
        """
        settings = cls(SettingsFile(path, read_only=read_only))
        settings._serve(await settings._observe())
        return settings

    @property
    def path(self) -> Path:
        """Return the real path of the settings file."""
        return self._file.path

    @property
    def writable(self) -> bool:
        """Tell whether a change could be written: open, and the file system permits it."""
        return not self._closed and self._file.writable()

    @property
    def unknown(self) -> tuple[UnknownKey, ...]:
        """Return the keys of the document that no setting has, with the nearest known ones."""
        whole = self._spaces.get("mnemon")
        return whole.read(self._base, self._edition.user, self.path).unknown if whole else ()

    @property
    def unknown_keys(self) -> str | None:
        """Name file and keys in one line for a person; ``None`` when every key is known."""
        keys = ", ".join(item.named() for item in self.unknown)
        if not keys:
            return None
        return f"{self.path} has keys that no setting has; they are kept and ignored: {keys}"

    def close(self) -> None:
        """Refuse all further changes."""
        self._closed = True

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Add a listener, called in order of subscription; the answer removes it."""
        return self._listeners.add(listener)

    def describe(self, *, redact_secrets: bool = True) -> tuple[NamespaceDescription, ...]:
        """Return all registered namespaces, in the order of registration.

        Args:
            redact_secrets: Mask secrets in all three layers; only the Host itself may say no.
        """
        return tuple(
            space.described(self._base, self._edition, redact_secrets=redact_secrets)
            for space in self._spaces.values()
        )

    async def register(
        self,
        ns: str,
        schema: type[M],
        *,
        base: JsonObject | None = None,
        admit: Admission[M] | None = None,
    ) -> M:
        """Register a namespace, once, and bring its present value into force.

        Args:
            ns: One of `NAMESPACES`.
            schema: Model of its value.
            base: What the distribution says about it.
            admit: Judges the present value and every later one.

        Raises:
            InputError: ``settings-namespace-unknown``.
            ConflictError: ``settings-namespace-taken``.
            ConfigurationError: The present value does not fit the schema; or what ``admit`` raises.
        """
        if ns not in NAMESPACES:
            raise InputError("settings-namespace-unknown", f"{ns} is no settings namespace")
        async with self._gate:
            if ns in self._spaces:
                raise ConflictError("settings-namespace-taken", f"{ns} is registered already")
            document = with_layer(self._base, ns, base or {})
            reading = read_namespace(schema, ns, document, self._edition.user, self.path)
            async with AsyncExitStack() as stack:
                if admit is not None:
                    await self._admit(admit, reading.value, stack)
                self._base = document
                self._spaces[ns] = Namespace(ns, schema, admit, reading.value)
        await self._tidy(ns)
        return reading.value

    async def refresh(self) -> bool:
        """Take over what somebody else wrote into the file; cheap when nobody did.

        Content that cannot be read or is refused leaves the present values in force, and is
        reported by `problem`.

        Returns:
            Whether a value changed.
        """
        async with self._gate:
            seen = self._looked_at
            if seen and not await to_thread.run_sync(self._file.touched_since, seen):
                return False
            before, known = self._edition, self.unknown_keys
            await self._take_over()
            unknown = self.unknown_keys
            if unknown is not None and unknown != known:
                _log.warning(unknown)
            changed = not json_equal(self._edition.user, before.user)
        await self._tidy("mnemon")
        return changed

    async def mutate(
        self, ns: str, ops: Sequence[OperationLike], expected_revision: int | None = None
    ) -> NamespaceDescription:
        """Change a namespace atomically.

        The edit conflicts only where a place it touches differs from what the caller saw (D60).
        A masked secret that comes back unchanged stays what it was.

        Args:
            ns: A registered namespace.
            ops: Operations with paths inside the namespace.
            expected_revision: What the caller saw; the last state this process saw when absent.

        Returns:
            The namespace after the edit, secrets masked.

        Raises:
            InputError: ``settings-namespace-unknown``, ``settings-operation-invalid``.
            ConflictError: ``SETTINGS_CONFLICT``.
            ConfigurationError: A value that does not fit, ``settings-malformed``,
                ``settings-uneditable``; or what an admission raises. Nothing was written.
            LifecycleError: ``settings-closed``.
            StorageError: ``settings-read-only``, ``lock-timeout``, ``store-unwritable``.
        """
        if ns not in self._spaces:
            raise InputError("settings-namespace-unknown", f"{ns} is not registered")
        space = self._spaces[ns]
        self._check_writable()
        edit = [attrs.evolve(op, path=(*space.prefix, *op.path)) for op in read_operations(ops)]
        async with self._gate, self._file.locked() as unlock:
            await self._edit(space, edit, expected_revision, unlock)
        await self._tidy(ns)
        return space.described(self._base, self._edition)

    async def _edit(
        self,
        space: Namespace,
        edit: Sequence[Operation],
        expected: int | None,
        unlock: Callable[[], None],
    ) -> None:
        places = [operation.path for operation in edit]
        latest = self._edition
        revision = latest.revision if expected is None else expected
        seen = self._history.user(revision)
        for _ in range(_RETRIES + 1):
            latest = await self._observe()
            if latest.revision != revision and not latest.agrees(places, seen):
                await self._take_over()
                break
            ready = [space.ready(operation, self._base, latest.user) for operation in edit]
            try:
                await self._attempt(latest, ready, unlock)
            except FileMoved:
                continue
            return
        raise conflict(revision, latest.revision, places)

    async def _attempt(
        self, latest: Edition, edit: Sequence[Operation], unlock: Callable[[], None]
    ) -> None:
        user = FrozenDict(apply(latest.user, edit))
        if json_equal(user, latest.user):
            await self._commit(user, partial(_as_is, latest.stored))
            return
        # Imported here, as in `_read`: most commands meet no settings file and need no YAML.
        from dsh_mnemon_host.settings.document import change

        text = change(latest.stored.text, edit, str(self.path))

        async def write() -> Stored:
            stored = await to_thread.run_sync(self._file.replace, text, latest.stored)
            unlock()  # what the new value sets in motion may take its time
            return stored

        await self._commit(user, write)

    async def _admit(self, admit: Admission[Any], value: BaseModel, stack: AsyncExitStack) -> None:
        """Have a value judged; what is refused about a setting names the file, as reading does."""
        try:
            await stack.enter_async_context(admit(value))
        except ConfigurationError as error:
            if not error.code.startswith("setting-"):
                raise
            text = f"{self.path}: {error.message}"
            raise ConfigurationError(error.code, text, details=error.details) from error

    async def _observe(self) -> Edition:
        self._looked_at = None  # what cannot be read is looked at again, until it can
        self._looked_at = stored = await to_thread.run_sync(self._file.read)
        if stored == self._edition.stored:
            return self._edition
        return Edition(stored, _read(stored.text, str(self.path)))

    async def _take_over(self) -> None:
        """Bring the file's content into force, or note why that is not possible."""
        try:
            latest = await self._observe()
            await self._commit(latest.user, partial(_as_is, latest.stored))
        except Exception as error:  # an admission may raise anything; the values in force stay
            if str(error) != str(self.problem):
                _log.warning("settings in %s are not in force: %s", self.path, error)
            self.problem = error

    async def _commit(self, user: FrozenDict, store: Callable[[], Awaitable[Stored]]) -> None:
        """Judge a document, store it, and bring it into force; from storing on uninterruptible."""
        spaces = self._spaces.values()
        judged = [(space, space.read(self._base, user, self.path).value) for space in spaces]
        changed = [(space, value) for space, value in judged if space.differs(value)]
        async with AsyncExitStack() as stack:
            for space, value in changed:
                if space.admit is not None:
                    await self._admit(space.admit, value, stack)
            stored = await store()
            with anyio.CancelScope(shield=True):
                self._serve(Edition(stored, user))
                for space, value in judged:
                    space.value = value
                await _leave(stack.pop_all())
                for space, value in changed:
                    await self._listeners.announce(space.ns, value)

    def _serve(self, edition: Edition) -> None:
        self._edition, self._looked_at, self.problem = edition, edition.stored, None
        self._history.add(edition)

    def _check_writable(self) -> None:
        if self._closed:
            raise LifecycleError("settings-closed", "the settings are closed")
        if not self._file.writable():
            raise StorageError("settings-read-only", f"{self.path} cannot be written")

    async def _tidy(self, ns: str) -> None:
        if ns == "mnemon" and ns in self._spaces:
            await canonicalize_display_mode(self)


def _read(text: str, file: str) -> FrozenDict:
    if not text:
        return FrozenDict()
    from dsh_mnemon_host.settings.document import parse

    return parse(text, file)


async def _as_is(stored: Stored) -> Stored:
    return stored


async def _leave(stack: AsyncExitStack) -> None:
    try:
        await stack.aclose()
    except Exception:  # the value is stored; it cannot be refused any more
        _log.exception("an admission failed after its settings were committed")
