"""Which addresses imports may connect to: public ones, and those an administrator lists."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# IPv6 addresses that carry an IPv4 address, which is where packets end: NAT64 (RFC 6052).
_NAT64 = IPv6Network("64:ff9b::/96")
# All that was ever given out as global unicast. Outside it lie forms that are neither called private nor routed, as the
# old site-local addresses, and those that carry an IPv4 address without a word.
_GLOBAL = IPv6Network("2000::/3")


@dataclass(frozen=True, slots=True)
class Reach:
    """`hosts` may have any address, `networks` are as good as public."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Reach:
        """From hosts and networks with commas between them: `files.lab,10.1.0.0/16,::1`. ValueError for others."""
        words = [word.strip().lower() for word in text.split(",") if word.strip()]
        networks = [network for word in words if (network := _network(word)) is not None]
        hosts = frozenset(word.rstrip(".") for word in words if _network(word) is None)
        for host in hosts:
            if not all(part.replace("-", "").replace("_", "").isalnum() for part in host.split(".")):
                raise ValueError(f"{host!r} is neither a host nor a network")
        return cls(hosts, tuple(networks))

    def lists(self, host: str) -> bool:
        """True if an administrator listed this host, or the network of its literal address."""
        host = host.lower().rstrip(".").strip("[]")
        try:
            address = ip_address(host)
        except ValueError:
            return host in self.hosts
        return any(_in(network, address) for network in self.networks)

    def allows(self, host: str, address: str) -> bool:
        """True if connecting to `host` at `address`, the actual peer address, is allowed."""
        found = ip_address(address.partition("%")[0])
        if host.lower().rstrip(".") in self.hosts or any(_in(network, found) for network in self.networks):
            return True
        return all(_is_public(one) for one in (found, *_inside(found)))


def _network(word: str) -> Network | None:
    try:
        return ip_network(word.strip("[]"), strict=False)
    except ValueError:
        return None


def _in(network: Network, address: Address) -> bool:
    return any(one.version == network.version and one in network for one in (address, *_inside(address)))


def _inside(address: Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that an IPv6 address stands for."""
    if isinstance(address, IPv4Address):
        return ()
    found = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        found.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return tuple(one for one in found if one is not None)


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address) and (address.ipv4_mapped or address in _NAT64):
        return True  # the address inside decides
    if isinstance(address, IPv6Address) and address not in _GLOBAL:
        return False
    return address.is_global and not address.is_multicast
