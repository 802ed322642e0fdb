"""Who is told about committed settings."""

from __future__ import annotations

import logging
from collections.abc import Callable

from pydantic import BaseModel

from dsh_mnemon_host.settings.service import Listener

__all__ = ("Listeners",)

_log = logging.getLogger(__name__)


class Listeners:
    """Listeners in order of subscription."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def add(self, listener: Listener) -> Callable[[], None]:
        """Add a listener; the answer removes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def announce(self, ns: str, value: BaseModel) -> None:
        """Tell everybody, one after another; a failure is logged and stops nobody."""
        for listener in tuple(self._listeners):
            try:
                await listener(ns, value)
            except Exception:  # the commit stands, whatever a listener makes of it
                _log.exception("a listener failed after settings of %s were committed", ns)
