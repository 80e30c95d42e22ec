"""Network addresses: which hosts are local, and so are never reached through a proxy."""

from __future__ import annotations

import ipaddress


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
