"""The two sides of moving bytes, over the API's signed URLs: clients talk to the object store directly."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TypeVar
from urllib.parse import urljoin

from millpond.blobs.store import CRC32_HEADER, Buffer
from millpond.client.external_reader import URL_SECONDS, URLS_AT_ONCE, Outside
from millpond.client.http import Api, Body, segment
from millpond.client.lake_stores import LakeStores
from millpond.client.paths import commit_path
from millpond.errors import BadFormat, BadRequest, Corrupt, Forbidden, NotFound, StoreUnavailable
from millpond.lake.http import DataPlane
from millpond.lake.locators import unpack_locator
from millpond.lake.page_batches import pack_batch
from millpond.lake.pages import IndexPage, decode_page, is_leaf, unpack_page
from millpond.lake.range_reader import Timeouts
from millpond.lake.store_retry import Waiting
from millpond.lake.transfer import Slot
from millpond.model.dataset import BlobPlace
from millpond.model.tree import Entry
from millpond.retry import RetryPolicy
from millpond.wire.quick.data import (
    PackSlotsRequest,
    PacksWritten,
    PackWritten,
    PageSlotsRequest,
    SizedPackSlotsRequest,
    Slots,
    StoreUrls,
    Upload,
    UploadCreate,
    Urls,
    UrlsRequest,
)

# A request of digests may have 16 MiB; this is 12.8 MB.
DIGESTS_AT_ONCE = 400_000
PAGES_AT_ONCE = 500
SLOTS_AHEAD = 4
_LONGEST_PAUSE = 5.0
_HURRIED = RetryPolicy(attempts=2, longest=1.0)
_HURRIED_TIMEOUTS = Timeouts(connect=3.0, read=15.0)

Value = TypeVar("Value")


class ApiUploader:
    """Writes to one upload of one project. The upload is made when something is first asked of it.

    `known_tree` is a tree the project has: pushing exactly that one asks for nothing and makes no upload.
    """

    def __init__(
        self, api: Api, project: str, known_tree: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._api = api
        self._project = project
        self._known_tree = known_tree
        self._clock = clock
        self._objects = _data_plane(api)
        self._lock = threading.Lock()
        self._upload: Upload | None = None
        self._slots: deque[tuple[Slot, float]] = deque()
        self._checks_crc32 = True  # until slots come without it

    @property
    def id(self) -> str:
        return self._made().id

    @property
    def begins_empty(self) -> bool:
        """True if there was nothing to build on when the upload was made: nothing is asked for then."""
        return self._made().begins_empty

    def missing(self, digests: Sequence[bytes]) -> Sequence[bool]:
        if self.begins_empty:
            return [True] * len(digests)
        answers: list[bool] = []
        for start in range(0, len(digests), DIGESTS_AT_ONCE):
            asked = b"".join(digests[start : start + DIGESTS_AT_ONCE])
            response = self._api.request("POST", f"{self._path}/missing", body=asked, idempotent=True)
            answers.extend(byte != 0 for byte in response.content)
        return answers

    def pack_slots(self, count: int, crc32: Sequence[str] = (), sizes: Sequence[int] = ()) -> list[Slot]:
        """Where the store checks nothing but MD5, slots are asked for a few ahead of need."""
        path = f"{self._path}/packs"
        if crc32 and self._checks_crc32:
            request: Body = PackSlotsRequest(count=count, crc32=list(crc32))
            if sizes and self._made().takes_sizes:
                request = SizedPackSlotsRequest(count=count, crc32=list(crc32), sizes=list(sizes))
            slots = _taken(self._api.send("POST", path, Slots, request, idempotent=True))
            self._checks_crc32 = all(CRC32_HEADER in slot.headers for slot in slots)
            return slots
        with self._lock:
            oldest = self._clock() - URL_SECONDS
            while self._slots and self._slots[0][1] < oldest:
                self._slots.popleft()
            while len(self._slots) < count:
                request = PackSlotsRequest(count=max(count - len(self._slots), SLOTS_AHEAD))
                came = self._clock()
                answer = self._api.send("POST", path, Slots, request, idempotent=True)
                self._slots.extend((slot, came) for slot in _taken(answer))
            return [self._slots.popleft()[0] for _ in range(count)]

    def put(self, slot: Slot, data: Buffer) -> None:
        try:
            self._objects.put(slot.url, data, slot.headers)
        except Forbidden:
            # The slots that came with this one are as old as it is.
            with self._lock:
                self._slots.clear()
            raise

    def packs_written(self, packs: Sequence[tuple[str, int]]) -> None:
        written = [PackWritten(id=pack, size=size) for pack, size in packs]
        self._api.request(
            "POST", f"{self._path}/packs/written", body=PacksWritten(packs=written), idempotent=True, timeout=300.0
        )

    def page_slots(self, pages: Sequence[str]) -> list[Slot]:
        if self._known_tree in pages:
            return []
        slots: list[Slot] = []
        for start in range(0, len(pages), PAGES_AT_ONCE):
            request = PageSlotsRequest(pages=list(pages[start : start + PAGES_AT_ONCE]))
            slots += _taken(self._api.send("POST", f"{self._path}/pages", Slots, request, idempotent=True))
        return slots

    def put_pages(self, pages: Mapping[str, bytes]) -> None:
        put = partial(self._api.request, "PUT", f"{self._path}/pages/bytes", body=pack_batch(pages), timeout=300.0)
        try:
            put()
        except (BadFormat, Forbidden):
            # Damaged on the way, or signed by a server whose clock the store does not like; or else refused again.
            put()

    def close(self) -> None:
        self._objects.close()

    def __enter__(self) -> ApiUploader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _made(self) -> Upload:
        with self._lock:
            if self._upload is None:
                path = f"/projects/{segment(self._project)}/uploads"
                self._upload = self._api.send("POST", path, Upload, UploadCreate(), idempotent=True)
            return self._upload

    @property
    def _path(self) -> str:
        return f"/projects/{segment(self._project)}/uploads/{segment(self.id)}"


class ApiDownloader:
    """Reads the objects of one commit. URLs are asked for in batches, ahead of need, and renewed when they are old."""

    def __init__(
        self,
        api: Api,
        project: str,
        dataset: str,
        commit: str,
        clock: Callable[[], float] = time.monotonic,
        *,
        waiting: Waiting | None = None,
    ) -> None:
        """`waiting` is told when the lake does not answer; by default the one of `api`."""
        self._api = api
        self._path = f"{commit_path(project, dataset, commit)}/urls"
        self._clock = clock
        self._objects = _data_plane(api, waiting)
        # Where another store has the same, one that does not answer is not waited for.
        self._hurried = DataPlane(api.base_url, policy=_HURRIED, timeouts=_HURRIED_TIMEOUTS)
        self._lock = threading.Lock()
        self._outside = Outside(api, self._path, self._objects, clock)
        self._stores = LakeStores(clock)
        # The store that a range of each pack was last read from.
        self._gave: dict[str, str] = {}
        # By kind and id of an object: its URLs by store, the best first, and when they came.
        self._urls: dict[tuple[str, str], tuple[Mapping[str, str], float]] = {}
        # Which lake it is; known once the document of the commit was read.
        self.lake_id: str | None = None
        # Of every pack that a URL was given for, how many bytes it has.
        self.pack_sizes: dict[str, int] = {}
        # What is likely to be asked for next: pages an index names, packs a locator names.
        self._soon: dict[tuple[str, str], None] = {}

    def page(self, page_id: str) -> bytes:
        content = self._whole("pages", page_id, partial(unpack_page, page_id))
        if not is_leaf(content) and isinstance(page := decode_page(content), IndexPage):
            if page.level == 1:
                self.expect_leaves(page.ids)
            else:
                self._expect(("pages", page_id) for page_id in page.ids)
        return content

    def expect_leaves(self, page_ids: Iterable[str]) -> None:
        self._expect((kind, page_id) for page_id in page_ids for kind in ("pages", "locators"))

    def locator(self, page_id: str) -> Mapping[bytes, BlobPlace]:
        places = self._whole("locators", page_id, partial(_locator, page_id))
        self._expect({("packs", place.pack_id): None for place in places.values()})
        return places

    def pack_range(self, pack_id: str, start: int, end: int) -> bytes:
        def read(objects: DataPlane, store: str, url: str) -> bytes:
            data = objects.get_range(url, start, end)
            self._gave[pack_id] = store
            return data

        return self._get(("packs", pack_id), read)

    def given(self) -> Mapping[str, int]:
        """Bytes of content that each store has given: `lake`, `endpoint`, or the id of a replica."""
        return dict(self._stores.given)

    def commit_document(self) -> bytes:
        """The commit as it lies in the lake, unchecked."""
        answer = self._api.send("POST", self._path, Urls, UrlsRequest(commit=True), idempotent=True)
        if answer.commit is None:
            raise NotFound("The server returned no URL for the commit.", hint="Its version is too old.")
        self.lake_id = answer.lake
        return self._objects.get(answer.commit)

    def pack_url(self, pack_id: str) -> str:
        return urljoin(self._api.base_url, self._ways(("packs", pack_id))[0][1])

    def note_read(self, pack_id: str, url: str | None, size: int) -> None:
        ways = self._ways(("packs", pack_id))
        store = next((store for store, known in ways if urljoin(self._api.base_url, known) == url), ways[0][0])
        self._stores.count(store if url else self._gave.get(pack_id, store), size)

    def distrust(self, pack_id: str) -> bool:
        key = ("packs", pack_id)
        (store, _), *others = self._ways(key)
        if others:
            self._stores.note_lacking(store, key, Corrupt(f"Pack {pack_id[:12]} holds other bytes than its commit."))
        return bool(others) and self._ways(key)[0][0] != store

    def external(self, entry: Entry, start: int, end: int) -> Iterator[bytes]:
        return self._outside.read(entry, start, end)

    def expect_external(self, entries: Iterable[Entry]) -> None:
        self._outside.expect(entries)

    def close(self) -> None:
        self._objects.close()
        self._hurried.close()

    def __enter__(self) -> ApiDownloader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _whole(self, kind: str, object_id: str, unpack: Callable[[bytes], Value]) -> Value:
        """Read again once if it makes no sense: bytes may be damaged on the way, and what the store holds decides."""

        def read(objects: DataPlane, store: str, url: str) -> Value:
            return unpack(objects.get(url))

        try:
            return self._get((kind, object_id), read)
        except (Corrupt, BadFormat):
            return self._get((kind, object_id), read)

    def _get(self, key: tuple[str, str], read: Callable[[DataPlane, str, str], Value]) -> Value:
        """What `read` makes of the object, from the best store that has it."""
        *better, (last, _) = self._ways(key)
        for store, url in better:
            try:
                return read(self._hurried, store, url)
            except StoreUnavailable as error:
                self._stores.note_away(store, error)
            except (Forbidden, NotFound, BadRequest, Corrupt, BadFormat) as error:
                self._stores.note_lacking(store, key, error)
        return self._get_patiently(key, last, read)

    def _get_patiently(self, key: tuple[str, str], store: str, read: Callable[[DataPlane, str, str], Value]) -> Value:
        """From one store, over a URL that is renewed once if the store thinks it is too old.

        Corrupt if it does not have what the server names: it is asked once more before that is said.
        """
        for is_last in (False, True):
            ways = dict(self._ways(key))
            # A store may be gone since the URLs were asked for first.
            store = store if store in ways else next(iter(ways))
            try:
                return read(self._objects, store, ways[store])
            except (Forbidden, NotFound, BadRequest) as error:
                if is_last and not isinstance(error, Forbidden):
                    why = (
                        "is no longer in the lake." if isinstance(error, NotFound) else f"is truncated: {error.message}"
                    )
                    raise Corrupt(f"The {key[0][:-1]} {key[1][:12]} {why}") from error
                if is_last:
                    raise
                with self._lock:
                    self._urls.pop(key, None)
        raise AssertionError("unreachable")

    def _ways(self, key: tuple[str, str]) -> list[tuple[str, str]]:
        """The stores that have an object, each with a URL of it that is not too old, the best first."""
        with self._lock:
            known = self._urls.get(key)
            if known is None or known[1] < self._clock() - URL_SECONDS:
                self._ask(key)
            urls = self._urls[key][0]
        return self._stores.order(key, urls)

    def _expect(self, keys: Iterable[tuple[str, str]]) -> None:
        with self._lock:
            self._soon.update((key, None) for key in keys if key not in self._urls)

    def _ask(self, key: tuple[str, str]) -> None:
        """Ask for one URL, and in the same request for those that will be needed next."""
        wanted = {key: None, **dict.fromkeys(islice(self._soon, URLS_AT_ONCE))}
        request = UrlsRequest(
            pages=[name for kind, name in wanted if kind == "pages"],
            locators=[name for kind, name in wanted if kind == "locators"],
            packs=[name for kind, name in wanted if kind == "packs"],
        )
        came = self._clock()
        answer = self._api.send("POST", self._path, Urls, request, idempotent=True)
        found: list[Urls | StoreUrls] = [answer, *answer.others]
        for kind, name in wanted:
            urls = {one.store: url for one in found if (url := getattr(one, kind).get(name)) is not None}
            if urls:
                self._urls[kind, name] = (urls, came)
        self.pack_sizes.update(answer.pack_sizes)
        for asked in wanted:
            self._soon.pop(asked, None)
        if key not in self._urls:
            raise NotFound(f"The server returned no URL for {key[0][:-1]} {key[1][:12]}.")


def _data_plane(api: Api, waiting: Waiting | None = None) -> DataPlane:
    """With the same patience as the server is waited for: of a directory lake it is the server who serves the bytes."""
    policy = RetryPolicy(longest=_LONGEST_PAUSE, seconds=api.patience)
    return DataPlane(api.base_url, policy=policy, timeouts=Timeouts(connect=5.0), waiting=waiting or api.waiting)


def _locator(page_id: str, frame: bytes) -> Mapping[bytes, BlobPlace]:
    try:
        return unpack_locator(frame)
    except BadFormat as error:
        hint = "Rebuild the locators from the packs: mill lake reindex"
        raise Corrupt(f"The locator of page {page_id[:12]} is damaged: {error.message}", hint=hint) from error


def _taken(answer: Slots) -> list[Slot]:
    return [Slot(id=slot.id, url=slot.url, headers=slot.headers) for slot in answer.slots]
