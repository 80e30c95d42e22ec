"""Objects in a Google Cloud Storage bucket, through obstore, with a connection's own service account."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta

import obstore
from obstore import exceptions as foreign
from obstore.store import GCSStore

from millpond.blobs.external import Surroundings, changed, strong
from millpond.errors import BadRequest, Forbidden, NotFound, StoreUnavailable
from millpond.model.connection import ExternalObject, Place

# Nothing else of a key file is used: some readers let it name other servers to talk to.
_FIELDS = ("client_email", "private_key", "private_key_id")
# Set for the lake, these would be mixed with what a connection gives.
_ENVIRONMENT = (
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    "SERVICE_ACCOUNT",
)


class GcsPlace:
    """ExternalPlace on one bucket."""

    def __init__(self, place: Place, service_account: str, environment: Mapping[str, str]) -> None:
        mixed = [name for name in _ENVIRONMENT if environment.get(name)]
        if mixed:
            raise BadRequest(
                f"This server has {mixed[0]} in its environment, which would take the place of a connection's key.",
                hint="Give the lake its key by GOOGLE_APPLICATION_CREDENTIALS instead.",
            )
        self._place = place
        self._store = GCSStore(
            place.bucket,
            service_account_key=json.dumps(only_the_key(service_account)),
            retry_config={"max_retries": 3},
            client_options={"timeout": timedelta(minutes=5), "connect_timeout": timedelta(seconds=10)},
        )

    def look(self, uri: str) -> ExternalObject:
        with _translated(uri):
            meta = obstore.head(self._store, self._key(uri))
        return ExternalObject(uri, meta["size"], _etag(meta["e_tag"]))

    def list(self, uri: str) -> Iterator[ExternalObject]:
        prefix = self._key(uri)
        with _translated(uri):
            for batch in obstore.list(self._store, prefix.rstrip("/") or None, chunk_size=1000):
                for meta in batch:
                    yield ExternalObject(self._place.uri_of(meta["path"]), meta["size"], _etag(meta["e_tag"]))

    def read(self, found: ExternalObject, start: int, end: int) -> Iterator[bytes]:
        if start >= end:
            return
        with _translated(found.uri):
            options: obstore.GetOptions = {"if_match": found.etag, "range": (start, end)}
            answer = obstore.get(self._store, self._key(found.uri), options=options)
            if answer.meta["size"] != found.size:
                raise changed(found.uri, f"it has {answer.meta['size']} bytes, not {found.size}")
            came = 0
            for part in answer.stream(min_chunk_size=1 << 20):
                came += len(part)
                yield bytes(part)
        if came != end - start:
            raise StoreUnavailable(f"{found.uri} was cut off after {came} bytes.")

    def sign(self, uri: str, seconds: int) -> str | None:
        with _translated(uri):
            return obstore.sign(self._store, "GET", self._key(uri), timedelta(seconds=seconds))

    def close(self) -> None:
        return None

    def _key(self, uri: str) -> str:
        if not self._place.covers(uri):
            raise BadRequest(f"{uri} is not below {self._place.root}.")
        return self._place.key_of(uri)


def only_the_key(service_account: str) -> dict[str, str]:
    """What a service account's key file says of the key itself. BadRequest unless it is such a file."""
    try:
        document = json.loads(service_account)
        found = {name: str(document[name]) for name in _FIELDS}
    except (ValueError, KeyError, TypeError) as error:
        raise BadRequest(
            "That is not the key of a service account.", hint="Give the JSON file that Google Cloud made for it."
        ) from error
    return {"type": "service_account", **found}


def _etag(etag: str | None) -> str | None:
    return etag if strong(etag) else None


@contextmanager
def _translated(uri: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(f"{uri} not found.") from error
    except foreign.PreconditionError as error:
        raise changed(uri, "its ETag differs") from error
    except (foreign.PermissionDeniedError, foreign.UnauthenticatedError, PermissionError) as error:
        raise Forbidden(f"Access to {uri} denied.", hint="Check the connection's service account.") from error
    except (foreign.BaseError, OSError) as error:
        raise StoreUnavailable(f"{uri}: {str(error).strip().partition(chr(10))[0][:300]}") from error


def open_place(place: Place, credentials: Mapping[str, str], around: Surroundings) -> GcsPlace:
    if "service_account" not in credentials:
        raise BadRequest(
            f"The connection to {place.root} has no service account.",
            hint="Add one: mill connection credentials NAME --secret-file FILE",
        )
    return GcsPlace(place, credentials["service_account"], around.environment)
