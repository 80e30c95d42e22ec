"""S3, Google Cloud Storage and Azure through obstore, its errors translated into ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, cast

import obstore
from obstore import exceptions as foreign
from obstore.store import AzureStore, GCSStore, S3Store

from millpond.blobs.checked_puts import CheckedPuts
from millpond.blobs.store import (
    CRC32_HEADER,
    CREATE_HEADER,
    BlobInfo,
    Buffer,
    SignedUrl,
    check_key,
    check_prefix,
)
from millpond.errors import BadRequest, Conflict, Forbidden, NotFound, StoreUnavailable

_LIST_BATCH = 1000
# Where it is tried what the store checks.
_TRIAL = "checks/crc32"


class ObjectStore:
    """BlobStore on one of obstore's stores. It does not retry: that is `blobs.retry`'s work."""

    # Those of `sign` do not oblige their holder to send the condition, and not every store heeds it.
    signed_puts_only_create = False

    def __init__(
        self,
        store: S3Store | GCSStore | AzureStore,
        put_headers: Mapping[str, str] | None = None,
        checked_puts: CheckedPuts | None = None,
    ) -> None:
        self._store = store
        self._put_headers = dict(put_headers or {})
        self._checked_puts = checked_puts

    def get(self, key: str) -> bytes:
        with _translated(key):
            return obstore.get(self._store, check_key(key)).bytes().to_bytes()

    def get_range(self, key: str, start: int, end: int) -> bytes:
        if not 0 <= start <= end:
            raise BadRequest(f"{start} to {end} is not a range of bytes.")
        with _translated(key):
            if start == end:
                return self._empty_range(key, start)
            data = self._part(key, start, end)
        if len(data) != end - start:
            raise self._short(key, len(data), start, end)
        return data

    def put(self, key: str, data: Buffer, *, if_absent: bool = False) -> None:
        with _translated(key):
            obstore.put(
                self._store,
                check_key(key),
                data,
                mode="create" if if_absent else "overwrite",
                use_multipart=False,
            )

    def head(self, key: str) -> BlobInfo | None:
        try:
            with _translated(key):
                return BlobInfo(key, obstore.head(self._store, check_key(key))["size"])
        except NotFound:
            return None

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[BlobInfo]:
        check_prefix(prefix)
        with _translated(prefix):
            for batch in obstore.list(self._store, prefix or None, offset=after, chunk_size=_LIST_BATCH):
                for meta in batch:
                    yield BlobInfo(meta["path"], meta["size"])

    def delete(self, key: str) -> None:
        try:
            with _translated(key):
                obstore.delete(self._store, check_key(key))
        except NotFound:
            return

    def sign(self, method: str, key: str, seconds: int) -> SignedUrl:
        with _translated(key):
            url = obstore.sign(self._store, cast(Any, method), check_key(key), timedelta(seconds=seconds))
        return SignedUrl(method=method, url=url, headers=self._put_headers if method == "PUT" else {})

    def sign_create(self, key: str, seconds: int, crc32: str = "") -> SignedUrl:
        checked = self._checked_puts
        if checked is not None and checked.works is None:
            checked.find_out(self._bare_url(_TRIAL))
            self.delete(_TRIAL)
        signed = checked.sign(self._bare_url(key), crc32, seconds) if checked is not None else None
        return signed or self.sign("PUT", key, seconds)

    def sign_like(self, signed: SignedUrl, key: str, seconds: int) -> SignedUrl:
        """What another endpoint of the same store has `signed`, for this one: with the conditions that it heeds."""
        checked = {CRC32_HEADER, CREATE_HEADER} & signed.headers.keys()
        if checked and self._checked_puts is not None:
            return self._checked_puts.sign_with(self._bare_url(key), signed.headers, seconds)
        return self.sign(signed.method, key, seconds)

    def _bare_url(self, key: str) -> str:
        return self.sign("PUT", key, 1).url.partition("?")[0]

    def _part(self, key: str, start: int, end: int) -> bytes:
        try:
            return obstore.get_range(self._store, check_key(key), start=start, end=end).to_bytes()
        except foreign.BaseError as error:
            # Some servers answer a range with 200 as if it were the whole; the whole is then the only sure way.
            if "non-partial" not in str(error):
                raise
        return obstore.get(self._store, check_key(key)).bytes().to_bytes()[start:end]

    def _short(self, key: str, came: int, start: int, end: int) -> Exception:
        """BadRequest if the object ends before `end`; otherwise the same request may succeed when it is tried again."""
        info = self.head(key)
        if info is None or info.size < end:
            return BadRequest(f"Object {key!r} does not have bytes {start} to {end}.")
        return StoreUnavailable(f"The object store answered with {came} bytes of {key!r} instead of {end - start}.")

    def _empty_range(self, key: str, start: int) -> bytes:
        """No store answers an empty range, so only its place is checked."""
        size = obstore.head(self._store, check_key(key))["size"]
        if start > size:
            raise BadRequest(f"Object {key!r} has {size} bytes, not {start}.")
        return b""


@contextmanager
def _translated(key: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(f"The lake has no object {key!r}.") from error
    except (foreign.AlreadyExistsError, foreign.PreconditionError) as error:
        raise Conflict(f"Object {key!r} already exists.") from error
    except (foreign.PermissionDeniedError, foreign.UnauthenticatedError, PermissionError) as error:
        raise Forbidden(
            f"The object store does not allow access to {key!r}.", hint="Check the lake's credentials."
        ) from error
    except (foreign.BaseError, OSError) as error:
        # Exactly so: keys, times and ids in the text may hold any digits.
        if "status code: 416 " in str(error):
            raise BadRequest(f"Object {key!r} does not have those bytes.") from error
        raise StoreUnavailable(f"The object store failed at {key!r}: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0][:300]
