"""What pushing and fetching need from the outside: somewhere to write, somewhere to read, someone to tell."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from millpond.blobs.store import Buffer
from millpond.model.dataset import BlobPlace
from millpond.model.tree import Entry


@dataclass(frozen=True, slots=True)
class Slot:
    """Permission to write one object: its id, and the PUT that writes it."""

    id: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)


class Uploader(Protocol):
    """The writing side of one upload. Called from several threads; every call may be repeated."""

    def missing(self, digests: Sequence[bytes]) -> Sequence[bool]:
        """For each digest, whether its blob must be sent: it is neither in the project nor in this upload."""
        ...

    def pack_slots(self, count: int, crc32: Sequence[str] = (), sizes: Sequence[int] = ()) -> list[Slot]:
        """`crc32` and `sizes` are those of the packs, one for each: where the store checks them, slots have headers
        that say so. OverQuota for a pack that the project has no room for in the lake."""
        ...

    def put(self, slot: Slot, data: Buffer) -> None:
        """Forbidden if the slot has expired: the caller then asks for a new one."""
        ...

    def packs_written(self, packs: Sequence[tuple[str, int]]) -> None:
        """Ids and sizes of packs that are written: from now on their blobs are not missing."""
        ...

    def page_slots(self, pages: Sequence[str]) -> list[Slot]:
        """Slots for those pages that must be sent.

        A page may count as present only if the blobs its entries name are present too: it belongs to an
        accepted commit of the project.
        """
        ...

    def put_pages(self, pages: Mapping[str, bytes]) -> None:
        """Write pages that slots were given for: their frames by id, some megabytes together at most."""
        ...


class Downloader(Protocol):
    """The reading side of one commit. Called from several threads; URLs and their renewal are its own business."""

    def page(self, page_id: str) -> bytes:
        """Canonical bytes, checked against the id."""
        ...

    def locator(self, page_id: str) -> Mapping[bytes, BlobPlace]:
        """Where the blobs of a leaf page lie."""
        ...

    def pack_range(self, pack_id: str, start: int, end: int) -> Buffer: ...

    def pack_url(self, pack_id: str) -> str | None:
        """Where another process may read the pack for some minutes; None if only this one can."""
        ...

    def note_read(self, pack_id: str, url: str | None, size: int) -> None:
        """So many bytes of a pack were read and checked: over a URL of `pack_url`, or with `pack_range` (None)."""
        ...

    def given(self) -> Mapping[str, int]:
        """Bytes of packs that each store has given, by its id; nothing where there is but one."""
        ...

    def distrust(self, pack_id: str) -> bool:
        """The pack was found to hold wrong bytes where it was read: True if it is read elsewhere from now on."""
        ...

    def external(self, entry: Entry, start: int, end: int) -> Iterator[bytes]:
        """Bytes `start` to `end` (not included) of an external entry, from where its object lies.

        ChangedOutside or NotFound, naming file and object, if it is not what was imported any more; Corrupt if all
        of it was read and is not what a known digest says.
        """
        ...

    def expect_leaves(self, page_ids: Iterable[str]) -> None:
        """These and their locators are about to be read: URLs may be asked for together.

        For those below a page that did not come from here; of one that did it is known.
        """
        ...

    def expect_external(self, entries: Iterable[Entry]) -> None:
        """These are about to be read: URLs may be asked for together."""
        ...


@dataclass(frozen=True, slots=True)
class Moved:
    """How far a transfer has come. Totals may still grow until `counted`; `sent` went over the network.

    Of that, `outside` came from objects that lie outside the lake. `local` of the bytes were made without the lake.
    """

    files: int = 0
    bytes: int = 0
    sent: int = 0
    files_total: int = 0
    bytes_total: int = 0
    counted: bool = False
    outside: int = 0
    local: int = 0


class Progress(Protocol):
    """May have an attribute `first_look`: how many seconds pass before anybody sees what it is told."""

    def __call__(self, moved: Moved, /) -> None:
        """Called often, from any thread, but never by two at once. Must return quickly."""
        ...


class Meter:
    """Adds up what threads have done and tells `progress`, at most every `interval` seconds."""

    def __init__(
        self, progress: Progress | None, interval: float = 0.05, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.watched = progress is not None
        self.first_look = float(getattr(progress, "first_look", 0.5))
        self._progress = progress
        self._interval = interval
        self._clock = clock
        self._told = float("-inf")
        self._files = self._bytes = self._sent = self._outside = self._local = 0
        self._totals = (0, 0)
        self._counted = False
        self._lock = threading.Lock()

    def add(self, files: int = 0, bytes: int = 0, sent: int = 0, outside: int = 0, local: int = 0) -> None:
        with self._lock:
            self._files += files
            self._bytes += bytes
            self._sent += sent
            self._outside += outside
            self._local += local
            self._tell(force=False)

    def expect(self, files: int, bytes: int, *, counted: bool = False) -> None:
        """Set the totals as far as they are known; once `counted` they stay."""
        with self._lock:
            if not self._counted:
                self._totals, self._counted = (files, bytes), counted
                self._tell(force=counted)

    def finish(self) -> Moved:
        """Tell once more, and return how far it came."""
        with self._lock:
            self._totals, self._counted = (self._files, self._bytes), True
            self._tell(force=True)
            return self._moved()

    def _tell(self, *, force: bool) -> None:
        if self._progress is None:
            return
        now = self._clock()
        if force or now - self._told >= self._interval:
            self._told = now
            self._progress(self._moved())

    def _moved(self) -> Moved:
        return Moved(self._files, self._bytes, self._sent, *self._totals, self._counted, self._outside, self._local)
