"""The settings of a Memory Space and the file they name (providers specification §6.1)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs
from dsh_mnemon_source_memory_spaces.provider_sdk import ExternalSpace, ProviderRejected

from dsh_mnemon_provider_holographic.descriptor import (
    DEFAULT_DIM,
    DEFAULT_MIN_TRUST,
    DEFAULT_TRUST,
)

__all__ = ("Place", "Settings", "place_of", "projection", "settings_of")

_DEFAULT_FILE: Final = Path("state", "holographic", "memory_store.db")
_HERMES_HOME: Final = re.compile(r"^\$(?:HERMES_HOME\b|\{HERMES_HOME\})")
_PLAIN_STEMS: Final = ("store", "memory_store")


@attrs.frozen
class Place:
    """Where facts lie.

    Attributes:
        named: The absolute path that the settings mean; the external id of a Space.
        database: The SQLite file.
        peer: The JSON store to take over into it, when that is what is named.
    """

    named: Path
    database: Path
    peer: Path | None = None


@attrs.frozen(kw_only=True)
class Settings:
    """What a Space is worked with; see the manifest's fields."""

    place: Place
    dim: int = DEFAULT_DIM
    default_trust: float = DEFAULT_TRUST
    min_trust: float = DEFAULT_MIN_TRUST
    half_life_days: float = 0.0


def settings_of(
    connection: Mapping[str, Any],
    data_dir: Path,
    *,
    external_id: str | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Settings:
    """Read the settings of a Space.

    Args:
        connection: Service and memory settings.
        data_dir: What a relative path is relative to.
        external_id: The file a discovered Space stands for; it is the Space's for good.
        environment: Where ``HERMES_HOME`` is looked up when the path names it.

    Raises:
        ProviderRejected: A value does not fit.
    """
    dim = _number(connection, "hrrDim", DEFAULT_DIM, 16, 8192)
    if dim % 16:
        raise ProviderRejected("hrrDim must be a multiple of 16", details={"key": "hrrDim"})
    named = external_id if external_id and Path(external_id).is_absolute() else None
    path = named or str(connection.get("dataPath") or "")
    return Settings(
        place=place_of(path, data_dir, environment),
        dim=int(dim),
        default_trust=_number(connection, "defaultTrust", DEFAULT_TRUST, 0, 1),
        min_trust=_number(connection, "minTrust", DEFAULT_MIN_TRUST, 0, 1),
        half_life_days=_number(connection, "halfLifeDays", 0, 0, float("inf")),
    )


def place_of(path: str, data_dir: Path, environment: Mapping[str, str]) -> Place:
    """Return the file a path means; nothing is looked up on the disk."""
    home = environment.get("HERMES_HOME") or "~/.hermes"
    expanded = _HERMES_HOME.sub(lambda _: home, path.strip())
    try:
        given = Path(expanded).expanduser() if expanded else _DEFAULT_FILE
    except RuntimeError as error:
        raise ProviderRejected(
            "dataPath names a home directory that is not known", details={"key": "dataPath"}
        ) from error
    named = Path(os.path.normpath(data_dir.absolute() / given))
    if named.suffix.lower() == ".json":
        return Place(named, named.with_suffix(".db"), named)
    return Place(named, named)


def projection(place: Place) -> ExternalSpace:
    """Return the one namespace there is: the file."""
    stem = place.named.stem
    return ExternalSpace(
        external_id=str(place.named),
        name="Holographic" if stem in _PLAIN_STEMS else stem[:100],
        description=f"Facts in {place.named}"[:1_000],
    )


def _number(
    connection: Mapping[str, Any], key: str, default: float, low: float, high: float
) -> float:
    value = connection.get(key)
    if value in (None, ""):
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise ProviderRejected(f"{key} must be within {low:g}..{high:g}", details={"key": key})
    return value
