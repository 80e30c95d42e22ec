"""Opens the store a URL names: a directory, `file:`, `memory:`, `s3:`, `gs:`, `az:`, or the scheme of a plug-in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit
from urllib.request import url2pathname

from millpond import plugins
from millpond.blobs.signing import LocalSigner
from millpond.blobs.store import BlobStore
from millpond.errors import BadRequest, MillError, SetupError


@dataclass(frozen=True, slots=True)
class Location:
    """A store's URL, taken apart."""

    scheme: str
    bucket: str
    prefix: str
    options: Mapping[str, str]

    @classmethod
    def parse(cls, url: str) -> Location:
        parts = urlsplit(url)
        if parts.scheme == "memory":
            return cls("memory", "", "", {})
        if parts.scheme == "file":
            return cls("file", "", url2pathname(parts.path), {})
        if "://" not in url:
            return cls("file", "", url, {})
        if parts.scheme not in plugins.names(plugins.STORES):
            raise unusable(url)
        return cls(parts.scheme, parts.netloc, unquote(parts.path).strip("/"), dict(parse_qsl(parts.query)))


def open_store(url: str, signer: LocalSigner | None = None, environment: Mapping[str, str] | None = None) -> BlobStore:
    """The store at `url`. `signer` makes the URLs of stores that the server itself serves.

    Credentials of S3 and Azure come from the usual AWS_* and AZURE_* variables of `environment` (the process's own by
    default).
    """
    location = Location.parse(url)
    opener = plugins.load(plugins.STORES, location.scheme)
    try:
        store: BlobStore = opener(location, os.environ if environment is None else environment, signer)
    except MillError:
        raise
    except Exception as error:
        raise SetupError(f"Cannot open the lake {url!r}: {error}") from error
    return store


def unusable(url: str) -> BadRequest:
    return BadRequest(
        f"{url!r} is not a location for a lake.",
        hint="Write a directory, s3://bucket/prefix?endpoint=…, gs://bucket/prefix or az://container/prefix.",
    )
