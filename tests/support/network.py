"""Keeping the tests on this machine: a connection to anywhere else is an error."""

import ipaddress
import socket
from typing import Any

_connect = socket.socket.connect
_connect_ex = socket.socket.connect_ex
_getaddrinfo = socket.getaddrinfo
NAMES = {None, "", "localhost"}


class NetworkForbidden(AssertionError):
    """A test tried to leave this machine."""


def forbid_network() -> None:
    """From now on, refuse every connection except to loopback addresses and Unix sockets."""
    socket.socket.connect = _guard(_connect)  # type: ignore[method-assign]
    socket.socket.connect_ex = _guard(_connect_ex)  # type: ignore[method-assign]
    socket.getaddrinfo = _checked_getaddrinfo  # type: ignore[assignment]


def allow_network() -> None:
    """Undo `forbid_network`."""
    socket.socket.connect = _connect  # type: ignore[method-assign]
    socket.socket.connect_ex = _connect_ex  # type: ignore[method-assign]
    socket.getaddrinfo = _getaddrinfo


def _guard(method: Any) -> Any:
    def connect(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            _check(address[0])
        return method(self, address)

    return connect


def _checked_getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
    _check(host.decode() if isinstance(host, bytes) else host)
    return _getaddrinfo(host, *args, **kwargs)


def _check(host: str | None) -> None:
    if host in NAMES:
        return
    try:
        address = ipaddress.ip_address(str(host).partition("%")[0])
    except ValueError:
        raise NetworkForbidden(f"a test looked up {host!r}") from None
    if not (address.is_loopback or address.is_unspecified):
        raise NetworkForbidden(f"a test connected to {host!r}")
