"""Network addresses: hosts with ports; which hosts are local, and so are never reached through a proxy."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit


def is_local_host(host: str) -> bool:
    """Whether `host` is this machine or its own network: `localhost`, loopback, link-local or private addresses."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_link_local or address.is_private or address.is_unspecified


def is_loopback_host(host: str) -> bool:
    """True if only this machine itself reaches what listens at `host`."""
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class HostPort:
    """Where something listens, written `host:port`; IPv6 in brackets."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> HostPort:
        """ValueError for what is no host and port."""
        try:
            parts = urlsplit(f"//{text}")
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if not host or port is None or parts.username or parts.path or parts.query or parts.fragment:
            raise ValueError(f"{text!r} is not HOST:PORT.")
        return cls(host, port)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
