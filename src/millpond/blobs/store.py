"""The one small interface behind which every object store lies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from millpond.errors import BadPath

Buffer: TypeAlias = bytes | bytearray | memoryview

_PART = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"
_KEY = re.compile(rf"{_PART}(?:/{_PART})*")
MAX_KEY = 512
# S3's name for the checksum of a body, in base64; the server's own URLs take it, too.
CRC32_HEADER = "x-amz-checksum-crc32"
CREATE_HEADER = "if-none-match"


@dataclass(frozen=True, slots=True)
class BlobInfo:
    key: str
    size: int


@dataclass(frozen=True, slots=True)
class SignedUrl:
    """A request anybody may make until it expires. `headers` must be sent exactly as they are."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)


class BlobStore(Protocol):
    """Whole immutable objects under keys. Every method may be called from any thread and called again.

    Raises NotFound for a key that is not there, Conflict where `if_absent` finds one, StoreUnavailable for
    anything that may pass (network, 5xx, throttling), Forbidden for credentials that do not suffice, DiskFull
    for a store without room, BadPath for a key that `check_key` refuses. The foreign error is the `__cause__`.
    """

    # Whether a signed PUT can never overwrite: nobody changes an object with a URL they have kept.
    signed_puts_only_create: bool

    def get(self, key: str) -> bytes: ...

    def get_range(self, key: str, start: int, end: int) -> bytes:
        """Bytes `start` to `end` (not included), exactly; BadRequest if the object does not hold all of them."""
        ...

    def put(self, key: str, data: Buffer, *, if_absent: bool = False) -> None:
        """Durable and whole when it returns; readers see all of it or nothing.

        `if_absent` is a promise only where the store keeps it (some S3 servers silently overwrite): the lake
        format never relies on it.
        """
        ...

    def head(self, key: str) -> BlobInfo | None:
        """None for a key that is not there."""
        ...

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[BlobInfo]:
        """Everything below `prefix` (empty, or ending in `/`) in the order of keys, beginning behind `after`.

        Stores disagree where one part begins with another (`a/x` and `a-b/x`); the lake's keys never do.
        """
        ...

    def delete(self, key: str) -> None:
        """Deleting what is not there is success."""
        ...

    def sign(self, method: str, key: str, seconds: int) -> SignedUrl:
        """A GET or PUT of `key` for someone without credentials. A URL beginning with `/` is the server's own."""
        ...

    def sign_create(self, key: str, seconds: int, crc32: str = "") -> SignedUrl:
        """A PUT of a new object, signed with what the store is known to heed; `headers` say which.

        CREATE_HEADER: refused with 412 once the object is there. CRC32_HEADER, where `crc32` (in base64) was given:
        refused unless the body has it. Every store checks Content-MD5.
        """
        ...


def check_key(key: str) -> str:
    """`key` itself if every store can hold it: plain ASCII parts, none of them hidden or leading upwards."""
    if len(key) > MAX_KEY or not _KEY.fullmatch(key):
        raise BadPath(f"{key[:200]!r} cannot name an object of the lake.")
    return key


def check_prefix(prefix: str) -> str:
    if prefix:
        if not prefix.endswith("/"):
            raise BadPath(f"The prefix {prefix[:200]!r} does not end with '/'.")
        check_key(prefix[:-1])
    return prefix
