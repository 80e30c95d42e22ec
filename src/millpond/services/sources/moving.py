"""What moves ask the server for: the objects of a place, and URLs with which each is read or changed.

Credentials stay here; bytes go straight between the job that moves them and the bucket.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, Literal

from millpond.blobs.external import ExternalPlace
from millpond.errors import BadRequest, MillError
from millpond.model.connection import ExternalObject, ProjectConnection
from millpond.services.deps import Deps
from millpond.services.sources import connections

URL_SECONDS = 3600
Method = Literal["GET", "PUT", "DELETE"]


def listed(deps: Deps, connection: ProjectConnection, uri: str) -> Iterator[bytes]:
    """A line of JSON for each object below `uri`, then `{"end": true}`, or what went wrong in between.

    The first object has been found when it returns: what is wrong from the beginning is an error and no stream.
    """
    if not uri.endswith("/") or not connection.place.covers(uri):
        raise BadRequest(f"{uri[:200]!r} is not a prefix below {connection.place.root}.", hint="It ends with '/'.")
    lines = _lines(deps, connection, uri)
    return chain(list(islice(lines, 1)), _told(lines))


def signed(deps: Deps, connection: ProjectConnection, method: Method, uris: Sequence[str]) -> list[str]:
    """Forbidden for changes through a connection that is for reading only."""
    if method == "GET":
        with connections.opened_to_list(deps, connection) as place:
            return [_readable(place, uri) for uri in uris]
    with connections.opened_to_write(deps, connection) as writable:
        return [writable.sign_change(method, uri, URL_SECONDS) for uri in uris]


def _lines(deps: Deps, connection: ProjectConnection, uri: str) -> Iterator[bytes]:
    with connections.opened_to_list(deps, connection) as place:
        for one in place.list(uri):
            yield _line(_shown(one))
    yield _line({"end": True})


def _told(lines: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from lines
    except MillError as error:
        yield _line({"problem": f"{error.message} {error.hint or ''}".strip()})


def _readable(place: ExternalPlace, uri: str) -> str:
    url = place.sign(uri, URL_SECONDS)
    if url is None:
        raise BadRequest("Files of this connection can only be read by the server.", hint="Moves work with s3://.")
    return url


def _shown(one: ExternalObject) -> dict[str, Any]:
    return {"uri": one.uri, "size": one.size, "etag": one.etag}


def _line(told: dict[str, Any]) -> bytes:
    return json.dumps(told).encode() + b"\n"
