"""Profile documents: YAML text to a flat list of rows (spec/core.md §19.4, D33)."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, cast

import attrs
import yaml
from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator
from pydantic_core import PydanticCustomError

from dsh_mnemon_core.checks import distinct
from dsh_mnemon_core.configuration import read_configuration
from dsh_mnemon_core.errors import ConfigurationError

_ID = r"^[a-zA-Z0-9][a-zA-Z0-9._:/-]{0,299}$"
_MAX_BYTES = 1_048_576
_AT_ONCE: Final[int] = getattr(os, "O_NONBLOCK", 0)
_MODULE = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Document(_Strict):
    version: Literal[1]
    entries: tuple[Any, ...]


class _Entry(_Strict):
    id: str = Field(pattern=_ID)
    module: str | None = Field(default=None, pattern=_MODULE)
    include: str | None = Field(default=None, min_length=1)
    enabled: StrictBool = True
    config: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> _Entry:
        if (self.module is None) == (self.include is None):
            raise PydanticCustomError("row-kind", "a row has either a module or an include")
        if self.include is not None and self.config is not None:
            raise PydanticCustomError("row-kind", "an include has no config of its own")
        return self


@attrs.frozen(kw_only=True)
class Row:
    """One plugin of a profile.

    Attributes:
        id: Location of its Fiber: the row's id behind the ids of its includes, joined by ``:``; at
            most 300 characters.
        module: Importable name of the module that exposes ``plugin``.
        enabled: Whether it is mounted; an include that is off turns its rows off.
        config: Configuration in the plugin's own spelling; may hold secrets.
        problem: Why the row cannot even be read; it then fails by this error.
    """

    id: str
    module: str
    enabled: bool = True
    config: Mapping[str, Any] = attrs.field(factory=dict[str, Any], repr=False)
    problem: ConfigurationError | None = attrs.field(default=None, eq=False)


@attrs.frozen(kw_only=True)
class Profile:
    """Rows in order, with distinct ids.

    Raises:
        ConfigurationError: ``row-duplicated``.
    """

    rows: tuple[Row, ...]

    def __attrs_post_init__(self) -> None:
        """Refuse two rows with one id."""
        ids = [row.id for row in self.rows]
        distinct(ids, "the profile", kind=ConfigurationError, code="row-duplicated")


def load_profile(source: Path | str, *, base: Path | None = None, strict: bool = True) -> Profile:
    """Read a profile and everything it includes; blocking, and nothing is imported.

    Args:
        source: A ``Path`` to a UTF-8 YAML file, or the YAML text itself.
        base: Folder that the includes of a *text* are relative to; those of a file are relative to
            its own folder.
        strict: Whether a wrong row refuses the profile; else it becomes a row with a ``problem``,
            which fails alone when it is mounted (D27).

    Raises:
        ConfigurationError: ``profile-unreadable``, ``profile-invalid``, ``config-invalid`` (names
            row, key, problem and nearest key), ``row-id-invalid``, ``row-duplicated`` or
            ``include-cycle``; without ``strict`` only what concerns the document itself.
    """
    spot = _Spot(strict=strict)
    rows = _file(source, spot) if isinstance(source, Path) else _rows(source, "profile", base, spot)
    return Profile(rows=tuple(rows) if strict else tuple(_distinct(rows)))


@attrs.frozen
class _Spot:
    """Where in a tree of includes a document stands, and how it is read."""

    strict: bool
    prefix: str = ""
    enabled: bool = True
    ancestors: tuple[Path, ...] = ()


def _distinct(rows: Iterable[Row]) -> Iterator[Row]:
    """Turn every repeated row into one that only says so."""
    count: Counter[str] = Counter()
    for row in rows:
        count[row.id] += 1
        if count[row.id] > 1:
            error = ConfigurationError("row-duplicated", f"two rows have the id {row.id!r}")
            row = Row(id=f"{row.id}#{count[row.id]}", module=row.module, problem=error)
        yield row


def _file(path: Path, spot: _Spot) -> Iterator[Row]:
    try:
        path = path.resolve()
        if path in spot.ancestors:
            raise ConfigurationError("include-cycle", f"{path} includes itself")
        text = _text(path)
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: a loop of links
        bad = isinstance(error, UnicodeDecodeError)
        reason = "it is not UTF-8" if bad else getattr(error, "strerror", error)
        raise ConfigurationError("profile-unreadable", f"cannot read {path}: {reason}") from error
    inside = attrs.evolve(spot, ancestors=(*spot.ancestors, path))
    return _rows(text, path.name, path.parent, inside)


def _text(path: Path) -> str:
    """Read a regular file; another might never begin, or never end."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _AT_ONCE)) as file:
        regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        if not regular or len(data := file.read(_MAX_BYTES + 1)) > _MAX_BYTES:
            raise ValueError("it is no regular file of at most 1 MiB")
    return data.decode("utf-8")


def _rows(text: str, name: str, base: Path | None, spot: _Spot) -> Iterator[Row]:
    document = read_configuration(_Document, _parse(text, name), name)
    for number, raw in enumerate(document.entries, 1):
        row_id = _id(raw)
        called = f"number {number}" if row_id is None else repr(row_id)
        try:
            yield from tuple(_entry_rows(raw, f"{name}: row {called}", base, spot))
        except ConfigurationError as error:
            if spot.strict:
                raise
            yield Row(id=f"{spot.prefix}{row_id or called}", module="", problem=error)


def _entry_rows(raw: object, label: str, base: Path | None, spot: _Spot) -> Iterator[Row]:
    entry = read_configuration(_Entry, raw, label)
    row_id = f"{spot.prefix}{entry.id}"
    if len(row_id) > 300:
        raise ConfigurationError("row-id-invalid", f"{row_id!r} is longer than 300 characters")
    live = spot.enabled and entry.enabled
    if entry.module is not None:
        yield Row(id=row_id, module=entry.module, enabled=live, config=entry.config or {})
    elif base is None:
        raise ConfigurationError("profile-unreadable", f"row {row_id!r} has no base folder")
    else:
        inside = attrs.evolve(spot, prefix=f"{row_id}:", enabled=live)
        yield from _file(base / str(entry.include), inside)


def _id(raw: object) -> str | None:
    """Return the id of a row, if it has one that is text."""
    found = cast("dict[str, object]", raw).get("id") if isinstance(raw, dict) else None
    return found if isinstance(found, str) else None


class _Loader(yaml.SafeLoader):
    """Safe YAML that refuses a key given twice, and says where a value cannot be read."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"key {key.value!r} is given twice", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)  # pyright: ignore[reportUnknownMemberType]
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            problem = f"this is no valid {node.tag.rpartition(':')[2]}"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from None


def _parse(text: str, name: str) -> object:
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - it is a safe one
    except (yaml.YAMLError, RecursionError) as error:
        # The full text of a YAML error quotes the source, which may hold secrets.
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", "nested too deeply")
        raise ConfigurationError("profile-invalid", f"{name}: {problem}{where}") from None
