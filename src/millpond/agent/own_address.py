"""Under which address other machines of the site reach this one: asked of the machine's own routes, nothing is sent."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

LOOPBACK = "127.0.0.1"
# An address that nobody has (RFC 5737): the way there is the machine's way to anywhere.
_ANYWHERE = "192.0.2.1"


def own_address(server_url: str) -> str:
    """That of the interface towards the server; if the server is on this machine, of the one towards anywhere else."""
    parts = urlsplit(server_url)
    found = _towards(parts.hostname or "", parts.port or 443)
    if found is None or is_loopback(found):
        found = _towards(_ANYWHERE, 9) or found
    return found or LOOPBACK


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listening_host(address: str) -> str:
    """Where to listen so that `address` is reached: there alone, or everywhere if it is none of this machine's own, as
    behind a gateway that translates addresses."""
    everywhere = "[::]" if ":" in address else "0.0.0.0"
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(address, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(where)
    except OSError:
        return everywhere
    return in_brackets(address)


def in_brackets(host: str) -> str:
    """As it is written before a port."""
    return f"[{host}]" if ":" in host else host


def _towards(host: str, port: int) -> str | None:
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(where)
            return str(probe.getsockname()[0])
    except OSError:
        return None
