"""Whether a directory is as it was when its tree was last built, told from names and timestamps alone.

The file holds the tree, and a digest for every thousand things found, in the order of the scan: what has changed is
noticed near the beginning as well as at the end, and what has not is neither decoded nor built again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from millpond.lake.digests import DIGEST_SIZE, digest_of
from millpond.lake.scan import Found
from millpond.lake.statcache import is_settled, numbers_of

logger = logging.getLogger(__name__)

_MAGIC = b"MWK1"
_PER_DIGEST = 1024


class Walk:
    """Notes what a scan finds. `moment` is when it began, by the clock that stamps the files."""

    def __init__(self, moment: int) -> None:
        self._moment = moment
        self._digests: list[bytes] = []
        self._part: list[bytes] = []
        self._is_settled = True

    def noting(self, found: Iterable[Found]) -> Iterator[Found]:
        for item in found:
            if item.status is not None and not is_settled(item.status, self._moment):
                self._is_settled = False
            _note(self._part, item)
            if len(self._part) >= _PER_DIGEST:
                self._cut()
            yield item

    def save(self, path: Path, tree: str) -> None:
        """Remember that all this was `tree`; forget it where something may still change without a new timestamp."""
        self._cut()
        body = bytes.fromhex(tree) + b"".join(self._digests)
        aside = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            if self._is_settled:
                aside.write_bytes(_MAGIC + digest_of(body) + body)
                aside.replace(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:  # costs time at the next scan, and nothing else
            logger.warning("walk_not_written path=%s reason=%s", path, error.strerror)
            with suppress(OSError):
                aside.unlink(missing_ok=True)

    def _cut(self) -> None:
        self._digests.append(digest_of(b"".join(self._part)))
        self._part = []


def unchanged_tree(path: Path, found: Iterable[Found]) -> str | None:
    """The tree that `path` remembers if a scan finds now exactly what it found then; stops at the first difference."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + DIGEST_SIZE
    body = data[start:]
    if data[: len(_MAGIC)] != _MAGIC or data[len(_MAGIC) : start] != digest_of(body):
        return None
    digests = body[DIGEST_SIZE:]
    at = 0
    for digest in _digests_of(found):
        if digests[at : at + DIGEST_SIZE] != digest:
            return None
        at += DIGEST_SIZE
    return body[:DIGEST_SIZE].hex() if at == len(digests) else None


def _digests_of(found: Iterable[Found]) -> Iterator[bytes]:
    part: list[bytes] = []
    for item in found:
        _note(part, item)
        if len(part) >= _PER_DIGEST:
            yield digest_of(b"".join(part))
            part = []
    yield digest_of(b"".join(part))


def _note(part: list[bytes], found: Found) -> None:
    """Paths hold no NUL, and what follows one has a fixed length for each kind."""
    numbers = b"" if found.status is None else numbers_of(found.status)
    part.append(b"%b\0%c%b" % (found.path, found.kind, numbers))
