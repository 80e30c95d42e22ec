"""The stores of replicas, opened once each."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from urllib.parse import urlencode

from millpond.blobs.location import open_store
from millpond.blobs.store import BlobStore
from millpond.db import lake_replicas
from millpond.db.engine import Database
from millpond.errors import BadRequest, MillError
from millpond.model.lake_replica import LakeReplica
from millpond.sealing import Seal

_SECRETS = {"key_id": "AWS_ACCESS_KEY_ID", "secret": "AWS_SECRET_ACCESS_KEY", "session_token": "AWS_SESSION_TOKEN"}


class OpenReplicas:
    """Opens the store of a replica once for each way it was set. Used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[LakeReplica, BlobStore] = {}

    def store(self, replica: LakeReplica, seal: Seal) -> BlobStore:
        """Its own credentials open it, or those of the lake if it has none."""
        key = LakeReplica(
            replica.id, replica.name, replica.url, replica.endpoint, replica.region, replica.sealed,
            replica.created_at, replica.created_by,
        )  # fmt: skip
        with self._lock:
            found = self._open.get(key)
            if found is None:
                found = self._open[key] = _opened(replica, seal)
            return found


def copies(db: Database, opened: OpenReplicas, seal: Seal) -> Sequence[BlobStore]:
    """The stores of all replicas that can be opened."""
    found: list[BlobStore] = []
    with db.read() as tx:
        known = lake_replicas.all_of(tx)
    for one in known:
        with suppress(MillError):
            found.append(opened.store(one, seal))
    return found


def purpose(replica_id: str) -> str:
    return f"replica {replica_id}"


def _opened(replica: LakeReplica, seal: Seal) -> BlobStore:
    if not replica.url.startswith("s3://"):
        return open_store(replica.url)
    endpoint = replica.endpoint or f"https://s3.{replica.region}.amazonaws.com"
    options = {"endpoint": endpoint, "region": replica.region, "path_style": "true"}
    return open_store(f"{replica.url}?{urlencode(options)}", environment=_environment(replica, seal))


def _environment(replica: LakeReplica, seal: Seal) -> Mapping[str, str]:
    if replica.sealed is None:
        return os.environ
    if os.environ.get("AWS_SESSION_TOKEN"):
        raise BadRequest(
            "This server has AWS_SESSION_TOKEN in its environment, which would be mixed with the replica's own key.",
            hint="Give the lake a key without a session token, or the replica no key of its own.",
        )
    given: Mapping[str, str] = json.loads(seal.open(replica.sealed, purpose(replica.id)))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return kept | {_SECRETS[name]: value for name, value in given.items()}
