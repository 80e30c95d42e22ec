"""Reading external entries of a commit: what their descriptors say, URLs for those who may read them, their bytes."""

from __future__ import annotations

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain
from urllib.parse import urlencode

from millpond.blobs.external import ExternalPlace
from millpond.db import connections
from millpond.errors import Forbidden, NotFound
from millpond.lake.external import Descriptor, decode_descriptor
from millpond.lake.keys import ProjectKeys
from millpond.lake.locators import unpack_locator
from millpond.model.connection import ExternalObject, ProjectConnection
from millpond.model.dataset import BlobPlace, Commit, Dataset
from millpond.model.path import check_path, from_text, to_text
from millpond.model.tree import Content, Entry
from millpond.services.commits.checks.blobs import read_blobs
from millpond.services.datasets.reading import reader_of
from millpond.services.deps import Deps
from millpond.services.people import access
from millpond.services.sources.connections import opened

ROUTE = "/external"


@dataclass(frozen=True, slots=True)
class ExternalUrl:
    """Where to GET one external file; `descriptor` is the text that the entry's digest is the digest of."""

    url: str
    descriptor: str


def urls(deps: Deps, dataset: Dataset, commit: Commit, paths: Sequence[str]) -> dict[str, ExternalUrl]:
    """A URL for each of these paths of the commit. NotFound for one that is no external entry of it."""
    found = _descriptors(deps, dataset, commit, sorted({check_path(from_text(path)) for path in paths}))
    with ExitStack() as stack:
        places: dict[str, ExternalPlace] = {}
        for name in {descriptor.connection for _, descriptor in found.values()}:
            connection = _connection(deps, dataset.project_id, name, found)
            places[name] = stack.enter_context(opened(deps, connection))
        return {
            to_text(path): ExternalUrl(
                url=_url(deps, dataset.project_id, places[descriptor.connection], descriptor), descriptor=raw
            )
            for path, (raw, descriptor) in found.items()
        }


def read(
    deps: Deps, project_id: str, places: Mapping[bytes, BlobPlace], entry: Entry, start: int, end: int
) -> Iterator[bytes]:
    """Bytes of one external entry, whose leaf has the locator `places`, through the server."""
    _, raw = next(read_blobs(deps, project_id, [places[entry.digest]]))
    return read_described(deps, project_id, decode_descriptor(raw), start, end)


def read_described(deps: Deps, project_id: str, descriptor: Descriptor, start: int, end: int) -> Iterator[bytes]:
    found = ExternalObject(descriptor.uri, descriptor.size, descriptor.etag, descriptor.sha256)
    connection = _connection(deps, project_id, descriptor.connection, {})
    with opened(deps, connection) as place:
        yield from place.read(found, start, end)


def begun(content: Iterator[bytes]) -> Iterator[bytes]:
    """What is wrong from the beginning, a changed object above all, is an error and no stream that breaks off."""
    first = next(content, None)
    return chain([first], content) if first is not None else iter(())


@dataclass(frozen=True, slots=True)
class SignedRead:
    """The permission to read one object through this server until it expires."""

    project_id: str
    connection: str
    uri: str
    etag: str
    size: int
    expires: int

    def url(self, secret: bytes) -> str:
        query = {
            "project": self.project_id,
            "connection": self.connection,
            "uri": self.uri,
            "etag": self.etag,
            "size": self.size,
            "expires": self.expires,
            "signature": self.signature(secret),
        }
        return f"{ROUTE}?{urlencode(query)}"

    def signature(self, secret: bytes) -> str:
        fields = (self.project_id, self.connection, self.uri, self.etag, str(self.size), str(self.expires))
        text = "\n".join([ROUTE, *(part.encode().hex() for part in fields)])
        return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()

    def check(self, deps: Deps, signature: str) -> Descriptor:
        """What may be read. Forbidden unless this server gave exactly this URL, not too long ago."""
        if not hmac.compare_digest(self.signature(deps.secret).encode(), signature.encode()):
            raise Forbidden("The signature of this URL is wrong.")
        if deps.clock.now().timestamp() >= self.expires:
            raise Forbidden("This URL has expired.", hint="Request a new one.")
        return Descriptor(self.connection, self.uri, self.size, self.etag)


def _url(deps: Deps, project_id: str, place: ExternalPlace, descriptor: Descriptor) -> str:
    seconds = deps.settings.url_seconds
    signed = place.sign(descriptor.uri, seconds)
    if signed is not None:
        return signed
    expires = int((deps.clock.now() + timedelta(seconds=seconds)).timestamp())
    permission = SignedRead(
        project_id, descriptor.connection, descriptor.uri, descriptor.etag, descriptor.size, expires
    )
    return permission.url(deps.secret)


def _descriptors(
    deps: Deps, dataset: Dataset, commit: Commit, paths: Sequence[bytes]
) -> dict[bytes, tuple[str, Descriptor]]:
    """By path: the descriptor's text, as its digest names it, and what it says."""
    reader = reader_of(deps, dataset, commit)
    by_leaf: dict[str, list[Entry]] = defaultdict(list)
    for path in paths:
        entry = reader.stat(path)
        if entry is None or entry.content is not Content.EXTERNAL:
            raise access.not_found("external file", to_text(path))
        by_leaf[reader.leaf_of(path)].append(entry)
    keys = ProjectKeys(dataset.project_id)
    found: dict[bytes, tuple[str, Descriptor]] = {}
    for leaf_id, entries in by_leaf.items():
        places = unpack_locator(deps.store.get(keys.locator(leaf_id)))
        raw = dict(read_blobs(deps, dataset.project_id, {places[entry.digest] for entry in entries}))
        found.update({e.path: (raw[e.digest].decode(), decode_descriptor(raw[e.digest])) for e in entries})
    return found


def _connection(
    deps: Deps, project_id: str, name: str, needed_by: Mapping[bytes, tuple[str, Descriptor]]
) -> ProjectConnection:
    """The project's own connection of that name: an entry that another project's commit names one leads nowhere."""
    with deps.db.read() as tx:
        found = connections.find(tx, project_id, name)
    if found is None:
        example = next((to_text(path) for path, (_, one) in needed_by.items() if one.connection == name), None)
        raise NotFound(
            f"{f'{example!r} is' if example else 'This file is'} read through connection {name!r}, "
            "which no longer exists.",
            hint="A project administrator can add it again under the same name.",
        )
    return found
