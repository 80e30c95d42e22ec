"""The two origins: the page's own, and the one where what users or jobs made may run.

Both are answered by one process on two ports. In production a host name of its own leads to the second port
(`--content-url`); without one, the second origin is the host the page was reached by, with the second port. On one's
own machine that is `localhost` for a page at 127.0.0.1 and the other way round, since cookies do not know ports.
docs/design/007-two-origins.md has the whole story.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from millpond.settings import Settings

_HOST = re.compile(r"(?P<name>[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?")
_PORTS = {"http": 80, "https": 443}
_IPV6_HOSTS = ("::", "::1")
_THIS_MACHINE = ("localhost", "127.0.0.1", "[::1]")
# In --content-url: any label, one for each port of a job, and this one for documents.
_ANY = "*"
_DOCUMENTS = "content"


class TwoOrigins:
    """One ASGI application out of two: the port a connection came in by decides, nothing the client says."""

    def __init__(self, page: ASGIApp, content: ASGIApp, content_port: int) -> None:
        self._page = page
        self._content = content
        self._content_port = content_port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        server = scope.get("server")
        is_content = server is not None and server[1] == self._content_port
        await (self._content if is_content else self._page)(scope, receive, send)


def content_origin(settings: Settings, scope: Scope) -> str | None:
    """The second origin, for a browser that made this request to the first; None if there is none it could reach.

    Whoever comes through a proxy or a tunnel reaches the second port only under a name that an administrator tells.
    """
    if settings.content_url:
        return origin_of(settings.content_url.replace(_ANY, _DOCUMENTS))
    name = _directly_by(settings, scope)
    return name and f"{_scheme(settings)}://{_other_name(name, settings.host)}:{settings.content_port}"


def job_origin(settings: Settings, scope: Scope, label: str) -> str | None:
    """An origin that only one port of one job has, whose `label` is the first part of its host.

    None where no such host can be named: at an address of numbers, or behind a proxy that leads one host alone.
    """
    if settings.content_url:
        return origin_of(settings.content_url.replace(_ANY, label)) if _ANY in settings.content_url else None
    # Browsers take every name that ends with `.localhost` for their own machine.
    name = _directly_by(settings, scope)
    return f"{_scheme(settings)}://{label}.localhost:{settings.content_port}" if name in _THIS_MACHINE else None


def is_content_host(settings: Settings, scope: Scope) -> bool:
    """Whether a request to the page's port names the second origin's host: a proxy that mixes the two up."""
    if not settings.content_url:
        return False
    host = urlsplit(origin_of(settings.content_url)).netloc
    return host_of(scope).endswith(host.removeprefix(_ANY)) if _ANY in host else host_of(scope) == host


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL, the way browsers write an origin."""
    parts = urlsplit(url)
    name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = "" if parts.port in (None, _PORTS.get(parts.scheme)) else f":{parts.port}"
    return f"{parts.scheme}://{name}{port}"


def host_of(scope: Scope) -> str:
    """The header `Host`, in lower case; empty if there is none."""
    return Headers(scope=scope).get("host", "").lower()


def _directly_by(settings: Settings, scope: Scope) -> str | None:
    """The name by which a browser reached the page's own port; None if something is between them."""
    if settings.content_port is None:
        return None
    scheme, host = _reached_by(settings, scope)
    found = _HOST.fullmatch(host)
    if found is None or scheme != _scheme(settings) or int(found["port"] or _PORTS[scheme]) != settings.port:
        return None
    return found["name"].lower()


def _scheme(settings: Settings) -> str:
    """Which both ports speak."""
    return "https" if settings.tls else "http"


def _reached_by(settings: Settings, scope: Scope) -> tuple[str, str]:
    if settings.public_url:
        parts = urlsplit(settings.public_url)
        return parts.scheme, parts.netloc
    return scope.get("scheme", "http"), host_of(scope)


def _other_name(name: str, listening: str) -> str:
    """The same machine under a name that shares no cookies, where there is one."""
    localhost = "[::1]" if listening in _IPV6_HOSTS else "127.0.0.1"
    others: Mapping[str, str] = {"localhost": localhost, "127.0.0.1": "localhost", "[::1]": "localhost"}
    return others.get(name, name)
