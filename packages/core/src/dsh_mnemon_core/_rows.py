"""Profile documents: YAML text to a flat list of rows (spec/core.md §19.4, D33)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast

import attrs
import yaml
from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator
from pydantic_core import PydanticCustomError

from dsh_mnemon_core.configuration import read_configuration
from dsh_mnemon_core.errors import ConfigurationError

_ID = r"^[a-zA-Z0-9][a-zA-Z0-9._:/-]{0,299}$"
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
    """

    id: str
    module: str
    enabled: bool = True
    config: Mapping[str, Any] = attrs.field(factory=dict[str, Any], repr=False)


@attrs.frozen(kw_only=True)
class Profile:
    """Rows in order, with distinct ids.

    Raises:
        ConfigurationError: ``row-duplicated``.
    """

    rows: tuple[Row, ...]

    def __attrs_post_init__(self) -> None:
        """Refuse two rows with one id."""
        seen: set[str] = set()
        for row in self.rows:
            if row.id in seen:
                raise ConfigurationError("row-duplicated", f"two rows have the id {row.id!r}")
            seen.add(row.id)


def load_profile(source: Path | str, *, base: Path | None = None) -> Profile:
    """Read a profile and everything it includes; blocking, and nothing is imported.

    Args:
        source: A ``Path`` to a UTF-8 YAML file, or the YAML text itself.
        base: Folder that the includes of a *text* are relative to; those of a file are relative to
            its own folder.

    Raises:
        ConfigurationError: ``profile-unreadable``, ``profile-invalid``, ``config-invalid`` (names
            row, key, problem and nearest key), ``row-id-invalid``, ``row-duplicated`` or
            ``include-cycle``.
    """
    if isinstance(source, Path):
        return Profile(rows=tuple(_file(source, "", True, ())))
    return Profile(rows=tuple(_rows(source, "profile", base, "", True, ())))


def _file(path: Path, prefix: str, enabled: bool, ancestors: tuple[Path, ...]) -> Iterator[Row]:
    path = path.resolve()
    if path in ancestors:
        raise ConfigurationError("include-cycle", f"{path} includes itself")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigurationError("profile-unreadable", f"cannot read {path}: {reason}") from error
    return _rows(text, path.name, path.parent, prefix, enabled, (*ancestors, path))


def _rows(
    text: str,
    name: str,
    base: Path | None,
    prefix: str,
    enabled: bool,
    ancestors: tuple[Path, ...],
) -> Iterator[Row]:
    document = read_configuration(_Document, _parse(text, name), name)
    for number, raw in enumerate(document.entries, 1):
        entry = read_configuration(_Entry, raw, f"{name}: row {_called(raw, number)}")
        row_id = f"{prefix}{entry.id}"
        if len(row_id) > 300:
            raise ConfigurationError("row-id-invalid", f"{row_id!r} is longer than 300 characters")
        live = enabled and entry.enabled
        if entry.module is not None:
            yield Row(id=row_id, module=entry.module, enabled=live, config=entry.config or {})
        elif base is None:
            raise ConfigurationError("profile-unreadable", f"row {row_id!r} has no base folder")
        else:
            yield from _file(base / str(entry.include), f"{row_id}:", live, ancestors)


def _called(raw: object, number: int) -> str:
    """Name a row by its id, or by its place where it has none that is text."""
    label = cast("dict[str, object]", raw).get("id") if isinstance(raw, dict) else None
    return repr(label) if isinstance(label, str) else f"number {number}"


class _Loader(yaml.SafeLoader):
    """Safe YAML that refuses a key given twice instead of keeping the last."""

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


def _parse(text: str, name: str) -> object:
    try:
        loader = _Loader(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        # The full text of a YAML error quotes the source, which may hold secrets.
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", "it is no YAML")
        raise ConfigurationError("profile-invalid", f"{name}: {problem}{where}") from None
