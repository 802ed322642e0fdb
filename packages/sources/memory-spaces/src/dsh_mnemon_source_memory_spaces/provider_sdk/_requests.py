"""Where a request goes: the service of a call, its address and its keys."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlsplit

import attrs

from dsh_mnemon_source_memory_spaces.provider_sdk.errors import (
    ProviderNotConfigured,
    ProviderRejected,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.redaction import bare_key, redact

__all__ = ("Service", "address", "bearer", "segment")


@attrs.frozen(kw_only=True)
class Service:
    """Where a call goes; made anew for every call from the connection of its Space.

    Attributes:
        endpoint: Base address, ``http`` or ``https``, without user name and password.
        headers: Sent with the call; may hold keys.
        secrets: What must not stand in a message, besides the keys in ``headers``.
    """

    endpoint: str
    headers: Mapping[str, str] = attrs.field(factory=dict[str, str], repr=False)
    secrets: tuple[str, ...] = attrs.field(default=(), repr=False)

    def redacted(self, text: str) -> str:
        """Return a text without the secrets of this call."""
        keys = ("authorization", "x-api-key")
        sent = [value for name, value in self.headers.items() if name.lower() in keys]
        return redact(text, (*self.secrets, *sent))


def address(endpoint: str, path: str, label: str) -> str:
    """Return the address of a call.

    Raises:
        ProviderNotConfigured: There is no endpoint.
        ProviderRejected: The endpoint is no web address, or the path does not begin with ``/``.
    """
    base = endpoint.strip().rstrip("/")
    if not base:
        raise ProviderNotConfigured(f"{label} endpoint is not configured")
    try:
        parts = urlsplit(base)
    except ValueError:
        raise ProviderRejected(f"{label} endpoint is no web address") from None
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
        raise ProviderRejected(f"{label} endpoint is no web address without user name")
    if not path.startswith("/"):
        raise ProviderRejected(f"{label} was asked for a path that does not begin with /")
    return base + path


def bearer(key: str) -> dict[str, str]:
    """Return the ``Authorization`` header for a key, however it was pasted; none without one."""
    bare = bare_key(key)
    return {"Authorization": f"Bearer {bare}"} if bare else {}


def segment(value: str) -> str:
    """Escape a value that becomes one part of a path."""
    return quote(value, safe="")
