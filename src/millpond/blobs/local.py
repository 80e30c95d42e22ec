"""A store in a directory: one file per object, durable before it is visible."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from millpond.blobs.location import Location
from millpond.blobs.signing import LocalSigner
from millpond.blobs.store import CRC32_HEADER, BlobInfo, Buffer, SignedUrl, check_key, check_prefix
from millpond.errors import BadRequest, Conflict, DiskFull, Forbidden, NotFound, SetupError, StoreUnavailable

# Keys never have a part that begins with a dot, so unfinished objects cannot be mistaken for finished ones.
_UNFINISHED = ".unfinished"


class LocalStore:
    """BlobStore on a directory. An object is written aside, synced, renamed, and its directory synced."""

    signed_puts_only_create = True  # the server itself answers them

    def __init__(self, root: Path, signer: LocalSigner | None = None) -> None:
        self.root = root
        self._signer = signer
        self._aside = root / _UNFINISHED
        try:
            _make_durable_directory(self._aside)
        except OSError as error:
            raise SetupError(
                f"Cannot use {root} for the lake: {error.strerror}.", hint="Choose another directory with --lake."
            ) from error

    def path(self, key: str) -> Path:
        """Where the object's file lies (it may not exist): for a server that sends it without copying."""
        self._check_there()
        return self.root / check_key(key)

    def get(self, key: str) -> bytes:
        with _translated(key):
            return self.path(key).read_bytes()

    def get_range(self, key: str, start: int, end: int) -> bytes:
        with _translated(key), open(self.path(key), "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if not 0 <= start <= end <= size:
                raise BadRequest(f"Object {key!r} has {size} bytes, not {start} to {end}.")
            file.seek(start)
            return _read_exactly(file.fileno(), end - start, key)

    def put(self, key: str, data: Buffer, *, if_absent: bool = False) -> None:
        target = self.path(key)
        aside = self._aside / secrets.token_hex(16)
        with _translated(key):
            try:
                _write_synced(aside, data)
                _make_durable_directory(target.parent)
                _publish(aside, target, if_absent=if_absent)
                _sync_directory(target.parent)
            finally:
                with suppress(FileNotFoundError):
                    aside.unlink()

    def head(self, key: str) -> BlobInfo | None:
        with _translated(key):
            try:
                found = self.path(key).stat()
            except (FileNotFoundError, NotADirectoryError):
                return None
        return BlobInfo(key, found.st_size) if stat.S_ISREG(found.st_mode) else None

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[BlobInfo]:
        self._check_there()
        with _translated(check_prefix(prefix) or str(self.root)):
            yield from _walk(self.root / prefix, prefix, after or "")

    def delete(self, key: str) -> None:
        with _translated(key), suppress(FileNotFoundError, NotADirectoryError):
            self.path(key).unlink()

    def _check_there(self) -> None:
        """StoreUnavailable when the directory has gone, as below a mount that is missing: it is not an empty lake."""
        if not self._aside.is_dir():
            raise StoreUnavailable(
                f"The lake's directory {self.root} is missing or empty.", hint="Is its file system mounted?"
            )

    def sign(self, method: str, key: str, seconds: int) -> SignedUrl:
        if self._signer is None:
            raise SetupError("This store has no secret to sign URLs with.")
        return self._signer.sign(method, key, seconds)

    def sign_create(self, key: str, seconds: int, crc32: str = "") -> SignedUrl:
        """Without CREATE_HEADER: the server that answers never overwrites."""
        return replace(self.sign("PUT", key, seconds), headers={CRC32_HEADER: crc32} if crc32 else {})


def open_store(location: Location, environment: Mapping[str, str], signer: LocalSigner | None) -> LocalStore:
    return LocalStore(Path(location.prefix).absolute(), signer)


def _read_exactly(descriptor: int, count: int, key: str) -> bytes:
    parts: list[bytes] = []
    while count:
        part = os.read(descriptor, count)
        if not part:
            raise StoreUnavailable(f"Object {key!r} ended early.")
        parts.append(part)
        count -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _write_synced(path: Path, data: Buffer) -> None:
    with open(path, "xb", buffering=0) as file:
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())


def _publish(aside: Path, target: Path, *, if_absent: bool) -> None:
    """A hard link fails where the name exists; a rename replaces it. Both are atomic."""
    if not if_absent:
        aside.replace(target)
        return
    try:
        os.link(aside, target)
    except FileExistsError:
        raise Conflict(f"Object {target.name!r} already exists.") from None


def _make_durable_directory(path: Path) -> None:
    """Create `path` with its parents; each new name is synced, or a power cut could take finished objects along."""
    if path.is_dir():
        return
    _make_durable_directory(path.parent)
    path.mkdir(exist_ok=True)
    _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _walk(directory: Path, prefix: str, after: str) -> Iterator[BlobInfo]:
    """Depth first in the order of whole keys: a directory sorts as its name with `/` behind it."""
    try:
        with os.scandir(directory) as found:
            names = sorted((e.name + "/" if e.is_dir(follow_symlinks=False) else e.name, e) for e in found)
    except (FileNotFoundError, NotADirectoryError):
        return
    for name, entry in names:
        key = prefix + name
        if name.startswith("."):
            continue
        if not name.endswith("/"):
            if key > after:
                with suppress(FileNotFoundError):  # deleted since it was listed
                    yield BlobInfo(key, entry.stat(follow_symlinks=False).st_size)
        elif key > after or after.startswith(key):
            yield from _walk(directory / name, key, after)


@contextmanager
def _translated(key: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise NotFound(f"The lake has no object {key!r}.") from error
    except PermissionError as error:
        raise Forbidden(f"The lake's directory does not allow access to {key!r}: {error.strerror}.") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"No space left for {key!r}.", hint="Free space on the lake's disk.") from error
        raise StoreUnavailable(f"The lake's directory failed at {key!r}: {error.strerror}.") from error
