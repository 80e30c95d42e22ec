"""The lake's own bucket is no place to import from, under whatever name it is reached."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from urllib.parse import SplitResult, urlsplit

from millpond.blobs.external import ExternalPlace
from millpond.blobs.location import Location
from millpond.db import server
from millpond.errors import BadRequest, Forbidden, NotFound
from millpond.lake.keys import LAKE
from millpond.model.connection import Place, PlaceKind
from millpond.services.deps import Deps

_RECORD_MOST = 4096
_CLOUDS = {
    "s3": "https://s3.amazonaws.com",
    "gs": "https://storage.googleapis.com",
    "az": "https://blob.core.windows.net",
}
_SHARED = ("amazonaws.com", "amazonaws.com.cn", "googleapis.com", "core.windows.net")


def refuse(deps: Deps, place: Place, open_bucket: Callable[[], AbstractContextManager[ExternalPlace]]) -> None:
    """BadRequest if the place is the lake's bucket: by its name, or because the lake's own record lies in it.

    The record is looked for through the connection itself, so another endpoint, an alias or an access point does
    not help; what the connection's credentials cannot read, they cannot import either.
    """
    lake = Location.parse(deps.settings.lake)
    if not lake.bucket:
        return
    if _same_by_name(lake, place):
        raise _refused(place)
    if place.kind == PlaceKind.HTTPS:
        return
    key = f"{lake.prefix}/{LAKE}" if lake.prefix else LAKE
    with deps.db.read() as tx:
        row = server.get(tx)
    with open_bucket() as bucket:
        if row is not None and row.lake_id is not None and _lake_id(bucket, place.uri_of(key)) == row.lake_id:
            raise _refused(place)


def _lake_id(bucket: ExternalPlace, uri: str) -> str | None:
    try:
        found = bucket.look(uri)
        if found.size > _RECORD_MOST:
            return None
        document = json.loads(b"".join(bucket.read(found, 0, found.size)))
    except (NotFound, Forbidden, ValueError):
        return None
    return str(document.get("lake")) if isinstance(document, dict) else None


def _same_by_name(lake: Location, place: Place) -> bool:
    """Whether the names alone say so, however the machine behind them is spelled."""
    own = urlsplit(lake.options.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL") or _CLOUDS.get(lake.scheme, ""))
    if place.kind == PlaceKind.HTTPS:
        there = urlsplit(place.root)
        names_it = lake.bucket in (there.path.split("/")[1], (there.hostname or "").partition(".")[0])
        return names_it and _same_host(own, there)
    if not own.hostname or not (place.endpoint or place.kind in _CLOUDS):
        # A plug-in knows where it is.
        return lake.scheme == place.kind and lake.bucket == place.bucket
    there = urlsplit(place.endpoint or _CLOUDS[place.kind])
    return lake.bucket == place.bucket and _same_host(own, there)


def _same_host(one: SplitResult, other: SplitResult) -> bool:
    first, second = (one.hostname or "").lower(), (other.hostname or "").lower()
    cloud = next((cloud for cloud in _SHARED if first.endswith(cloud)), None)
    if cloud is not None:
        return second.endswith(cloud)  # names of buckets are unique in a cloud, whatever the region
    same_port = _port(one) == _port(other)
    return same_port and (first == second or bool(_addresses(first) & _addresses(second)))


def _port(url: SplitResult) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _addresses(host: str) -> set[str]:
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        return set()


def _refused(place: Place) -> BadRequest:
    return BadRequest(
        f"{place.kind}://{place.bucket} is the lake's own bucket.",
        hint="Its content belongs to datasets; read it through them.",
    )
