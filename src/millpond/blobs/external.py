"""The small interfaces behind which places outside the lake lie: all are listed and read, a few written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from millpond.decide.allowed_addresses import Reach
from millpond.errors import ChangedOutside
from millpond.model.connection import ExternalObject

_ETAG_MOST = 1000
# Stores differ in whether they write quotes. One expression: lists have very many of them.
_STRONG = re.compile(r'"*([!#-~]+)"*')


class ExternalPlace(Protocol):
    """Objects by URI. Every method may be called from any thread and again.

    NotFound for what is not there, Forbidden for credentials that do not suffice, AddressRefused for what may not be
    reached, StoreUnavailable for what may pass, ChangedOutside for an object that is no longer what was asked for.
    """

    def look(self, uri: str) -> ExternalObject:
        """One object."""
        ...

    def list(self, uri: str) -> Iterator[ExternalObject]:
        """In a bucket: everything below `uri`, which ends with `/`. At https: what the text at `uri` lists."""
        ...

    def read(self, found: ExternalObject, start: int, end: int) -> Iterator[bytes]:
        """Bytes `start` to `end` (not included), exactly, of the object as it was when it was `found`."""
        ...

    def sign(self, uri: str, seconds: int) -> str | None:
        """A URL to GET the object without credentials; None where only this process can read it."""
        ...

    def close(self) -> None: ...


class WritablePlace(ExternalPlace, Protocol):
    """A place where objects can be put, too. Each appears whole or not at all."""

    def write(self, uri: str, parts: Iterable[bytes], size: int, md5: str, replaces: str | None) -> str:
        """Put an object of `size` bytes with this MD5, in hex; its ETag. `replaces` is the ETag of the one in whose
        place it comes: Conflict if another is there by now, as far as the store can tell."""
        ...

    def remove(self, uri: str) -> None:
        """Removing what is not there is success."""
        ...

    def sign_change(self, method: Literal["PUT", "DELETE"], uri: str, seconds: int) -> str:
        """A URL to put or remove the object without credentials."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a place is opened with beside its own credentials: which addresses the server may connect to, the time,
    and the server's environment."""

    reach: Reach
    now: Callable[[], datetime]
    environment: Mapping[str, str]


def changed(uri: str, why: str) -> ChangedOutside:
    return ChangedOutside(
        f"{uri} has changed since it was imported: {why}.",
        hint="Import it again to use the new content. The old content no longer exists there.",
        uri=uri,
    )


def same_etag(one: str | None, other: str | None) -> bool:
    """Whether both are strong and name the same bytes; stores differ in whether they write quotes."""
    return bool(one and other) and strong(one) is not None and strong(one) == strong(other)


def strong(etag: str | None) -> str | None:
    """The bare text of a strong ETag; None for a weak one, which does not promise equal bytes, and for an odd one."""
    if not etag or etag.startswith("W/") or len(etag) > _ETAG_MOST:
        return None
    found = _STRONG.fullmatch(etag)
    return found[1] if found else None
