"""The one HTTP client of Providers, and the only module that knows the HTTP library (D12, D48).

No redirects, no proxy of the environment, no cookies, answers of at most 8 MiB, one deadline for a
call with its retries. What goes wrong is one of the errors of `provider_sdk.errors`, redacted.
"""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final, TypeAlias

import anyio
import attrs
import httpx  # noqa: TID251 - this is the one module that knows it
from anyio.lowlevel import checkpoint_if_cancelled
from dsh_mnemon_core.errors import LifecycleError

from dsh_mnemon_source_memory_spaces.provider_sdk._replies import (
    detail_of,
    error_class,
    first_array,
    parse,
    retry_after,
    target_of,
)
from dsh_mnemon_source_memory_spaces.provider_sdk._requests import (
    Service,
    address,
    bearer,
    segment,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.errors import (
    ProviderError,
    ProviderProtocol,
    ProviderRejected,
    ProviderTimeout,
    ProviderUnavailable,
    WriteOutcomeUnknown,
)

__all__ = (
    "MAX_ANSWER",
    "HttpClient",
    "HttpReply",
    "MockTransport",
    "Request",
    "Response",
    "Service",
    "Transport",
    "bearer",
    "first_array",
    "segment",
)

MAX_ANSWER: Final = 8 * 1024 * 1024
"""Most bytes of an answer, decoded."""

Transport: TypeAlias = httpx.AsyncBaseTransport
"""What carries requests; a test gives one that answers itself."""

MockTransport: Final = httpx.MockTransport
"""A transport over a function from `Request` to `Response`, for tests."""

Request: Final = httpx.Request
Response: Final = httpx.Response

Query: TypeAlias = Mapping[str, str | int | float | bool | None]
"""Query parameters; one that is ``None`` is left out."""

_DELAYS: Final = (0.2, 0.6)
"""Seconds before the first and the second repetition, ± 20 %."""

_LONGEST_WAIT: Final = 5.0
"""Seconds a service may ask to wait."""

_PASSING: Final = (429, 502, 503, 504)
"""Statuses after which a repetition may succeed."""

_NOTHING_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@attrs.frozen(kw_only=True)
class HttpReply:
    """A reply of 2xx.

    Attributes:
        status: The status.
        payload: JSON; the text itself when it is none; ``{}`` when empty.
    """

    status: int
    payload: Any


@attrs.frozen(kw_only=True)
class _Call:
    service: Service
    method: str
    path: str
    query: Query | None
    body: Any
    write: bool = False
    repeatable: bool = True
    reference: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


class HttpClient:
    """The HTTP client of one adapter; opened at first use, closed by `aclose`.

    Args:
        label: The Provider's label, with which every message begins.
        timeout_ms: Deadline of a call, milliseconds: connecting, sending, the whole answer, and
            every repetition.
        transport: What carries requests instead of the network.
        sleep: Waits between repetitions; seconds.
        chance: Returns 0..1, for the spread of the waits.
        now: Clock for ``Retry-After`` dates.
    """

    def __init__(
        self,
        label: str,
        *,
        timeout_ms: int = 15_000,
        transport: Transport | None = None,
        sleep: Callable[[float], Awaitable[object]] = anyio.sleep,
        chance: Callable[[], float] = random.random,  # noqa: S311 - spreads waits, hides nothing
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._label, self._timeout_ms, self._transport = label, timeout_ms, transport
        self._sleep, self._chance, self._now = sleep, chance, now
        self._client: httpx.AsyncClient | None = None
        self._closed = False
        self._opening = anyio.Lock()

    async def read(
        self,
        service: Service,
        path: str,
        *,
        method: str | None = None,
        query: Query | None = None,
        body: Any = None,
        timeout_ms: int | None = None,
    ) -> HttpReply:
        """Ask for something; repeated twice after a failure that may pass.

        Args:
            service: Where to.
            path: Begins with ``/``; escape parts of it with `segment`.
            method: ``POST`` with a body, else ``GET``, unless given.
            query: Query parameters.
            body: JSON to send.
            timeout_ms: Deadline of this call instead of the client's.

        Raises:
            ProviderError: By kind of failure (D48).
        """
        verb = method or ("GET" if body is None else "POST")
        call = _Call(service=service, method=verb, path=path, query=query, body=body)
        return await self._by_deadline(call, timeout_ms or self._timeout_ms)

    async def write(
        self,
        service: Service,
        path: str,
        *,
        method: str = "POST",
        query: Query | None = None,
        body: Any = None,
        repeatable: bool = False,
        reference: Mapping[str, Any] | None = None,
        timeout_ms: int | None = None,
    ) -> HttpReply:
        """Change something; repeated only when nothing was sent, or when it is repeatable.

        Args:
            service: Where to.
            path: Begins with ``/``; escape parts of it with `segment`.
            method: The verb.
            query: Query parameters.
            body: JSON to send.
            repeatable: The request carries an idempotency key.
            reference: What to look at when nobody knows whether it happened; goes into the details
                of `WriteOutcomeUnknown`.
            timeout_ms: Deadline of this call instead of the client's.

        Raises:
            WriteOutcomeUnknown: It may have happened: timeout, lost connection, 5xx, or an answer
                that cannot be read.
            ProviderError: It did not happen.
        """
        call = _Call(
            service=service,
            method=method,
            path=path,
            query=query,
            body=body,
            write=True,
            repeatable=repeatable,
            reference=reference or {},
        )
        return await self._by_deadline(call, timeout_ms or self._timeout_ms)

    async def aclose(self) -> None:
        """Close the connections; later calls are refused."""
        self._closed = True
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _by_deadline(self, call: _Call, timeout_ms: int) -> HttpReply:
        await checkpoint_if_cancelled()
        with anyio.move_on_after(timeout_ms / 1000) as scope:
            return await self._repeated(call, scope)
        raise self._broken(call, f"{self._label} request timed out after {timeout_ms}ms")

    async def _repeated(self, call: _Call, scope: anyio.CancelScope) -> HttpReply:
        for delay in _DELAYS:
            try:
                return await self._once(call)
            except ProviderError as error:
                wait = self._wait(call, error, delay)
                if wait is None or anyio.current_time() + wait >= scope.deadline:
                    raise
            await self._sleep(wait)
        return await self._once(call)

    def _wait(self, call: _Call, error: ProviderError, delay: float) -> float | None:
        """Return the seconds to wait before a repetition, or ``None`` when there is none."""
        passing = call.repeatable and error.details.get("status") in _PASSING
        if not passing and not isinstance(error, ProviderUnavailable):
            return None
        asked = error.details.get("retryAfterSeconds", 0)
        spread = delay * (0.8 + 0.4 * self._chance())
        return None if asked > _LONGEST_WAIT else max(spread, asked)

    async def _once(self, call: _Call) -> HttpReply:
        client = await self._opened()
        request = self._request(client, call)
        try:
            response = await client.send(request, stream=True)
            try:
                body = await _limited(response)
            finally:
                await response.aclose()
        except _NOTHING_SENT as error:
            reason = call.service.redacted(str(error)) or "no connection"
            raise ProviderUnavailable(f"{self._label} cannot be reached: {reason}") from None
        except (httpx.LocalProtocolError, httpx.UnsupportedProtocol):
            raise self._refused("its settings make no valid request") from None
        except httpx.HTTPError as error:
            kind = type(error).__name__
            raise self._broken(call, f"{self._label} broke off its answer ({kind})") from None
        return self._judged(call, response, body)

    def _judged(self, call: _Call, response: httpx.Response, body: bytes) -> HttpReply:
        status = response.status_code
        if not response.is_success:
            raise self._failed(call, response, body[:MAX_ANSWER])
        try:
            if len(body) > MAX_ANSWER:
                raise ProviderProtocol(f"{self._label} answered more than {MAX_ANSWER} bytes")
            return HttpReply(status=status, payload=parse(body, self._label))
        except ProviderProtocol as error:
            raise self._broken(call, error.message, unread=True) from None

    def _failed(self, call: _Call, response: httpx.Response, body: bytes) -> ProviderError:
        status = response.status_code
        if response.is_redirect or status < 400:
            detail = f"redirected to {target_of(response.headers.get('location'))}"
        else:
            try:
                detail = detail_of(parse(body, self._label))
            except ProviderProtocol:
                detail = ""
        message = f"{self._label} HTTP {status}" + (f": {detail}" if detail else "")
        details: dict[str, Any] = {"status": status}
        after = retry_after(response.headers.get("retry-after"), self._now())
        if after is not None:
            details["retryAfterSeconds"] = after
        kind = error_class(status, write=call.write)
        if kind is WriteOutcomeUnknown:
            details |= call.reference
        return kind(call.service.redacted(message), details=details)

    def _broken(self, call: _Call, message: str, *, unread: bool = False) -> ProviderError:
        """Return the error of a call without a readable answer."""
        if call.write:
            return WriteOutcomeUnknown(message, details=call.reference)
        return ProviderProtocol(message) if unread else ProviderTimeout(message)

    def _refused(self, reason: str) -> ProviderRejected:
        return ProviderRejected(f"{self._label} was not asked: {reason}")

    def _request(self, client: httpx.AsyncClient, call: _Call) -> httpx.Request:
        """Make the request; nothing of what is wrong with it may stand in the message."""
        url = address(call.service.endpoint, call.path, self._label)
        headers = dict(call.service.headers)
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise self._refused("a key or header holds what no header can")
        params = {key: value for key, value in (call.query or {}).items() if value is not None}
        try:
            content = None
            if call.body is not None:
                text = json.dumps(call.body, ensure_ascii=False, allow_nan=False)
                content = text.encode()
                headers["Content-Type"] = "application/json"
            return client.build_request(
                call.method, url, params=params or None, content=content, headers=headers
            )
        except (httpx.InvalidURL, TypeError, ValueError):
            raise self._refused("its settings make no valid request") from None

    async def _opened(self) -> httpx.AsyncClient:
        async with self._opening:
            if self._closed:
                raise LifecycleError("provider-closed", f"{self._label} is closed")
            if self._client is None:
                # Loading the certificates takes longer than the event loop may stand still.
                self._client = await anyio.to_thread.run_sync(self._made)
            return self._client

    def _made(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            transport=self._transport,
            follow_redirects=False,
            trust_env=False,
            timeout=httpx.Timeout(None),
            limits=httpx.Limits(max_connections=20, max_keepalive_connections=10),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            headers={"User-Agent": "dsh-mnemon"},
        )


async def _limited(response: httpx.Response) -> bytes:
    """Return the body, or what came of it when it is longer than `MAX_ANSWER`."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_ANSWER:
            break
    return bytes(body)
