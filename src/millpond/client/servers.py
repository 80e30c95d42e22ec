"""The servers a user has signed in to: their names, their tokens, and which one is current. No I/O."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

from millpond.errors import BadName, BadRequest, NameTaken, NotFound
from millpond.model.address import is_local_host

DEFAULT_SERVER = "http://127.0.0.1:8420"

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
# A word with one of these is an address; any other is a name.
_ADDRESS = re.compile(r"[:/.]|^localhost$", re.IGNORECASE)


class KnownServer(NamedTuple):
    """A token kept for one server; its id, when known, lets `logout` revoke it there."""

    token: str
    token_id: str | None = None
    name: str = ""


class SavedLogins(NamedTuple):
    """Servers by URL, and the current one: used when nothing else names a server."""

    servers: Mapping[str, KnownServer] = MappingProxyType({})
    current: str | None = None

    def token_of(self, server: str) -> str | None:
        known = self.servers.get(server)
        return known.token if known else None

    def name_of(self, server: str) -> str | None:
        known = self.servers.get(server)
        return known.name if known else None

    @property
    def names(self) -> list[str]:
        return [known.name for known in self.servers.values()]

    def url_of(self, written: str) -> str:
        """The URL of a server given by name or address. NotFound for a name that no known server has."""
        for url, known in self.servers.items():
            if known.name == written.strip():
                return url
        if _ADDRESS.search(written) or not written.strip():
            return normalize_server(written)
        raise NotFound(f"No server is named {written.strip()!r}.", hint=self._suggest(written))

    def require(self, written: str) -> str:
        """Like `url_of`, and NotFound for an address without a token."""
        url = self.url_of(written)
        if url not in self.servers:
            raise NotFound(f"You have not signed in to {url}.", hint=f"Sign in: mill login {url}")
        return url

    def with_server(self, url: str, token: str, token_id: str | None = None, name: str | None = None) -> SavedLogins:
        """With `url` added or updated. The same token at another address is the same server, moved."""
        moved = next((old for old, known in self.servers.items() if known.token == token and old != url), None)
        rest = {old: known for old, known in self.servers.items() if old not in (url, moved)}
        taken = [known.name for known in rest.values()]
        kept = self.name_of(url) or (self.name_of(moved) if moved else None)
        chosen = _check_name(name, taken) if name else kept or name_for(url, taken)
        current = url if moved is not None and self.current == moved else self.current
        return SavedLogins({**rest, url: KnownServer(token, token_id, chosen)}, current)

    def without(self, url: str) -> SavedLogins:
        """No other server becomes current by itself: that is for the user to say."""
        rest = {other: known for other, known in self.servers.items() if other != url}
        return SavedLogins(rest, None if self.current == url else self.current)

    def renamed(self, url: str, name: str) -> SavedLogins:
        others = [known.name for other, known in self.servers.items() if other != url]
        known = self.servers[url]._replace(name=_check_name(name, others))
        return self._replace(servers={**self.servers, url: known})

    def _suggest(self, written: str) -> str:
        # Only a mistake pays for it: every command imports this module.
        import difflib  # noqa: PLC0415

        near = difflib.get_close_matches(written.strip(), self.names, n=1, cutoff=0.5)
        if near:
            return f"Did you mean {near[0]}? List them: mill server list"
        return f"List them: mill server list. Write an address in full: http://{written.strip()}:8420"


def normalize_server(url: str) -> str:
    """One spelling per server: scheme and host in lower case, no slash at the end, http for local addresses."""
    text = url.strip()
    if "://" not in text:
        host = urlsplit(f"//{text}").hostname or ""
        text = f"{'http' if is_local_host(host) else 'https'}://{text}"
    parts = urlsplit(text)
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise BadRequest(f"{url!r} is not the address of a server.", hint="Write it as http://host:8420.")
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{parts.path.rstrip('/')}"


def name_for(url: str, taken: Collection[str] = ()) -> str:
    """A short name for a server: the first part of its host name, `local` on this machine, `-2` when taken."""
    host = urlsplit(url).hostname or ""
    short = host if _is_number(host) else host.partition(".")[0]
    name = re.sub(r"[^a-z0-9._-]", "-", "local" if _is_loopback(host) else short).strip("-._")[:50] or "server"
    candidates = (name if number == 1 else f"{name}-{number}" for number in range(1, len(taken) + 2))
    return next(candidate for candidate in candidates if candidate not in taken)


def _check_name(name: str, taken: Collection[str]) -> str:
    if not _NAME.fullmatch(name):
        raise BadName(f"{name!r} cannot name a server.", hint="Use lower-case letters, digits, '.', '_' and '-'.")
    if name in taken:
        raise NameTaken(f"Another server is named {name!r}.", hint="Choose another name, or: mill server forget NAME")
    return name


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_number(host) and ipaddress.ip_address(host).is_loopback)


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
