"""No test reaches beyond its own machine."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

__all__ = ("NetworkBlocked", "is_local", "only_loopback")


class NetworkBlocked(RuntimeError):
    """Raised when a test tries to reach a host beyond the loopback interface."""


def is_local(host: object) -> bool:
    """Tell whether a host is this machine: a name or an address of it, any, or none at all."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if name is None or name in ("", "localhost"):
        return True
    if not isinstance(name, str):
        return False
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return name.endswith(".localhost")
    return address.is_loopback or address.is_unspecified  # to listen on any is no call


def _check(host: object) -> None:
    if not is_local(host):
        raise NetworkBlocked(f"a test tried to reach {host!r}; only loopback is allowed")


def _guarded(call: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method of a socket whose last positional argument is an address."""

    def guarded(self: socket.socket, *arguments: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            _check(arguments[-1][0])
        return call(self, *arguments)

    return guarded


@contextmanager
def only_loopback() -> Generator[None]:
    """Refuse connections, datagrams and look-ups beyond the loopback interface.

    Sockets of other kinds, such as Unix ones, work as ever; so do processes that a test starts.
    """
    resolve = socket.getaddrinfo
    methods = {name: getattr(socket.socket, name) for name in ("connect", "connect_ex", "sendto")}

    def getaddrinfo(host: Any, *arguments: Any, **named: Any) -> Any:
        _check(host)
        return resolve(host, *arguments, **named)

    try:
        for name, method in methods.items():
            setattr(socket.socket, name, _guarded(method))
        socket.getaddrinfo = getaddrinfo
        yield
    finally:
        socket.getaddrinfo = resolve
        for name, method in methods.items():
            setattr(socket.socket, name, method)
