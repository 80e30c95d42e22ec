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

from millpond.lake.batch import Batch
from millpond.lake.digests import DIGEST_SIZE, digest_of
from millpond.lake.statcache import is_settled

logger = logging.getLogger(__name__)

_MAGIC = b"MWK1"
_PER_DIGEST = 1024


class Walk:
    """Notes what a scan finds. `moment` is when it began, by the clock that stamps the files."""

    def __init__(self, moment: int) -> None:
        self._moment = moment
        self._digests: list[bytes] = []
        self._notes: list[bytes] = []
        self._is_settled = True

    def noting(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The same batches. Whoever takes one fills it in: what is noted is what was found."""
        for batch in batches:
            self._is_settled &= is_settled(batch.newest, self._moment)
            self._notes += _notes(batch)
            self._digests += _cut(self._notes)
            yield batch

    def save(self, path: Path, tree: str) -> None:
        """Remember that all this was `tree`; forget it where something may still change without a new timestamp."""
        self._digests.append(digest_of(b"".join(self._notes)))
        self._notes = []
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


def unchanged_tree(path: Path, batches: Iterable[Batch]) -> str | None:
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
    for digest in _digests_of(batches):
        if digests[at : at + DIGEST_SIZE] != digest:
            return None
        at += DIGEST_SIZE
    return body[:DIGEST_SIZE].hex() if at == len(digests) else None


def _digests_of(batches: Iterable[Batch]) -> Iterator[bytes]:
    notes: list[bytes] = []
    for batch in batches:
        notes += _notes(batch)
        yield from _cut(notes)
    yield digest_of(b"".join(notes))


def _cut(notes: list[bytes]) -> Iterator[bytes]:
    """The digests of whole parts, which are taken out."""
    while len(notes) >= _PER_DIGEST:
        yield digest_of(b"".join(notes[:_PER_DIGEST]))
        del notes[:_PER_DIGEST]


def _notes(batch: Batch) -> list[bytes]:
    """Paths hold no NUL, and what follows one has a fixed length for each kind."""
    pairs = zip(batch.found, batch.numbers, strict=True)
    return [b"%b\0%c%b" % (path, kind, numbers) for (path, kind, _), numbers in pairs]
