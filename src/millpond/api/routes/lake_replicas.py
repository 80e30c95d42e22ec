"""Replicas of the lake: copies in other object stores, which the server keeps up to date."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, SignedIn, SiteAdmin
from millpond.api.shapes.credentials import plain_credentials
from millpond.services.lake.replicas import replicas
from millpond.services.lake.replicas.replicas import LakeReplicaView
from millpond.wire import lake_replicas as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/lake/replicas", tags=["lake"])


@router.get("")
def list_lake_replicas(actor: SignedIn, deps: DepsOf) -> Page[wire.LakeReplica]:
    """By name, all of them at once."""
    return Page(items=[_replica(one) for one in replicas.list_all(deps)])


@router.post("", status_code=201)
def add_lake_replica(body: wire.LakeReplicaCreate, actor: SiteAdmin, deps: DepsOf) -> wire.LakeReplica:
    """Refused for a place that holds something else, and for the lake itself."""
    made = replicas.add(
        deps,
        actor,
        body.name,
        body.url,
        site_names=body.sites,
        endpoint=body.endpoint,
        region=body.region,
        credentials=plain_credentials(body.credentials),
    )
    return _replica(made)


@router.get("/{replica}")
def get_lake_replica(replica: str, actor: SignedIn, deps: DepsOf) -> wire.LakeReplica:
    return _replica(replicas.show(deps, replica))


@router.delete("/{replica}", status_code=204)
def remove_lake_replica(replica: str, actor: SiteAdmin, deps: DepsOf) -> None:
    """Its objects stay where they are."""
    replicas.remove(deps, actor, replica)


@router.post("/{replica}/sync")
def sync_lake_replica(replica: str, actor: SiteAdmin, deps: DepsOf) -> wire.LakeReplica:
    """Let it be brought up to date now."""
    return _replica(replicas.sync(deps, actor, replica))


@router.post("/{replica}/check")
def check_lake_replica(replica: str, actor: SiteAdmin, deps: DepsOf) -> wire.ReplicaChecked:
    """Compare it with what it should hold; what is wrong is copied again."""
    return wire.ReplicaChecked.model_validate(replicas.check(deps, actor, replica))


def _replica(view: LakeReplicaView) -> wire.LakeReplica:
    found = view.replica
    return wire.LakeReplica(
        id=found.id,
        name=found.name,
        url=found.url,
        endpoint=found.endpoint,
        region=found.region,
        has_credentials=found.sealed is not None,
        sites=list(view.sites),
        created_at=found.created_at,
        created_by=found.created_by,
        state=view.state,
        commits_behind=view.lag.commits,
        packs_behind=view.lag.packs,
        bytes_behind=view.lag.bytes,
        seconds_behind=view.seconds_behind,
        packs=view.packs,
        bytes=view.bytes,
        synced_at=found.synced_at,
        problem=found.problem,
    )
