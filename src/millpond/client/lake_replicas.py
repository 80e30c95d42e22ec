"""Replicas of the lake, over the API: for site administrators."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.client.http import Api, segment
from millpond.wire.lake_replicas import LakeReplica, LakeReplicaCreate, ReplicaChecked

# Every object of a replica is listed.
CHECK_SECONDS = 3600.0


def list_replicas(api: Api) -> Iterator[LakeReplica]:
    return api.items("/lake/replicas", LakeReplica)


def add_replica(api: Api, asked: LakeReplicaCreate) -> LakeReplica:
    return api.send("POST", "/lake/replicas", LakeReplica, asked)


def get_replica(api: Api, name: str) -> LakeReplica:
    return api.get(_path(name), LakeReplica)


def remove_replica(api: Api, name: str) -> None:
    """Forget it. Its objects stay where they are."""
    api.request("DELETE", _path(name))


def sync_replica(api: Api, name: str) -> LakeReplica:
    """Let the server bring it up to date now; returns at once."""
    return api.send("POST", f"{_path(name)}/sync", LakeReplica, None, idempotent=True)


def check_replica(api: Api, name: str) -> ReplicaChecked:
    """Compare it with what it should hold; what is wrong is copied again."""
    return api.send("POST", f"{_path(name)}/check", ReplicaChecked, None, timeout=CHECK_SECONDS)


def _path(name: str) -> str:
    return f"/lake/replicas/{segment(name)}"
