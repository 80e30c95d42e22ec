"""An upload that the server itself makes, for somebody: the same packs, rows and checks as a client's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millpond.blobs.store import Buffer
from millpond.db import uploads
from millpond.lake.keys import ProjectKeys
from millpond.lake.transfer import Slot
from millpond.model.dataset import Upload
from millpond.model.ids import new_pack_id
from millpond.services.commits.packs import trust as pack_trust
from millpond.services.commits.uploads import uploads as upload_service
from millpond.services.deps import Deps


class ServerUploader:
    """`Uploader` without URLs: objects go straight into the store."""

    def __init__(self, deps: Deps, upload: Upload, *, counts: bool = True) -> None:
        """`counts` is False for what is in the lake already and only moves there: no quota stands in its way."""
        self.upload = upload
        self._counts = counts
        self._deps = deps
        self._keys = ProjectKeys(upload.project_id)

    def missing(self, digests: Sequence[bytes]) -> Sequence[bool]:
        known = pack_trust.known(self._deps, self.upload.project_id, self.upload.owner, digests)
        return [digest not in known for digest in digests]

    def pack_slots(self, count: int, crc32: Sequence[str] = (), sizes: Sequence[int] = ()) -> list[Slot]:
        ids = [new_pack_id() for _ in range(count)]
        now = self._deps.clock.now()
        with self._deps.db.write() as tx:
            if self._counts:
                upload_service.check_quota(tx, self._deps, self.upload, sum(sizes))
            uploads.promise_packs(tx, self.upload, ids, sizes=sizes, now=now)
            uploads.touch(tx, self.upload.id, now)
        return [Slot(pack_id, self._keys.pack(pack_id)) for pack_id in ids]

    def put(self, slot: Slot, data: Buffer) -> None:
        self._deps.store.put(slot.url, data)

    def packs_written(self, packs: Sequence[tuple[str, int]]) -> None:
        written = [upload_service.WrittenPack(pack_id, size) for pack_id, size in packs]
        upload_service.packs_written(self._deps, self.upload, written, counts=self._counts)

    def page_slots(self, pages: Sequence[str]) -> list[Slot]:
        raise AssertionError("the server writes pages when it changes a branch")

    def put_pages(self, pages: Mapping[str, bytes]) -> None:
        raise AssertionError("no page has a slot")
