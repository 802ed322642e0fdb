"""States of a settings document, and one namespace's share of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import attrs
from dsh_mnemon_core.values import FrozenDict, JsonObject, json_clone, json_equal
from pydantic import BaseModel

from dsh_mnemon_host.config import Reading, merge, plain, read_tolerant, redact, restore
from dsh_mnemon_host.settings.file import Stored
from dsh_mnemon_host.settings.operations import (
    MISSING,
    Operation,
    Place,
    keep_unknown,
    value_at,
)
from dsh_mnemon_host.settings.service import NAMESPACES, Admission, NamespaceDescription

__all__ = ("Edition", "History", "Namespace", "read_namespace", "with_layer")

M = TypeVar("M", bound=BaseModel)

_REMEMBERED: Final = 64


@attrs.frozen
class Edition:
    """One state of the document: the file, and what it says."""

    stored: Stored
    user: FrozenDict

    @property
    def revision(self) -> int:
        """Return the revision of the content."""
        return self.stored.revision

    def agrees(self, places: Sequence[Place], seen: JsonObject | None) -> bool:
        """Tell whether some places hold what was seen there; nothing agrees with ``None``."""
        return seen is not None and all(
            json_equal(value_at(self.user, place), value_at(seen, place)) for place in places
        )


class History:
    """The documents behind the latest revisions, so that an old revision can still be compared."""

    def __init__(self) -> None:
        self._users: OrderedDict[int, FrozenDict] = OrderedDict()

    def add(self, edition: Edition) -> None:
        """Remember an edition as the latest; the oldest of more than 64 is forgotten."""
        self._users[edition.revision] = edition.user
        self._users.move_to_end(edition.revision)
        if len(self._users) > _REMEMBERED:
            self._users.popitem(last=False)

    def user(self, revision: int) -> FrozenDict | None:
        """Return what the document said at a revision, if that is remembered."""
        return self._users.get(revision)


def _section(document: JsonObject, prefix: Place) -> FrozenDict:
    found = value_at(document, prefix)
    return FrozenDict(cast("JsonObject", found)) if isinstance(found, Mapping) else FrozenDict()


def with_layer(document: JsonObject, ns: str, layer: JsonObject) -> JsonObject:
    """Return a document in which a namespace says what a layer says."""
    for key in reversed(NAMESPACES[ns]):
        layer = {key: layer}
    return merge(document, layer)


def read_namespace(
    schema: type[M], ns: str, base: JsonObject, user: JsonObject, file: Path
) -> Reading[M]:
    """Read one namespace from the distribution's document and the user's.

    Raises:
        ConfigurationError: As `read_tolerant`; the message names ``file``.
    """
    section = _section(merge(base, user), NAMESPACES[ns])
    return read_tolerant(schema, section, where=f"{file}: ")


@attrs.define
class Namespace:
    """A registered namespace and the value in force."""

    ns: str
    schema: type[BaseModel]
    admit: Admission[Any] | None
    value: BaseModel

    @property
    def prefix(self) -> Place:
        """Return where in the document it lies."""
        return NAMESPACES[self.ns]

    def differs(self, value: BaseModel) -> bool:
        """Tell whether a value is another, also in what was said and what is a default."""
        return self.value.model_dump(exclude_unset=True) != value.model_dump(exclude_unset=True)

    def ready(self, operation: Operation, base: JsonObject, user: JsonObject) -> Operation:
        """Put stored secrets back where they come masked, and unknown keys where they go lost."""
        if operation.value is MISSING:
            return operation
        path = operation.path
        effective = value_at(merge(base, user), path)
        value = restore(operation.value, None if effective is MISSING else effective, path[-1])
        inside = path[len(self.prefix) :]
        return Operation(path, keep_unknown(self.schema, inside, value_at(user, path), value))

    def read(self, base: JsonObject, user: JsonObject, file: Path) -> Reading[BaseModel]:
        """Read the namespace as `read_namespace` does."""
        return read_namespace(self.schema, self.ns, base, user, file)

    def described(
        self, base: JsonObject, edition: Edition, *, redact_secrets: bool = True
    ) -> NamespaceDescription:
        """Describe the namespace as it stands."""
        value, below, user = (
            json_clone(redact(layer) if redact_secrets else layer)
            for layer in (
                plain(self.value),
                _section(base, self.prefix),
                _section(edition.user, self.prefix),
            )
        )
        return NamespaceDescription(
            ns=self.ns, value=value, base=below, user=user, revision=edition.revision
        )
