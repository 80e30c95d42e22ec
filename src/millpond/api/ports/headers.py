"""Which headers pass between a browser and a job, and how both see the other's address as their own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

COOKIE = "mill_port"

Header = tuple[bytes, bytes]

# They belong to one connection, and there are two.
_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade".split()
)
_OURS = re.compile(rb"mill_", re.IGNORECASE)
_DOMAIN = re.compile(rb";\s*domain\s*=[^;]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Names:
    """The same port as the browser calls it (`https://8888-ab12.apps.example`) and as the job does."""

    outside: str
    port: int

    @property
    def inside_host(self) -> str:
        return f"localhost:{self.port}"

    @property
    def inside(self) -> str:
        return f"http://{self.inside_host}"


def is_own(names: Names, headers: Iterable[Header]) -> bool:
    """Whether the job's own page asks, or a person follows a link: no other page's script."""
    found = {name.lower(): value.decode("latin-1") for name, value in headers}
    origin = found.get(b"origin")
    if origin is not None and origin != names.outside:
        return False
    from_elsewhere = found.get(b"sec-fetch-site", "none") in ("same-site", "cross-site")
    return not from_elsewhere or found.get(b"sec-fetch-mode") == "navigate"


def inwards(names: Names, headers: Iterable[Header]) -> list[Header]:
    """What the job gets to see: nothing that is Millpond's, and its own address as it knows it."""
    passed: list[Header] = [(b"host", names.inside_host.encode())]
    for name, value in headers:
        lower = name.lower()
        if lower in _HOP or lower == b"host" or lower.startswith(b"x-mill-"):
            continue
        if lower == b"cookie":
            kept = [one for one in map(bytes.strip, value.split(b";")) if not _OURS.match(one)]
            if kept:
                passed.append((name, b"; ".join(kept)))
        elif lower == b"authorization" and b"mill_" in value:
            continue
        elif lower in (b"origin", b"referer"):
            passed.append((name, value.replace(names.outside.encode(), names.inside.encode())))
        else:
            passed.append((name, value))
    return passed


def outwards(names: Names, headers: Iterable[Header]) -> list[Header]:
    """What the browser gets: cookies for this host alone and none that pass for Millpond's, places it can reach."""
    passed: list[Header] = []
    for name, value in headers:
        lower = name.lower()
        if lower in _HOP:
            continue
        if lower == b"set-cookie":
            if not _OURS.match(value.lstrip()):
                passed.append((name, _DOMAIN.sub(b"", value)))
        elif lower == b"location":
            passed.append((name, _outside(names, value)))
        else:
            passed.append((name, value))
    return passed


def _outside(names: Names, location: bytes) -> bytes:
    for inside in (names.inside, f"http://127.0.0.1:{names.port}"):
        if location.startswith(inside.encode()):
            return names.outside.encode() + location[len(inside) :]
    return location
