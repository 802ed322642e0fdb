"""Settings of a service or a Memory Space, read by the fields of a manifest (sources.md §4.4)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.sdk import text

from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import ProviderField, ProviderManifest

__all__ = (
    "Scope",
    "Settings",
    "Value",
    "missing_settings",
    "read_settings",
    "secret_values",
    "settings_of",
    "shown_settings",
)

Scope: TypeAlias = Literal["service", "memory"]
"""Entered once for the service, or for each Memory Space."""

Value: TypeAlias = str | int | float | bool
"""What a setting may be."""

Settings: TypeAlias = dict[str, Value]
"""Normalised settings of one scope, in the order of the fields; secrets in clear."""

_LONGEST: Final = 2_000
_LONGEST_SECRET: Final = 8_000


def read_settings(
    manifest: ProviderManifest,
    scope: Scope,
    given: Mapping[str, Any],
    *,
    previous: Mapping[str, Any] | None = None,
    clear_secrets: Collection[str] = (),
) -> Settings:
    """Read what a person entered over what was saved: given, else previous, else the default.

    Args:
        manifest: Whose fields.
        scope: Which of them.
        given: Entered values; ``None`` keeps what was saved, and so does a blank secret. Any other
            blank text clears the setting.
        previous: Saved settings; what is no field of the scope any more is dropped.
        clear_secrets: Secret fields of the scope to empty.

    Returns:
        Every setting that has a value; a secret without one is an empty text.

    Raises:
        InputError: ``setting-unknown``, ``setting-required``, ``setting-invalid``,
            ``setting-not-secret``, ``text-too-long`` or ``text-not-unicode``. No message holds a
            value, since any of them may be a secret.
    """
    fields = settings_of(manifest, scope)
    by_key = {field.key: field for field in fields}
    for key in given:
        if key not in by_key:
            near = get_close_matches(str(key), by_key, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InputError("setting-unknown", f"{manifest.label} has no setting {key!r}{hint}")
    for key in clear_secrets:
        if key not in by_key or by_key[key].input != "secret":
            raise InputError("setting-not-secret", f"{key!r} is no secret setting")
    settings: Settings = {}
    for field in fields:
        kept = "" if field.key in clear_secrets else (previous or {}).get(field.key)
        value = _read(field, _chosen(field, given.get(field.key), kept))
        if value != "" or field.input == "secret":
            settings[field.key] = value
        if value == "" and field.required:
            raise InputError("setting-required", f"{field.label} is required")
    return settings


def settings_of(manifest: ProviderManifest, scope: Scope) -> tuple[ProviderField, ...]:
    """Return the fields of one scope, in order."""
    return tuple(field for field in manifest.fields if field.scope == scope)


def missing_settings(
    manifest: ProviderManifest, scope: Scope, saved: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the keys of required fields that neither ``saved`` nor a default fills."""
    required = (field for field in settings_of(manifest, scope) if field.required)
    return tuple(
        field.key
        for field in required
        if saved.get(field.key) in (None, "") and field.default_value in (None, "")
    )


def shown_settings(
    manifest: ProviderManifest, scope: Scope, saved: Mapping[str, Any]
) -> tuple[Settings, tuple[str, ...]]:
    """Return what may be shown: the open settings, and the names of the secrets that are set."""
    fields = [field for field in settings_of(manifest, scope) if saved.get(field.key) is not None]
    shown: Settings = {field.key: saved[field.key] for field in fields if field.input != "secret"}
    secret = (field.key for field in fields if field.input == "secret" and saved[field.key])
    return shown, tuple(secret)


def secret_values(manifest: ProviderManifest, saved: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the secrets among settings of any scope, for redaction."""
    return tuple(str(saved[key]) for key in manifest.secrets if saved.get(key))


def _chosen(field: ProviderField, given: Any, kept: Any) -> Any:
    if given is None or (field.input == "secret" and isinstance(given, str) and not given.strip()):
        given = kept
    return field.default_value if given is None else given


def _read(field: ProviderField, value: Any) -> Value:
    """Normalise one value; nothing, in whatever form, is an empty text."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return ""
    return _READERS.get(field.input, _text)(field, value)


def _invalid(field: ProviderField, accepted: str) -> InputError:
    reason = field.validation_message or f"{field.label} must be {accepted}"
    return InputError("setting-invalid", reason, details={"key": field.key})


def _text(field: ProviderField, value: Any) -> str:
    longest = field.max_length or (_LONGEST_SECRET if field.input == "secret" else _LONGEST)
    if not isinstance(value, str):
        raise _invalid(field, "a text")
    found = text(value, field.label, longest)
    if "\0" in found:
        raise _invalid(field, "a text without NUL characters")
    if field.normalize == "trim-trailing-slash":
        found = found.rstrip("/")
    if field.pattern is not None and not re.search(field.pattern, found):
        raise _invalid(field, "in the expected form")
    return found


def _url(field: ProviderField, value: Any) -> str:
    found = _text(field, value).rstrip("/")
    try:
        parts = urlsplit(found)
        _ = parts.port  # a wrong port is noticed when it is asked for
    except ValueError:
        raise _invalid(field, "a web address") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _invalid(field, "a web address that begins with http:// or https://")
    if "@" in parts.netloc:
        raise _invalid(field, "a web address without user name and password")
    return found


def _number(field: ProviderField, value: Any) -> int | float:
    if isinstance(value, str):
        try:
            value = int(value) if re.fullmatch(r"\s*[+-]?\d{1,15}\s*", value) else float(value)
        except ValueError:
            raise _invalid(field, "a number") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise _invalid(field, "a number")
    low = -math.inf if field.min is None else field.min
    high = math.inf if field.max is None else field.max
    if not low <= value <= high:
        raise _invalid(field, f"within {low:g}..{high:g}")
    return value


def _boolean(field: ProviderField, value: Any) -> bool:
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value.strip().lower())
    if not isinstance(value, bool):
        raise _invalid(field, "true or false")
    return value


def _select(field: ProviderField, value: Any) -> str:
    found = _text(field, value)
    options = [option.value for option in field.options or ()]
    if found not in options:
        raise _invalid(field, f"one of {', '.join(options)}")
    return found


_READERS: Final[Mapping[str, Callable[[ProviderField, Any], Value]]] = {
    "url": _url,
    "number": _number,
    "boolean": _boolean,
    "select": _select,
}
