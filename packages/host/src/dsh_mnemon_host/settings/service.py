"""The settings service: what every backend offers, ours or a harness's own (host.md §2.6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar

import attrs
from dsh_mnemon_core.errors import ConflictError
from dsh_mnemon_core.values import FrozenDict, JsonObject
from pydantic import BaseModel

from dsh_mnemon_host.config import UnknownKey
from dsh_mnemon_host.settings.operations import OperationLike, Place

__all__ = (
    "NAMESPACES",
    "Admission",
    "Listener",
    "NamespaceDescription",
    "SettingsService",
    "conflict",
)

M = TypeVar("M", bound=BaseModel)

NAMESPACES: Final[Mapping[str, Place]] = MappingProxyType(
    {
        "mnemon": (),
        "mnemon-ui": ("conversationInteraction",),
        "mnemon-view": ("memoryView",),
    }
)
"""Where each namespace lies in the one document; the first is the document itself."""

Admission: TypeAlias = Callable[[M], AbstractAsyncContextManager[None]]
"""Judges a value before it is committed, and lives through the commit.

Entering builds what the value needs and may raise to refuse it. The body is the commit: leaving
without an exception means that the value is in force, with one that it never will be.
"""

Listener: TypeAlias = Callable[[str, BaseModel], Awaitable[None]]
"""Told ``(namespace, value)`` after a commit; must not change settings before it returns."""


@attrs.frozen(kw_only=True)
class NamespaceDescription:
    """One namespace as it stands.

    Attributes:
        ns: Its name.
        value: Effective value, defaults included, camelCase JSON.
        base: What the distribution says.
        user: What the user's document says.
        revision: Revision of the document; equal content has equal revisions.
        applies: Always ``live``: a change needs no restart.
    """

    ns: str
    value: FrozenDict
    base: FrozenDict
    user: FrozenDict
    revision: int
    applies: Literal["live"] = "live"


class SettingsService(Protocol):
    """Describes and changes settings under a revision fence."""

    @property
    def writable(self) -> bool:
        """Tell whether a change could be written."""
        ...

    @property
    def unknown(self) -> tuple[UnknownKey, ...]:
        """Return the keys of the document that no setting has."""
        ...

    def describe(self, *, redact_secrets: bool = True) -> tuple[NamespaceDescription, ...]:
        """Return all registered namespaces, in the order of registration."""
        ...

    async def register(
        self,
        ns: str,
        schema: type[M],
        *,
        base: JsonObject | None = None,
        admit: Admission[M] | None = None,
    ) -> M:
        """Register a namespace and return its value."""
        ...

    async def mutate(
        self, ns: str, ops: Sequence[OperationLike], expected_revision: int | None = None
    ) -> NamespaceDescription:
        """Change a namespace atomically."""
        ...

    async def refresh(self) -> bool:
        """Take over what somebody else wrote; return whether a value changed."""
        ...

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Add a listener; the answer removes it."""
        ...


def conflict(expected: int, found: int, paths: Sequence[Place]) -> ConflictError:
    """Build the error of an edit whose ground has moved.

    Its code is ``SETTINGS_CONFLICT``, the spelling that host.md §2.6 gives to callers.
    """
    details: dict[str, Any] = {
        "expectedRevision": expected,
        "revision": found,
        "keys": [".".join(path) for path in paths],
    }
    return ConflictError(
        "SETTINGS_CONFLICT",
        "The settings were changed meanwhile; look at them again before changing them.",
        details=details,
    )
