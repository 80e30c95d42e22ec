"""Fetches objects of S3 and files of web servers into a directory, several at once, each under its name."""

from __future__ import annotations

import fnmatch
import hashlib
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import httpx
import obstore
import step
from obstore.exceptions import BaseError
from obstore.store import S3Store

CHUNK = 1 << 20
TRIES = 3


@dataclass(frozen=True)
class Object:
    """`write(path)` brings it there."""

    name: str
    write: Callable[[Path], None]


def main() -> None:
    params, target = step.params(), step.output("data")
    objects = [*listed(params), *(single(url, params) for url in params.urls)]
    if not objects:
        raise step.Problem("Nothing to fetch: no object matches, and urls is empty.")
    doubled = sorted({one.name for one in objects if sum(other.name == one.name for other in objects) > 1})
    if doubled:
        raise step.Problem(f"Two objects have the name {doubled[0]!r}. Fetch them in two steps.")
    with ThreadPoolExecutor(params.workers) as threads:
        list(threads.map(lambda one: fetch(one, target, params.sha256 or {}), objects))
    if params.extract:
        for one in objects:
            unpack(target / one.name)
    files = [path for path in target.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    step.log("log_metrics", {"count": len(files), "bytes": size})
    step.save_values(count=len(files), bytes=size)
    step.say(f"{len(files)} files, {size:,} bytes")


def listed(params: SimpleNamespace) -> list[Object]:
    """The objects below `source`."""
    if not params.source:
        return []
    bucket, prefix = split_s3(params.source)
    store = open_bucket(bucket, params)
    try:
        found = [item["path"] for page in obstore.list(store, prefix=prefix or None) for item in page]
    except BaseError as error:
        raise step.Problem(f"Cannot list {params.source}: {str(error).splitlines()[0]}") from error
    start = len(prefix) + 1 if prefix else 0
    names = [(key, key[start:]) for key in sorted(found) if key[start:]]
    return [
        Object(name, lambda path, key=key: write_object(store, key, path))
        for key, name in names
        if fnmatch.fnmatch(PurePosixPath(name).name, params.pattern)
    ]


def single(url: str, params: SimpleNamespace) -> Object:
    parts = urlsplit(url)
    name = unquote(PurePosixPath(parts.path).name)
    if parts.scheme == "s3" and name:
        bucket, key = split_s3(url)
        store = open_bucket(bucket, params)
        return Object(name, lambda path: write_object(store, key, path))
    if parts.scheme not in ("http", "https") or not name or name in (".", ".."):
        raise step.Problem(f"{url!r} is not the address of a file: expected https://HOST/…/NAME or s3://BUCKET/KEY.")
    headers = {"Authorization": f"Bearer {step.secret(params.bearer)}"} if params.bearer else {}
    return Object(name, lambda path: write_url(url, headers, path))


def split_s3(written: str) -> tuple[str, str]:
    parts = urlsplit(written)
    if parts.scheme != "s3" or not parts.netloc:
        raise step.Problem(f"{written!r} is not an S3 address: expected s3://BUCKET/PREFIX.")
    return parts.netloc, parts.path.strip("/")


def open_bucket(bucket: str, params: SimpleNamespace) -> S3Store:
    options: dict[str, object] = {"region": params.region, "virtual_hosted_style_request": not params.endpoint}
    if params.endpoint:
        options["endpoint"] = params.endpoint
    if params.key_id and params.key_secret:
        options |= {"access_key_id": step.secret(params.key_id), "secret_access_key": step.secret(params.key_secret)}
    else:
        options["skip_signature"] = True
    plain = bool(params.endpoint) and params.endpoint.startswith("http://")
    return S3Store(bucket, client_options={"allow_http": plain}, **options)


def write_object(store: S3Store, key: str, path: Path) -> None:
    try:
        with path.open("wb") as file:
            for chunk in obstore.get(store, key).stream(CHUNK):
                file.write(chunk)
    except BaseError as error:
        raise step.Problem(f"Cannot fetch {key}: {str(error).splitlines()[0]}") from error


def write_url(url: str, headers: dict[str, str], path: Path) -> None:
    for left in reversed(range(TRIES)):
        try:
            with (
                httpx.stream("GET", url, headers=headers, follow_redirects=True, timeout=60) as answer,
                path.open("wb") as file,
            ):
                if answer.status_code >= 500 and left:
                    continue
                answer.raise_for_status()
                for chunk in answer.iter_bytes(CHUNK):
                    file.write(chunk)
            return
        except httpx.HTTPStatusError as error:
            raise step.Problem(f"Cannot fetch {url}: status {error.response.status_code}") from error
        except httpx.TransportError as error:
            if not left:
                raise step.Problem(f"Cannot fetch {url}: {error}") from error


def fetch(one: Object, target: Path, digests: dict[str, str]) -> None:
    path = target / one.name
    if not path.resolve().is_relative_to(target.resolve()):
        raise step.Problem(f"{one.name!r} lies outside of the output.")
    path.parent.mkdir(parents=True, exist_ok=True)
    one.write(path)
    if one.name in digests:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != digests[one.name]:
            raise step.Problem(f"{one.name} has the SHA-256 {found}, not {digests[one.name]}.")


def unpack(path: Path) -> None:
    """Replace an archive by its files, in a folder of its name. Members that lead outside are refused."""
    folder = path.with_name(path.name + ".unpacked")
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                archive.extractall(folder)  # drops .. and leading slashes
        elif tarfile.is_tarfile(path):
            with tarfile.open(path) as archive:
                archive.extractall(folder, filter="data")
        else:
            return
    except (tarfile.TarError, zipfile.BadZipFile) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise step.Problem(f"Cannot unpack {path.name}: {error}") from error
    path.unlink()
    folder.rename(path.with_name(path.name.split(".")[0]))


if __name__ == "__main__":
    step.run(main)
