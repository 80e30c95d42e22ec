"""Reading external entries of a commit: URLs from the server, bytes from where the objects lie, all checked."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from millpond.client.http import Api
from millpond.errors import ChangedOutside, Corrupt, Forbidden, MillError, NotFound
from millpond.lake.digests import digest_of
from millpond.lake.external import decode_descriptor
from millpond.lake.http import DataPlane
from millpond.model.connection import ExternalObject
from millpond.model.path import to_text
from millpond.model.tree import Entry
from millpond.wire.quick.data import Urls, UrlsRequest

# URLs live 15 minutes at most. Measured by our own clock from the moment they came, so no two clocks must agree.
URL_SECONDS = 600.0
URLS_AT_ONCE = 500
# A request may have 1 MiB, and text may be longer than the bytes it stands for.
_PATHS_BYTES = 200_000
# Each part is a request of its own, which is tried again if it breaks off.
_PART = 8 << 20


@dataclass(frozen=True, slots=True)
class _Known:
    url: str
    found: ExternalObject
    came: float


class Outside:
    """The external entries of one commit. Safe for threads."""

    def __init__(self, api: Api, path: str, objects: DataPlane, clock: Callable[[], float]) -> None:
        """`path` is the API's path for URLs of the commit."""
        self._api = api
        self._path = path
        self._objects = objects
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[bytes, _Known] = {}
        self._soon: dict[bytes, Entry] = {}

    def expect(self, entries: Iterable[Entry]) -> None:
        with self._lock:
            self._soon.update((entry.path, entry) for entry in entries if entry.path not in self._known)

    def read(self, entry: Entry, start: int, end: int) -> Iterator[bytes]:
        """As in `lake.transfer.Downloader.external`."""
        try:
            yield from self._read(entry, start, end)
        except (ChangedOutside, NotFound) as error:
            raise _named(entry, error) from error

    def _read(self, entry: Entry, start: int, end: int) -> Iterator[bytes]:
        whole = hashlib.sha256() if (start, end) == (0, entry.size) else None
        expected = self._get(entry).found.sha256
        for at in range(start, end, _PART):
            part = self._part(entry, at, min(at + _PART, end))
            if whole is not None and expected is not None:
                whole.update(part)
            yield part
        if whole is not None and expected is not None and whole.hexdigest() != expected:
            raise Corrupt(f"{to_text(entry.path)!r} does not match its SHA-256.")

    def _part(self, entry: Entry, start: int, end: int) -> bytes:
        """Over a URL that is renewed once if the store thinks it is too old."""
        known = self._get(entry)
        try:
            return self._objects.get_external(known.url, known.found, start, end)
        except Forbidden:
            with self._lock:
                self._known.pop(entry.path, None)
        known = self._get(entry)
        return self._objects.get_external(known.url, known.found, start, end)

    def _get(self, entry: Entry) -> _Known:
        with self._lock:
            known = self._known.get(entry.path)
            if known is None or known.came < self._clock() - URL_SECONDS:
                self._ask(entry)
            return self._known[entry.path]

    def _ask(self, entry: Entry) -> None:
        """Ask for one URL, and in the same request for those that will be needed next."""
        wanted = {entry.path: entry}
        length = 0
        for path, one in islice(self._soon.items(), URLS_AT_ONCE):
            length += len(path)
            if length > _PATHS_BYTES:
                break
            wanted[path] = one
        came = self._clock()
        request = UrlsRequest(external=[to_text(path) for path in wanted])
        answer = self._api.send("POST", self._path, Urls, request, idempotent=True)
        for path, one in wanted.items():
            given = answer.external.get(to_text(path))
            self._soon.pop(path, None)
            if given is None:
                raise NotFound(f"The server returned no URL for {to_text(path)!r}.")
            # The tree names the descriptor, so nobody can pass another object off as this one.
            if digest_of(given.descriptor.encode()) != one.digest:
                raise Corrupt(f"The descriptor of {to_text(path)!r} does not match the tree.")
            says = decode_descriptor(given.descriptor.encode())
            self._known[path] = _Known(given.url, ExternalObject(says.uri, says.size, says.etag, says.sha256), came)


def _named(entry: Entry, error: MillError) -> MillError:
    details = {key: value for key, value in error.details.items() if key != "path"}
    message = f"Cannot read {to_text(entry.path)!r}, which is stored outside the lake: {error.message}"
    return type(error)(message, hint=error.hint, path=to_text(entry.path), **details)
