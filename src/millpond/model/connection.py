"""Connections: places outside the lake that a project may import from, and the objects that lie there."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from urllib.parse import unquote, urlsplit

from millpond.errors import BadRequest

_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_REGION = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_LONGEST = 4000
DEFAULT_REGION = "us-east-1"


class PlaceKind(StrEnum):
    """The built-in ones; plug-ins add others. It is the scheme of the place's URL."""

    S3 = "s3"
    GCS = "gs"
    HTTPS = "https"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a connection leads: everything below a bucket's prefix, or below an https address.

    `root` ends with `/`; every URI the connection serves begins with it. The URI of an object in a bucket is
    `s3://bucket/` and its key, byte for byte and without any escaping.
    """

    kind: str
    root: str
    endpoint: str | None = None
    region: str = DEFAULT_REGION

    @classmethod
    def parse(
        cls,
        url: str,
        *,
        endpoint: str | None = None,
        region: str | None = None,
        kinds: Collection[str] = tuple(PlaceKind),
    ) -> Place:
        """BadRequest, with what to write instead, for what cannot be a place of one of the `kinds`."""
        scheme, separator, rest = url.partition("://")
        if not separator or scheme not in kinds or len(url) > _LONGEST:
            raise BadRequest(
                f"{url[:200]!r} is not a place to import from.",
                hint="Write s3://bucket, gs://bucket or https://host/path.",
            )
        if (endpoint or region) and scheme in (PlaceKind.GCS, PlaceKind.HTTPS):
            raise BadRequest("Only s3:// has an endpoint and a region.")
        if scheme == PlaceKind.HTTPS:
            return cls(scheme, check_web_address(url.rstrip("/") + "/"))
        bucket, _, prefix = rest.partition("/")
        if not _BUCKET.fullmatch(bucket) or ".." in bucket:
            raise BadRequest(f"{bucket[:100]!r} is not the name of a bucket.")
        if region is not None and not _REGION.fullmatch(region):
            raise BadRequest(f"{region[:100]!r} is not the name of a region.")
        prefix = prefix.rstrip("/")
        root = f"{scheme}://{bucket}/{prefix}/" if prefix else f"{scheme}://{bucket}/"
        return cls(scheme, root, _endpoint(endpoint), region or DEFAULT_REGION)

    @property
    def bucket(self) -> str:
        return self.root.partition("://")[2].partition("/")[0]

    def covers(self, uri: str) -> bool:
        """Whether the connection leads to this URI; the place itself counts."""
        if uri.rstrip("/") + "/" == self.root:
            return True
        if not uri.startswith(self.root) or len(uri) > _LONGEST:
            return False
        # HTTP takes such parts of a path for directories, and they would lead out of the place.
        return _is_plain(uri) if self.kind == PlaceKind.HTTPS else not {".", ".."} & set(uri.split("/"))

    def key_of(self, uri: str) -> str:
        """The key of an object in a bucket."""
        return uri.removeprefix(f"{self.kind}://{self.bucket}/")

    def uri_of(self, key: str) -> str:
        return f"{self.kind}://{self.bucket}/{key}"


@dataclass(frozen=True, slots=True)
class ExternalObject:
    """One object as it lies outside the lake. `etag` is None where its place gives none that means equal bytes."""

    uri: str
    size: int
    etag: str | None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class ProjectConnection:
    """A place with credentials of its own, which are sealed and never leave the server."""

    id: str
    project_id: str
    name: str
    place: Place
    sealed: bytes | None
    created_at: datetime
    created_by: str
    # Members may also put objects there, by moves and mirrors.
    writable: bool = False


def check_web_address(url: str) -> str:
    """`url` itself if it is a plain https address; BadRequest otherwise."""
    if not _is_plain(url):
        raise BadRequest(
            f"{url[:200]!r} is not a plain https address.",
            hint="Write https://host/path, without user, fragment, '.' and '..'; credentials are given apart.",
        )
    return url


def _is_plain(url: str) -> bool:
    """No part that another reader of the URL could take for a way out of its directory, or for another host."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    odd = any(ord(character) <= 32 or ord(character) == 127 or character in '\\"<>^`{|}' for character in url)
    if parts.scheme != "https" or not host or "@" in parts.netloc or parts.fragment or odd or len(url) > _LONGEST:
        return False
    return not any(unquote(part) in (".", "..") for part in re.split(r"/|%2f", parts.path, flags=re.IGNORECASE))


def _endpoint(endpoint: str | None) -> str | None:
    if not endpoint:
        return None
    parts = urlsplit(endpoint)
    plain = parts.path in ("", "/") and not parts.query and not parts.fragment and "@" not in parts.netloc
    if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
        raise BadRequest(f"{endpoint[:200]!r} is not an endpoint.", hint="Write https://host or https://host:port.")
    return f"{parts.scheme}://{parts.netloc}"
