"""Before both applications: who is really asking, and that browsers stay with HTTPS.

What a proxy says of its client (`X-Forwarded-For`, `-Proto`, `-Host`) is believed only of proxies that an administrator
named (`--trusted-proxies`). From anybody else these headers are removed, so that nothing behind sees them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from logging import getLogger
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from millpond.model.address import is_loopback_host
from millpond.settings import Settings

logger = getLogger(__name__)

Address = IPv4Address | IPv6Address
Header = tuple[bytes, bytes]

HSTS = (b"strict-transport-security", b"max-age=31536000")
_FOR, _PROTO, _HOST = b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host"
_TOLD = frozenset((_FOR, _PROTO, _HOST, b"x-forwarded-port", b"x-real-ip", b"forwarded"))
_HOST_NAME = re.compile(r"(?:[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?")
# How many unnamed proxies are told in the log.
_MOST_TOLD = 20


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """The networks of proxies that are believed."""

    networks: Sequence[IPv4Network | IPv6Network] = ()

    @classmethod
    def parse(cls, text: str) -> TrustedProxies:
        """Addresses and networks with commas between them. ValueError, naming it, for one that is neither."""
        words = [word.strip() for word in text.split(",") if word.strip()]
        return cls([_network(word) for word in words])

    def __contains__(self, address: str) -> bool:
        found = _address(address)
        return found is not None and any(found in network for network in self.networks)

    def client_of(self, peer: str, forwarded: Sequence[str]) -> str:
        """The nearest address that is no trusted proxy: what stands before it, anybody may have written.

        `forwarded` begins with the farthest. Where a proxy wrote something else than an address, it is the proxy.
        """
        client = peer
        for told in reversed(forwarded):
            if client not in self or (found := _address(_without_port(told))) is None:
                break
            client = str(found)
        return client


class FrontDoor:
    """ASGI middleware, the outermost of all. With `hsts`, every answer over HTTPS tells browsers to stay with it."""

    def __init__(self, app: ASGIApp, proxies: TrustedProxies, *, hsts: bool = False) -> None:
        self._app = app
        self._proxies = proxies
        self._hsts = hsts
        self._told: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        seen = self._seen(scope)

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), HSTS]
            await send(message)

        is_https = seen["type"] == "http" and seen.get("scheme") == "https"
        await self._app(seen, receive, secured if self._hsts and is_https else send)

    def _seen(self, scope: Scope) -> Scope:
        headers: Sequence[Header] = scope["headers"]
        peer = plain_address(scope["client"][0]) if scope.get("client") else ""
        port = scope["client"][1] if scope.get("client") else 0
        if not any(name in _TOLD for name, _ in headers):
            return scope if not peer or peer == scope["client"][0] else {**scope, "client": (peer, port)}
        kept = [(name, value) for name, value in headers if name not in _TOLD]
        if peer not in self._proxies:
            self._tell(peer, headers)
            return {**scope, "client": (peer, port), "headers": kept}
        changed = {**scope, "headers": kept}
        client = self._proxies.client_of(peer, _words(headers, _FOR))
        changed["client"] = (client, port if client == peer else 0)
        proto = next(reversed(_words(headers, _PROTO)), "").lower()
        if proto in ("http", "https"):
            changed["scheme"] = proto.replace("http", "ws") if scope["type"] == "websocket" else proto
        host = next(reversed(_words(headers, _HOST)), "")
        if _HOST_NAME.fullmatch(host):
            changed["headers"] = [(b"host", host.encode()), *(pair for pair in kept if pair[0] != b"host")]
        return changed

    def _tell(self, peer: str, headers: Iterable[Header]) -> None:
        if len(self._told) >= _MOST_TOLD or peer in self._told or not any(name == _FOR for name, _ in headers):
            return
        self._told.add(peer)
        logger.warning("proxy_not_trusted address=%s hint='If it is your proxy: --trusted-proxies %s'", peer, peer)


def create_front(settings: Settings, app: ASGIApp) -> FrontDoor:
    """The whole server as its listener sees it."""
    # A browser keeps to it at every port of a host: on one's own machine that would lock other programs out.
    stays = settings.hsts and settings.is_https and not is_loopback_host(urlsplit(settings.url).hostname or "")
    return FrontDoor(app, TrustedProxies.parse(settings.trusted_proxies), hsts=stays)


def plain_address(text: str) -> str:
    """An address as it is written everywhere: IPv4 also where it came by a socket of IPv6."""
    found = _address(text)
    return text if found is None else str(found)


def _words(headers: Iterable[Header], wanted: bytes) -> list[str]:
    told = b",".join(value for name, value in headers if name == wanted).decode("latin-1")
    return [word.strip() for word in told.split(",") if word.strip()]


def _address(text: str) -> Address | None:
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


def _without_port(text: str) -> str:
    """`10.1.2.3:4567` and `[::1]:4567` are written by some proxies."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text


def _network(word: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(word, strict=False)
    except ValueError as error:
        raise ValueError(f"{word!r} is neither an address nor a network") from error
