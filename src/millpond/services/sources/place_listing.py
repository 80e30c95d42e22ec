"""What lies at a place outside the lake, and which paths of a dataset it becomes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

from millpond.blobs.external import ExternalPlace
from millpond.blobs.guarded_http import shown
from millpond.errors import BadPath, BadRequest, NotFound
from millpond.model.connection import ExternalObject, Place, PlaceKind
from millpond.model.path import check_path, to_text

OBJECTS_MOST = 2_000_000
NAMED = 100


@dataclass(frozen=True, slots=True)
class Wanted:
    """`uri` is an object, a prefix, or with `listing` a text that names files; `path` the directory they go to."""

    uri: str
    listing: bool
    path: bytes


@dataclass(frozen=True, slots=True)
class Skipped:
    """An object that did not come along, and why."""

    uri: str
    reason: str


@dataclass(slots=True)
class Looked:
    """The objects by the path each becomes, and those that cannot become one."""

    objects: dict[bytes, ExternalObject] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    skipped_count: int = 0

    def skip(self, uri: str, reason: str) -> None:
        self.skipped_count += 1
        if len(self.skipped) < NAMED:
            self.skipped.append(Skipped(uri=shown(uri), reason=reason))


def check_wanted(place: Place, wanted: Wanted) -> None:
    """BadRequest for what the connection does not lead to."""
    if not place.covers(wanted.uri):
        raise BadRequest(f"{shown(wanted.uri)} is not below {place.root}, the root of this connection.")
    if wanted.listing and place.kind != PlaceKind.HTTPS:
        raise BadRequest("Buckets list their objects themselves.", hint="Only https addresses can have a listing.")


def look(place: ExternalPlace, where: Place, wanted: Wanted) -> Looked:
    """Everything there. NotFound if there is nothing."""
    looked = Looked()
    for name, found in _found(place, where, wanted):
        _take(looked, wanted.path, name, found)
        if len(looked.objects) > OBJECTS_MOST:
            raise BadRequest(
                f"{shown(wanted.uri)} holds more than {OBJECTS_MOST:,} objects.", hint="Import a part of it."
            )
    _skip_directories(looked)
    return looked


def _found(place: ExternalPlace, where: Place, wanted: Wanted) -> Iterator[tuple[str, ExternalObject]]:
    """Each object with its name below what was asked for."""
    if where.kind == PlaceKind.HTTPS:
        if not wanted.listing:
            yield _web_name(wanted.uri, wanted.uri), place.look(wanted.uri)
            return
        for found in place.list(wanted.uri):
            yield _web_name(wanted.uri, found.uri), found
        return
    if not wanted.uri.endswith("/") and wanted.uri + "/" != where.root:
        try:
            yield wanted.uri.rpartition("/")[2], place.look(wanted.uri)
            return
        except NotFound:
            pass  # not an object: then a prefix
    prefix = wanted.uri.rstrip("/") + "/"
    is_empty = True
    for found in place.list(prefix):
        is_empty = False
        yield found.uri.removeprefix(prefix), found
    if is_empty:
        raise NotFound(f"Nothing found at {wanted.uri}.")


def _web_name(base: str, uri: str) -> str:
    directory = shown(base).rpartition("/")[0] + "/"
    name = shown(uri)
    return unquote(name.removeprefix(directory) if name.startswith(directory) else name.rpartition("/")[2])


def _take(looked: Looked, directory: bytes, name: str, found: ExternalObject) -> None:
    if name.endswith("/") or not name:
        if found.size:
            looked.skip(found.uri, "Its name ends with a slash, so it cannot be a file.")
        return  # what consoles make to show an empty folder
    path = name.encode("utf-8", "surrogateescape")
    try:
        check_path(directory + b"/" + path if directory else path)
    except BadPath as error:
        looked.skip(found.uri, error.message)
        return
    path = directory + b"/" + path if directory else path
    if path in looked.objects:
        looked.skip(found.uri, f"Another object would also become {to_text(path)!r}.")
    else:
        looked.objects[path] = found


def _skip_directories(looked: Looked) -> None:
    """No file can be a directory of others, in a tree; in a bucket it can."""
    for parent in _parents(looked.objects):
        found = looked.objects.pop(parent, None)
        if found is not None and found.size:
            looked.skip(found.uri, "Other objects are below it, as if it were a directory.")


def _parents(paths: Iterable[bytes]) -> set[bytes]:
    found: set[bytes] = set()
    for path in paths:
        parent = path.rpartition(b"/")[0]
        while parent and parent not in found:
            found.add(parent)
            parent = parent.rpartition(b"/")[0]
    return found
