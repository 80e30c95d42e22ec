"""Pages of trees as the server reads and writes them, through one cache that is bounded in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from millpond.blobs.store import BlobStore
from millpond.errors import BadFormat, Conflict, Corrupt, NotFound
from millpond.lake.folders import LeafFolders, folders_in
from millpond.lake.keys import ProjectKeys
from millpond.lake.lru import Kept
from millpond.lake.pages import IndexPage, decode_page, pack_page, unpack_page
from millpond.lake.reader import TreeReader
from millpond.lake.store_retry import sensible

PAGE_CACHE_BYTES = 32 << 20
# What leaves hold by directory takes some hundred bytes a leaf: enough for many millions of files.
FOLDERS_CACHE_BYTES = 16 << 20
# Requests to the store at a time, for one caller.
PARALLEL = 8


def _weigh(folders: LeafFolders) -> int:
    return folders.weight


class PageCache:
    """Canonical bytes of pages, least recently used out first. Pages never change, so nothing goes stale."""

    def __init__(self, most_bytes: int = PAGE_CACHE_BYTES) -> None:
        self._most = most_bytes
        self._lock = threading.Lock()
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0
        self.folders = Kept[str, LeafFolders](FOLDERS_CACHE_BYTES, weigh=_weigh)

    def held(self, key: str) -> bytes | None:
        with self._lock:
            return self._held.get(key)

    def get(self, key: str, load: Callable[[], bytes]) -> bytes:
        """What `key` stands for. Two callers that miss at once both load: the same bytes."""
        with self._lock:
            found = self._held.get(key)
            if found is not None:
                self._held.move_to_end(key)
                return found
        data = load()
        self.put(key, data)
        return data

    def put(self, key: str, data: bytes) -> None:
        with self._lock:
            if key not in self._held and len(data) <= self._most:
                self._held[key] = data
                self._bytes += len(data)
            while self._bytes > self._most:
                self._bytes -= len(self._held.popitem(last=False)[1])

    def take(self, key: str) -> bytes | None:
        """What is held, which is not held any more."""
        with self._lock:
            data = self._held.pop(key, None)
            self._bytes -= len(data or b"")
            return data


def check_frame(page_id: str, frame: bytes) -> bytes:
    """The page, in canonical bytes. BadFormat unless it is that of this id: nothing else ever lies under its key."""
    try:
        data = unpack_page(page_id, frame)
    except Corrupt as error:
        raise BadFormat(error.message) from error
    decode_page(data)
    return data


def pass_on(store: BlobStore, key: str, frame: bytes) -> None:
    """Write what came for a page's key, if it is that page."""
    check_frame(key.rpartition("/")[2], frame)
    store.put(key, frame)


class ProjectPages:
    """A `lake.reader.PageSource` on the pages of one project, and where new ones go."""

    def __init__(self, store: BlobStore, cache: PageCache, project_id: str) -> None:
        self._store = store
        self._cache = cache
        self._keys = ProjectKeys(project_id)

    def page(self, page_id: str) -> bytes:
        """A page of an accepted commit. Corrupt for one that is damaged or gone."""
        key = self._keys.page(page_id)
        return self._cache.get(key, lambda: self._read_known(page_id))

    def glance(self, page_id: str) -> bytes:
        """A page of an accepted commit that is not worth keeping: many are read, each for a little."""
        key = self._keys.page(page_id)
        return self._cache.held(key) or self._read_known(page_id)

    def keep_folders(self, leaf_id: str, data: bytes) -> LeafFolders:
        """Note what a leaf, given by its checked bytes, holds by directory."""
        folders = folders_in(data)
        self._cache.folders.put(leaf_id, folders)
        return folders

    def put(self, page_id: str, data: bytes) -> None:
        """Durable when it returns. A client may have written anything under this key: only the page itself stays."""
        key, frame = self._keys.page(page_id), pack_page(data)
        try:
            self._store.put(key, frame, if_absent=True)
        except Conflict:
            if not self._holds(page_id):
                self._store.put(key, frame)

    def put_all(self, pages: Mapping[str, bytes]) -> None:
        with ThreadPoolExecutor(PARALLEL) as pool:
            for written in [pool.submit(self.put, page_id, data) for page_id, data in pages.items()]:
                written.result()

    def _holds(self, page_id: str) -> bool:
        try:
            self._read(page_id)
        except (Corrupt, NotFound):
            return False
        return True

    def keep_written(self, page_id: str, token: str, data: bytes) -> None:
        """Note a page of no commit yet. It was promised with this token first, and written and checked then."""
        self._cache.put(self._written(page_id, token), data)

    def fresh(self, page_id: str, token: str) -> bytes:
        """A page of no commit yet, as it lies in the lake now; from memory only if it was written with this token.

        The token is another one when the page was removed since.
        """
        key = self._keys.page(page_id)
        data = self._cache.take(self._written(page_id, token)) or self._read(page_id)
        return self._cache.get(key, lambda: data)

    def _written(self, page_id: str, token: str) -> str:
        return f"{self._keys.page(page_id)} {token}"

    def _read_known(self, page_id: str) -> bytes:
        try:
            return self._read(page_id)
        except NotFound as error:  # whoever asked for a file or a directory must not hear that there is none
            raise Corrupt(
                f"Page {page_id[:12]} of this tree is missing from the lake.", hint="List the damage: mill data verify"
            ) from error

    def _read(self, page_id: str) -> bytes:
        key = self._keys.page(page_id)
        return sensible(lambda: unpack_page(page_id, self._store.get(key)))


def page_ids(reader: TreeReader) -> set[str]:
    """All pages of a tree; only index pages are read."""
    found, level = {reader.root}, [reader.root]
    page = reader.page(reader.root)
    while isinstance(page, IndexPage):
        level = [
            child for page_id in level if isinstance(index := reader.page(page_id), IndexPage) for child in index.ids
        ]
        found.update(level)
        if page.level == 1:
            break
        page = reader.page(level[0])
    return found
