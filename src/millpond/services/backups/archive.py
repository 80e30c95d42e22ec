"""What lies in a backup's stream: a tar of small members, compressed with Zstandard.

First files of the server, then `contents.json`, rows by table, and `counts.json` at the end. Long files and tables
come as several members, so memory stays bounded. docs/design/034 has the format.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import zstandard

from millpond.errors import Corrupt

CONTENTS, COUNTS = "contents.json", "counts.json"
FILES, TABLES = "files/", "tables/"
# Rows of a table, and bytes of a file, in one member.
PIECE_BYTES = 4 << 20
_LARGEST_MEMBER = 64 << 20
_BLOCK = 1 << 20
_LEVEL = 3
_OFFSET = "MILLPOND.offset"


class Sink(Protocol):
    def write(self, data: bytes) -> int: ...

    def flush(self) -> None: ...


class Source(Protocol):
    def read(self, size: int = -1) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    data: bytes
    # Of a file that comes in several members: where this one begins.
    offset: int
    mode: int

    def document(self) -> Any:
        """Corrupt for what is not JSON."""
        try:
            return json.loads(self.data)
        except ValueError as error:
            raise Corrupt(f"{self.name} of the backup is not JSON.") from error


class ArchiveWriter:
    """Members in the order in which they are added; nothing is complete before `close`."""

    def __init__(self, sink: Sink, at: datetime) -> None:
        self._at = int(at.timestamp())
        self._zstd = zstandard.ZstdCompressor(level=_LEVEL).stream_writer(sink, closefd=False)  # type: ignore[arg-type]
        # Closed by `close`, whose caller may stop before: then nothing is complete.
        self._tar = tarfile.open(mode="w|", fileobj=self._zstd, bufsize=_BLOCK, format=tarfile.PAX_FORMAT)  # noqa: SIM115

    def add(self, name: str, data: bytes, *, offset: int = 0, mode: int = 0o600) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mtime, member.mode = len(data), self._at, mode
        if offset:
            member.pax_headers = {_OFFSET: str(offset)}
        self._tar.addfile(member, io.BytesIO(data))
        # The list that tarfile keeps of them is not needed.
        self._tar.members.clear()  # type: ignore[attr-defined]

    def add_document(self, name: str, document: Any) -> None:
        self.add(name, json.dumps(document, ensure_ascii=False).encode())

    def close(self) -> None:
        self._tar.close()
        self._zstd.close()  # type: ignore[no-untyped-call]


def members(source: Source) -> Iterator[Member]:
    """Every member, one at a time. Corrupt for a stream that ends early or is no archive."""
    stream = zstandard.ZstdDecompressor().stream_reader(source, closefd=False)  # type: ignore[arg-type]
    try:
        with tarfile.open(mode="r|", fileobj=stream, bufsize=_BLOCK) as tar:
            for found in tar:
                tar.members.clear()  # type: ignore[attr-defined]
                content = tar.extractfile(found)
                if content is None or found.size > _LARGEST_MEMBER:
                    raise Corrupt(f"The backup holds {found.name[:200]!r}, which no backup does.")
                data = content.read()
                if len(data) != found.size:
                    raise Corrupt(f"{found.name} of the backup ends early.")
                offset = found.pax_headers.get(_OFFSET, "0")
                yield Member(found.name, data, int(offset) if offset.isdigit() else 0, found.mode)
    except (tarfile.TarError, zstandard.ZstdError, EOFError) as error:
        raise Corrupt(f"The backup's content cannot be read: {error}.", hint="Choose another backup.") from error
