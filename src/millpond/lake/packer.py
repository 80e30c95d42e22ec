"""Sending blobs: ask which are missing, fill packs with those, and upload a bounded number of packs at a time.

The server is told of written packs beside the sending of the next ones: what it then does ends with a write to disk.
"""

from __future__ import annotations

import mmap
from base64 import b64encode
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, repeat
from zlib import crc32

from millpond.blobs.store import Buffer
from millpond.errors import Forbidden
from millpond.lake.packs import PackWriter
from millpond.lake.page_batches import page_batches
from millpond.lake.transfer import Meter, Slot, Uploader

_SENDERS = 3
# Packs that are written but that the server was not told of yet: they would be sent again after a crash.
_UNTOLD_MOST = 3
# The first packs are small ones, so that sending begins soon and goes on.
_FIRST_TARGETS = (8 << 20, 16 << 20)
# Blobs whose presence is asked for at once.
_ASK_DIGESTS = 4000
_ASK_BYTES = 32 << 20


class Packer:
    """Collects blobs, asks which are missing, and sends those in packs. `with` waits for what is under way."""

    def __init__(self, uploader: Uploader, meter: Meter, target: int) -> None:
        self.uploader = uploader
        self.packs = 0
        self._meter = meter
        self._targets = chain((min(target, first) for first in _FIRST_TARGETS), repeat(target))
        self._target = next(self._targets)
        self._buffers: list[mmap.mmap] = []
        self._writer = PackWriter(self._target)
        self._senders = ThreadPoolExecutor(_SENDERS, "push-send")
        self._teller = ThreadPoolExecutor(1, "push-tell")
        self._sending: deque[Future[None]] = deque()
        self._telling: deque[Future[None]] = deque()
        self._written: deque[tuple[str, int]] = deque()
        self._asked: set[bytes] = set()
        self._waiting: list[tuple[bytes, bytes]] = []
        self._waiting_bytes = 0

    def __enter__(self) -> Packer:
        return self

    def __exit__(self, *_: object) -> None:
        self._senders.shutdown(wait=True, cancel_futures=True)
        self._teller.shutdown(wait=True)

    def knows(self, digest: bytes) -> bool:
        """Whether this push has already seen to it that the blob will be there."""
        return digest in self._asked

    def add(self, digest: bytes, data: Buffer) -> None:
        """Send the blob unless it is there. `data` is copied if it is not `bytes`."""
        if digest not in self._asked:
            self.add_all(((digest, data if isinstance(data, bytes) else bytes(data)),))

    def add_all(self, blobs: Iterable[tuple[bytes, bytes]]) -> None:
        """Send those of these blobs that are not there: some megabytes together at most."""
        for blob in blobs:
            digest, data = blob
            if digest not in self._asked:
                self._asked.add(digest)
                self._waiting.append(blob)
                self._waiting_bytes += len(data)
        if len(self._waiting) >= _ASK_DIGESTS or self._waiting_bytes >= min(_ASK_BYTES, self._target):
            self._pack_missing()

    def flush(self) -> None:
        """Begin to send what is left."""
        self._pack_missing()
        self._send_pack()

    def finish(self) -> None:
        """Send what is left and wait until all of it is written and the server knows."""
        self.flush()
        self._wait(0)
        self._wait_until_told(0)

    def put_all(self, slots: Sequence[Slot], pages: Mapping[str, bytes]) -> int:
        """Write pages, many in one request, beside what else is under way; the number written."""
        batches = page_batches((slot.id, pages[slot.id]) for slot in slots)
        with ThreadPoolExecutor(_SENDERS, "push-pages") as pool:
            return sum(pool.map(self._put_pages, batches))

    def _pack_missing(self) -> None:
        if not self._waiting:
            return
        missing = self.uploader.missing([digest for digest, _ in self._waiting])
        for (digest, data), is_missing in zip(self._waiting, missing, strict=True):
            if is_missing:
                if not self._writer.fits(len(data)):
                    self._send_pack()
                self._writer.add(digest, data)
        self._waiting = []
        self._waiting_bytes = 0

    def _send_pack(self) -> None:
        if not len(self._writer):
            return
        writer = self._writer
        self._wait(_SENDERS - 1)
        self._wait_until_told(_UNTOLD_MOST)
        self._sending.append(self._senders.submit(self._put_pack, writer))
        self._target = next(self._targets)
        self._writer = PackWriter(self._target, self._buffers.pop() if self._buffers else None)
        self.packs += 1

    def _wait(self, most: int) -> None:
        """Until at most `most` packs are under way; an error of any of them is raised here."""
        while len(self._sending) > most:
            self._sending.popleft().result()

    def _wait_until_told(self, most: int) -> None:
        while len(self._telling) > most:
            self._telling.popleft().result()

    def _put_pack(self, writer: PackWriter) -> None:
        with writer.finish() as pack:
            self._put_bytes(pack)
        self._buffers.append(writer.release())

    def _put_bytes(self, pack: memoryview) -> None:
        checksum = [b64encode(crc32(pack).to_bytes(4, "big")).decode()]
        slot = self.uploader.pack_slots(1, checksum, [len(pack)])[0]
        try:
            self.uploader.put(slot, pack)
        except Forbidden:  # it took longer to get here than the slot lives
            slot = self.uploader.pack_slots(1, checksum, [len(pack)])[0]
            self.uploader.put(slot, pack)
        self._meter.add(sent=len(pack))
        self._written.append((slot.id, len(pack)))
        self._telling.append(self._teller.submit(self._tell))

    def _tell(self) -> None:
        """Tell of all that was written by now: what came while the server was busy goes in one request."""
        told = [self._written.popleft() for _ in range(len(self._written))]
        if told:
            self.uploader.packs_written(told)

    def _put_pages(self, pages: Mapping[str, bytes]) -> int:
        self.uploader.put_pages(pages)
        self._meter.add(sent=sum(map(len, pages.values())))
        return len(pages)
