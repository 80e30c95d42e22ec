"""Replicas of the lake: adding, showing and removing them. The copying itself is a loop's (`keeping`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.blobs.location import Location
from millpond.blobs.store import BlobStore
from millpond.db import lake_replicas
from millpond.decide.replication import describe_lag, seconds_behind
from millpond.errors import BadRequest, Conflict, MillError, NameTaken
from millpond.lake import keys
from millpond.lake.records import decode_lake
from millpond.model.ids import new_id
from millpond.model.lake_replica import LakeReplica, LakeReplicaLag
from millpond.model.names import check_name
from millpond.model.people import Actor
from millpond.services.deps import Deps
from millpond.services.lake import stores
from millpond.services.lake.endpoint_check import parse_endpoint
from millpond.services.lake.open_replicas import purpose
from millpond.services.lake.replicas import cleaning
from millpond.services.lake.replicas.cleaning import ReplicaChecked
from millpond.services.people import access, audit
from millpond.services.places.sites import find as find_site

# Says which replica of which lake this is; no object of a lake has this key.
MARK = "replica.json"
_SCHEMES = ("s3", "gs", "az")
_REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class LakeReplicaView:
    """A replica with the names of its sites, what it holds, and how far it is behind."""

    replica: LakeReplica
    sites: Sequence[str]
    lag: LakeReplicaLag
    seconds_behind: float
    state: str
    packs: int
    bytes: int


def add(
    deps: Deps,
    actor: Actor,
    name: str,
    url: str,
    *,
    site_names: Sequence[str],
    endpoint: str | None = None,
    region: str | None = None,
    credentials: Mapping[str, str] | None = None,
) -> LakeReplicaView:
    """Add a copy of the lake in an empty place. BadRequest if something else lies there, or it is the lake itself."""
    now, replica_id = deps.clock.now(), new_id()
    with deps.db.read() as tx:
        site_ids = [find_site(tx, one).id for one in dict.fromkeys(site_names)]
        if lake_replicas.find(tx, name) is not None:
            raise NameTaken(f"Replica {name!r} already exists.", hint="Choose another name.")
    if not site_ids:
        raise BadRequest("No site given that reads from the replica.", hint="Add --site NAME.")
    replica = LakeReplica(
        id=replica_id,
        name=check_name(name, "replica"),
        url=_checked_url(url),
        endpoint=parse_endpoint(endpoint) if endpoint else None,
        region=region or _REGION,
        sealed=_sealed(deps, replica_id, url, credentials),
        created_at=now,
        created_by=actor.name,
        sites=site_ids,
    )
    _claim(deps, replica)
    try:
        with deps.db.write() as tx:
            lake_replicas.insert(tx, replica)
            details = {"url": replica.url, "endpoint": replica.endpoint or "", "sites": ", ".join(site_names)}
            audit.record(tx, now=now, actor=actor, action="lake.replica.add", subject=name, details=details)
    except IntegrityError as error:
        raise NameTaken(f"Replica {name!r} already exists.", hint="Choose another name.") from error
    deps.events.wake("branches")
    deps.events.wake("agents")
    return show(deps, name)


def list_all(deps: Deps) -> list[LakeReplicaView]:
    """By name."""
    with deps.db.read() as tx:
        return [_view(tx, one, deps.clock.now()) for one in lake_replicas.all_of(tx)]


def show(deps: Deps, name: str) -> LakeReplicaView:
    with deps.db.read() as tx:
        return _view(tx, find(tx, name), deps.clock.now())


def remove(deps: Deps, actor: Actor, name: str) -> None:
    """Forget a replica. Its objects stay where they are."""
    with deps.db.write() as tx:
        found = find(tx, name)
        lake_replicas.delete(tx, found.id)
        audit.record(tx, now=deps.clock.now(), actor=actor, action="lake.replica.remove", subject=name,
                     before=audit.values_of(found, "url", "endpoint", "region"))  # fmt: skip
    deps.events.wake("agents")


def sync(deps: Deps, actor: Actor, name: str) -> LakeReplicaView:
    """Let it be brought up to date now, and cleaned, whatever went wrong before."""
    with deps.db.write() as tx:
        found = find(tx, name)
        lake_replicas.change(tx, found.id, failed_at=None, cleaned_at=None)
        audit.record(tx, now=deps.clock.now(), actor=actor, action="lake.replica.sync", subject=name)
    deps.events.wake("branches")
    return show(deps, name)


def check(deps: Deps, actor: Actor, name: str) -> ReplicaChecked:
    """Hold it against what it should have. NotReady while a server works on it."""
    with deps.db.write() as tx:
        found = find(tx, name)
        audit.record(tx, now=deps.clock.now(), actor=actor, action="lake.replica.check", subject=name)
    return cleaning.check(deps, found)


def find(tx: Connection, name: str) -> LakeReplica:
    found = lake_replicas.find(tx, name)
    if found is None:
        raise access.not_found("replica", name, lake_replicas.names(tx))
    return found


def _view(tx: Connection, replica: LakeReplica, now: datetime) -> LakeReplicaView:
    lag = lake_replicas.lag(tx, replica.id)
    packs, size = lake_replicas.held(tx, replica.id)
    return LakeReplicaView(
        replica,
        lake_replicas.site_names(tx, replica.id),
        lag,
        seconds_behind(lag, now),
        describe_lag(lag, now),
        packs,
        size,
    )


def _checked_url(url: str) -> str:
    if "://" not in url or url.partition("://")[0] not in _SCHEMES:
        raise BadRequest(
            f"A replica cannot be at {url!r}: it must be an object store that agents reach by themselves.",
            hint="Write s3://bucket/prefix, gs://bucket/prefix or az://container/prefix.",
        )
    location = Location.parse(url)
    if not location.bucket or location.options:
        raise BadRequest(f"{url!r} is not a bucket with a prefix.", hint="Give --endpoint and --region as options.")
    return f"{location.scheme}://{location.bucket}/{location.prefix}".rstrip("/")


def _sealed(deps: Deps, replica_id: str, url: str, given: Mapping[str, str] | None) -> bytes | None:
    if not given:
        return None
    if not url.startswith("s3://") or not {"key_id", "secret"} <= given.keys() <= {"key_id", "secret", "session_token"}:
        raise BadRequest(
            "Credentials of a replica are the id of an S3 access key and its secret.",
            hint="Stores other than S3 are opened with the credentials of the lake, from the server's environment.",
        )
    if any(ord(character) < 32 for text in given.values() for character in text):
        raise BadRequest("Credentials cannot contain line breaks or control characters.")
    return deps.seal.seal(json.dumps(dict(given)), purpose(replica_id))


def _claim(deps: Deps, replica: LakeReplica) -> None:
    """Mark the place as this replica. BadRequest for one that is the lake itself, or holds something else."""
    store, ours = deps.replicas.store(replica, deps.seal), stores.lake_id(deps)
    try:
        _check_place(store, replica, ours)
        store.put(MARK, json.dumps({"format": 1, "lake": ours, "replica": replica.id}).encode())
        is_lake = deps.store.head(MARK) is not None
        if is_lake:
            store.delete(MARK)
        else:  # agents look for it to see whether they reach the replica
            store.put(keys.LAKE, deps.store.get(keys.LAKE))
    except MillError as error:
        if isinstance(error, BadRequest | Conflict):
            raise
        raise BadRequest(f"Cannot use {replica.url} as a replica: {error.message}", hint=error.hint) from error
    if is_lake:
        raise BadRequest(f"{replica.url} is the lake itself.", hint="Choose another bucket or prefix.")


def _check_place(store: BlobStore, replica: LakeReplica, ours: str) -> None:
    if store.head(keys.LAKE) is not None:
        if decode_lake(store.get(keys.LAKE)) != ours:
            raise BadRequest(f"{replica.url} holds another lake.", hint="Choose another bucket or prefix.")
    elif store.head(MARK) is None and any(True for _ in store.list()):
        raise BadRequest(f"{replica.url} is not empty.", hint="Choose an empty bucket or prefix.")
