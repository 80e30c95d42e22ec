"""Finds out which tree a push would make, without sending anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millpond.blobs.store import Buffer
from millpond.lake.transfer import Slot


class PageCollector:
    """An uploader for looking only: every blob is there already, and pages are kept here."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}

    def missing(self, digests: Sequence[bytes]) -> Sequence[bool]:
        return [False] * len(digests)

    def pack_slots(self, count: int, crc32: Sequence[str] = (), sizes: Sequence[int] = ()) -> list[Slot]:
        raise AssertionError("nothing is missing, so no pack is filled")

    def put(self, slot: Slot, data: Buffer) -> None:
        raise AssertionError("no pack was filled")

    def packs_written(self, packs: Sequence[tuple[str, int]]) -> None:
        raise AssertionError("no pack was filled")

    def page_slots(self, pages: Sequence[str]) -> list[Slot]:
        return [Slot(id=page, url="") for page in pages]

    def put_pages(self, pages: Mapping[str, bytes]) -> None:
        self.pages.update(pages)
