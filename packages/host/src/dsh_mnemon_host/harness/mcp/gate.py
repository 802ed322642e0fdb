"""Who may speak to the HTTP server: Host, Origin and token (host.md §23.2 B)."""

from __future__ import annotations

import hmac
import ipaddress
from typing import Final
from urllib.parse import urlsplit

from dsh_mnemon_core.errors import ConfigurationError
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ("HEALTH_PATH", "Gate", "check_bind", "host_rules", "is_loopback", "read_token")

HEALTH_PATH: Final = "/healthz"
"""Answers without a token; it tells nothing that needs one."""

_LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")


def is_loopback(bind: str) -> bool:
    """Tell whether an address is reached from this machine only."""
    try:
        return ipaddress.ip_address(bind).is_loopback
    except ValueError:
        return bind == "localhost"


def read_token(token: str | None) -> str | None:
    """Read a token; blank is none.

    Raises:
        ConfigurationError: ``token-invalid``: it could not be sent in a header.
    """
    if token is None or not token.strip():
        return None
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise ConfigurationError(
            "token-invalid", "a token must consist of visible ASCII characters, without spaces"
        )
    return token


def check_bind(bind: str, token: str | None) -> None:
    """Refuse an address that others can reach as long as no token keeps them out.

    Raises:
        ConfigurationError: ``token-required``.
    """
    if token is None and not is_loopback(bind):
        raise ConfigurationError(
            "token-required",
            f"{bind or 'this address'} can be reached from other machines, so a token is needed; "
            "set one, or listen on 127.0.0.1",
            details={"bind": bind},
        )


def host_rules(bind: str) -> TransportSecuritySettings:
    """Return which Host and Origin headers an address takes.

    On loopback only loopback names are taken, so that no web page reaches the server by a name
    of its own that resolves to this machine. Elsewhere the names are not known; the token, which
    such a page does not have, keeps it out.
    """
    if not is_loopback(bind):
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    own = f"[{bind}]" if ":" in bind else bind
    names = dict.fromkeys((*_LOOPBACK_NAMES, own))
    hosts = [spelling for name in names for spelling in (name, f"{name}:*")]
    return TransportSecuritySettings(
        allowed_hosts=hosts,
        allowed_origins=[f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts],
    )


class Gate:
    """ASGI middleware in front of every path.

    Args:
        app: What it protects.
        rules: Host and Origin headers to take.
        token: What ``Authorization: Bearer`` must carry; nothing when absent.
    """

    def __init__(self, app: ASGIApp, rules: TransportSecuritySettings, token: str | None) -> None:
        self._app = app
        self._rules = TransportSecurityMiddleware(rules)
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 421, 403 or 401, or let the request in."""
        refusal = await self._refusal(Request(scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    async def _refusal(self, request: Request) -> Response | None:
        refusal = await self._rules.validate_request(request)
        if refusal is not None:
            return refusal
        if not _same_origin(request):
            return JSONResponse({"error": "requests of other web pages are refused"}, 403)
        if self._token is None or request.url.path == HEALTH_PATH or self._authorized(request):
            return None
        return JSONResponse(
            {"error": "a valid token is needed: Authorization: Bearer <token>"},
            401,
            headers={"WWW-Authenticate": "Bearer"},
        )

    def _authorized(self, request: Request) -> bool:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        expected = (self._token or "").encode("ascii")
        matches = hmac.compare_digest(given.strip().encode("utf-8"), expected)
        return matches and scheme.lower() == "bearer"


def _same_origin(request: Request) -> bool:
    """Tell whether a request comes from no web page, or from one of this very server."""
    origin = request.headers.get("origin")
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc == request.headers.get("host", "")
    except ValueError:
        return False  # no browser writes such an address
