"""What a service's reply means: payloads, error details, classes of failure (spec D48)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, NoReturn, cast
from urllib.parse import urlsplit

from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.sdk import json_clone, truncate

from dsh_mnemon_source_memory_spaces.provider_sdk.errors import (
    ProviderBusy,
    ProviderConflict,
    ProviderError,
    ProviderForbidden,
    ProviderNotFound,
    ProviderProtocol,
    ProviderQuota,
    ProviderRejected,
    ProviderServerError,
    ProviderTimeout,
    ProviderUnauthenticated,
    WriteOutcomeUnknown,
)

__all__ = ("detail_of", "error_class", "first_array", "parse", "retry_after", "target_of")

_BY_STATUS: Final[Mapping[int, type[ProviderError]]] = {
    401: ProviderUnauthenticated,
    402: ProviderQuota,
    403: ProviderForbidden,
    404: ProviderNotFound,
    409: ProviderConflict,
    412: ProviderBusy,
    429: ProviderBusy,
    503: ProviderBusy,
}

_DETAIL_KEYS: Final = ("message", "error", "detail")
_LONGEST_LIST: Final = 300


def error_class(status: int, *, write: bool) -> type[ProviderError]:
    """Return the error a status other than 2xx means.

    A write that a server failed at, or gave up waiting for, may have happened all the same.
    """
    if write and (status == 408 or status >= 500):
        return WriteOutcomeUnknown
    if status == 408:
        return ProviderTimeout
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return ProviderServerError if status >= 500 else ProviderRejected


def parse(body: bytes, label: str) -> Any:
    """Return the payload of a reply: JSON, the text if it is none, ``{}`` if it is empty.

    Raises:
        ProviderProtocol: It is JSON that cannot be passed on: too deep, or no Unicode text.
    """
    text = body.decode("utf-8-sig", "replace")
    if not text.strip():
        return {}
    try:
        payload = json.loads(text, parse_constant=_refuse)
    except ValueError:
        return text
    except RecursionError:
        raise ProviderProtocol(f"{label} answered JSON that is nested too deeply") from None
    try:
        json_clone(payload)
    except InputError as error:
        raise ProviderProtocol(f"{label} answered JSON that cannot be used: {error}") from None
    return payload


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def detail_of(payload: Any) -> str:
    """Return what an error body says, or an empty text; not redacted yet.

    That is the first text among ``message``, ``error`` and ``detail``, then within ``error``, then
    the entries of a ``detail`` list (location and message of each), or a body that is plain text.
    """
    if isinstance(payload, str):
        return payload.strip()
    if not isinstance(payload, Mapping):
        return ""
    reply = cast("Mapping[str, Any]", payload)
    for candidate in _candidates(reply):
        if isinstance(candidate, str) and candidate.strip():
            return candidate.strip()
    return ""


def _candidates(reply: Mapping[str, Any]) -> Iterator[Any]:
    yield from (reply.get(key) for key in _DETAIL_KEYS)
    inner = reply.get("error")
    if isinstance(inner, Mapping):
        nested = cast("Mapping[str, Any]", inner)
        yield from (nested.get(key) for key in ("message", "detail"))
    entries = reply.get("detail")
    if isinstance(entries, list):
        said = (_entry(item) for item in cast("list[object]", entries))
        yield truncate("; ".join(item for item in said if item), _LONGEST_LIST)


def _entry(item: object) -> str:
    """Return ``body.limit: must be positive`` of one entry of a validation error."""
    if not isinstance(item, Mapping):
        return item if isinstance(item, str) else ""
    entry = cast("Mapping[str, Any]", item)
    place, message = entry.get("loc"), entry.get("msg")
    steps = cast("Sequence[Any]", place) if isinstance(place, (list, tuple)) else ()
    parts = (".".join(str(step) for step in steps), message if isinstance(message, str) else "")
    return ": ".join(part for part in parts if part)


def retry_after(value: str | None, now: datetime) -> float | None:
    """Return the seconds of a ``Retry-After`` header, 0 or more; ``None`` without a usable one."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())


def target_of(location: str | None) -> str:
    """Name where a redirect leads: the host only, since an address may hold a key."""
    try:
        host = urlsplit(location or "").hostname
    except ValueError:
        host = None
    return host or "another path"


def first_array(payload: object, *keys: str, label: str) -> Sequence[Any]:
    """Return the list in a payload: itself, or the first of ``keys``, there or in ``data``.

    Returns:
        An empty list when an object holds none.

    Raises:
        ProviderProtocol: The payload is neither a list nor an object, such as a page of HTML.
    """
    if isinstance(payload, list):
        return cast("list[object]", payload)
    if not isinstance(payload, Mapping):
        raise ProviderProtocol(f"{label} answered neither a list nor an object")
    reply = cast("Mapping[str, object]", payload)
    inner = reply.get("data")
    nested = cast("Mapping[str, object]", inner) if isinstance(inner, Mapping) else None
    for place in (reply, nested or {}):
        for key in keys:
            found = place.get(key)
            if isinstance(found, list):
                return cast("list[object]", found)
    return []
