"""Vectors from an Ollama or OpenAI-compatible service; all works without (§10)."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast
from urllib.parse import urlsplit

import attrs
from anyio.lowlevel import checkpoint
from anyio.to_thread import run_sync
from dsh_mnemon_source_memory_spaces.provider_sdk import EmbeddingSettings, ProviderError

from dsh_mnemon_provider_mnemon_native._json import list_of, object_of

if TYPE_CHECKING:
    from dsh_mnemon_source_memory_spaces.provider_sdk.http import (
        HttpClient,
        HttpReply,
        Service,
        Transport,
    )

__all__ = ("Embedder", "Probe", "Protocol")

_logger = logging.getLogger(__name__)

Protocol: TypeAlias = Literal["ollama", "openai"]
"""How a service is asked."""

_PROBE_MS: Final = 2_000
_EMBED_MS: Final = 30_000
_FAILURE_HOLDS: Final = 15.0
"""Seconds for which a service that failed is not asked again."""

_NO_LISTING: Final = (404, 405, 501)


@attrs.frozen(kw_only=True)
class Probe:
    """Whether the service answers; ``error`` says why not."""

    available: bool
    error: str | None = None


@attrs.frozen(kw_only=True)
class _Connected:
    """The client, and the service it asks; made for the first request."""

    client: HttpClient
    target: Service


async def _at_once(_: float) -> None:
    """Repeat without waiting: a write must not wait for a service that refuses."""
    await checkpoint()


class Embedder:
    """Asks the embedding service, and leaves it alone for a while after it failed.

    Args:
        settings: Where it is; a disabled one is never asked.
        transport: What carries requests instead of the network.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        *,
        transport: Transport | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.settings, self._clock = settings, clock
        self._transport = transport
        self._service: _Connected | None = None
        self._failed_at: float | None = None
        self._probed = False

    @property
    def protocol(self) -> Protocol:
        """The protocol in use; ``auto`` is OpenAI's where the path ends in ``/v1``."""
        if self.settings.protocol in {"ollama", "openai"}:
            return cast("Protocol", self.settings.protocol)
        path = urlsplit(self.settings.endpoint).path.rstrip("/")
        return "openai" if path.endswith("/v1") else "ollama"

    async def probe(self) -> Probe:
        """Ask whether the service is there, within two seconds."""
        path = "/models" if self.protocol == "openai" else "/api/tags"
        try:
            try:
                await self._read(path, _PROBE_MS)
            except ProviderError as error:
                lists_none = error.details.get("status") in _NO_LISTING
                if self.protocol == "ollama" or not lists_none:
                    raise
                await self._ask("probe", _PROBE_MS)
        except ProviderError as error:
            self._failed_at = self._clock()
            return Probe(available=False, error=error.message)
        self._failed_at, self._probed = None, True
        return Probe(available=True)

    async def vector(self, text: str) -> tuple[float, ...] | None:
        """Return the vector of a text; none when there is no service, or it fails."""
        if not self.settings.enabled or self._is_resting():
            return None
        if not self._probed and not (await self.probe()).available:
            return None
        try:
            return await self._ask(text, _EMBED_MS)
        except ProviderError as error:
            self._failed_at, self._probed = self._clock(), False
            _logger.warning("no vector was made: %s", error.message)
            return None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._service is not None:
            await self._service.client.aclose()

    def _is_resting(self) -> bool:
        failed = self._failed_at
        return failed is not None and self._clock() - failed < _FAILURE_HOLDS

    async def _ask(self, text: str, timeout_ms: int) -> tuple[float, ...] | None:
        path = "/embeddings" if self.protocol == "openai" else "/api/embed"
        body = {"model": self.settings.model, "input": text}
        reply = await self._read(path, timeout_ms, body)
        return _vector_of(reply.payload, self.protocol)

    async def _read(self, path: str, timeout_ms: int, body: Any = None) -> HttpReply:
        service = await self._opened()
        return await service.client.read(service.target, path, body=body, timeout_ms=timeout_ms)

    async def _opened(self) -> _Connected:
        service = self._service
        if service is None:
            # The HTTP library takes longer to import than the event loop may stand still.
            made = await run_sync(self._connected)
            # Another request may have come first meanwhile.
            service = self._service = self._service or made
        return service

    def _connected(self) -> _Connected:
        from dsh_mnemon_source_memory_spaces.provider_sdk import http

        key = self.settings.api_key.get_secret_value() if self.protocol == "openai" else ""
        return _Connected(
            client=http.HttpClient(
                "The embedding service", transport=self._transport, sleep=_at_once
            ),
            target=http.Service(
                endpoint=self.settings.endpoint,
                headers=http.bearer(key),
                secrets=(key,) if key else (),
            ),
        )


def _vector_of(payload: Any, protocol: Protocol) -> tuple[float, ...] | None:
    if protocol == "openai":
        found = list_of(object_of(_first(object_of(payload).get("data"))).get("embedding"))
    else:
        found = list_of(_first(object_of(payload).get("embeddings")))
    numbers = [float(value) for value in found if isinstance(value, (int, float))]
    sound = len(numbers) == len(found) and all(map(math.isfinite, numbers))
    return tuple(numbers) if numbers and sound else None


def _first(value: Any) -> Any:
    values = list_of(value)
    return values[0] if values else None
