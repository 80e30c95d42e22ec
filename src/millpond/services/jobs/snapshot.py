"""The computes as scheduling sees them: nodes, what runs there, the volumes near them and what lies on those.

Other modules ask the same questions (what fits, which volumes work), so that the answers agree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import caches, computes, elastic, jobs, links, nodes, trust, volumes
from millpond.decide.computes import NearView, Need, NodeView, QueuedJob
from millpond.decide.near import NearRule
from millpond.decide.places import Zone, zones_of
from millpond.model.cached_state import CachedState
from millpond.model.compute import Compute, Node, Trust
from millpond.model.job import GpuFractions, Job
from millpond.model.job_spec import JobSpec
from millpond.model.topology import LAKE
from millpond.model.volume import Volume
from millpond.services.computes.presence import is_connected
from millpond.services.jobs.near_data import Fills, fills_near
from millpond.services.places import geography
from millpond.services.places.geography import Geography

# How people reach a job that runs, as computes say of themselves.
WAYS = ("exec", "ports")


@dataclass(frozen=True, slots=True)
class World:
    """Nodes by compute id and name; zones, computes and the volumes that work near them by compute id."""

    nodes: Mapping[tuple[str, str], NodeView]
    zones: Mapping[str, Zone]
    computes: Mapping[str, Compute]
    volumes: Mapping[str, Sequence[Volume]]
    # Bytes of the commits that jobs need.
    sizes: Mapping[str, int]

    def queued(self, job: Job) -> QueuedJob:
        return queued_job(job.id, job.spec, commits_of(job), self.sizes, project_id=job.project_id, project=job.project)


def load(tx: Connection, now: datetime, needed: Collection[str], rule: NearRule, fill_price: float = 1.0) -> World:
    """One moment: call it in one transaction.

    `needed` are the commits that jobs wait for, `rule` says which volumes of other sites are near, `fill_price` what an
    hour of filling is worth.
    """
    known = {compute.id: compute for compute in computes.all_computes(tx)}
    places = geography.load(tx, rule, now)
    serving = _serving(tx, known.values(), places)
    found = _views(tx, now, known, None)
    sizes = jobs.commit_sizes(tx, needed)
    near = _near(tx, serving, needed, fills_near(tx, serving, sizes, places, fill_price=fill_price))
    return World(
        nodes={(node.compute_id, node.name): node for node in found},
        zones=zones_of(found, near, {key: [volume.id for volume in served] for key, served in serving.items()}),
        computes=known,
        volumes=serving,
        sizes=sizes,
    )


def queued_job(
    job_id: str, spec: JobSpec, commits: Iterable[str], sizes: Mapping[str, int], *, project_id: str, project: str
) -> QueuedJob:
    needs = tuple(Need(commit, sizes.get(commit, 0)) for commit in commits)
    return QueuedJob(job_id, spec, needs, project_id=project_id, project=project)


def commits_of(job: Job) -> list[str]:
    """Everything that must lie beside the compute before the job can begin, each once."""
    return commits_of_spec(job.spec, job.status.environment_commit)


def commits_of_spec(spec: JobSpec, environment_commit: str | None = None) -> list[str]:
    cached = (item.commit_id for item in spec.inputs if not item.streamed)
    commits = [*cached, spec.code_commit, environment_commit]
    return list(dict.fromkeys(commit for commit in commits if commit))


def node_views(tx: Connection, now: datetime, compute_ids: Collection[str] | None = None) -> tuple[NodeView, ...]:
    """Every node that has not left its compute; of these computes, None meaning all."""
    return _views(tx, now, {one.id: one for one in computes.all_computes(tx, compute_ids)}, compute_ids)


def _views(
    tx: Connection, now: datetime, known: Mapping[str, Compute], compute_ids: Collection[str] | None
) -> tuple[NodeView, ...]:
    trusts, made_for = trust.of_computes(tx, compute_ids=compute_ids), elastic.by_compute(tx)
    return tuple(
        replace(
            _node_view(known[node.compute_id], node, trusts[node.compute_id], now),
            elastic=made_for.get(node.compute_id),
        )
        for node in nodes.present(tx, compute_ids)
        if node.compute_id in known
    )


def _node_view(compute: Compute, node: Node, trusted: Trust, now: datetime) -> NodeView:
    return NodeView(
        compute_id=compute.id,
        compute=compute.name,
        site_id=compute.site_id,
        name=node.name,
        connected=is_connected(node.seen_at, now),
        cpus=node.cpus,
        memory_bytes=node.memory_bytes,
        gpus=node.gpus,
        gpu_model=node.gpu_model,
        gpu_memory_bytes=node.gpu_memory_bytes,
        labels=node.labels,
        containers=compute.can("containers"),
        gpu_fractions=gpu_fractions(compute),
        gangs=compute.can("gangs"),
        mpi=compute.can("mpi"),
        services=compute.can("services"),
        routers=compute.can("routers"),
        serving_problem=str((compute.capabilities or {}).get("serving_problem", "")),
        driver=compute.driver or "",
        reached=frozenset(way for way in WAYS if compute.can(way)),
        options=_options(compute, node),
        cordoned_by=_cordoned_by(compute),
        closed=node.closed,
        revoked=compute.revoked_at is not None,
        trust=trusted,
        agent_id=node.agent_id,
    )


def _options(compute: Compute, node: Node) -> frozenset[str]:
    """What jobs may ask of its driver. A driver may name the label by which nodes say what they offer of an option."""
    told: Mapping[str, str] = (compute.capabilities or {}).get("job_options", {})
    offered = {key: node.labels.get(label, "").split(",") if label else ["*"] for key, label in told.items()}
    return frozenset(f"{key}={value}" for key, values in offered.items() for value in values)


def gpu_fractions(compute: Compute) -> GpuFractions:
    told: GpuFractions = (compute.capabilities or {}).get("gpu_fractions", "accounted")
    return told


def _cordoned_by(compute: Compute) -> str | None:
    return None if compute.cordoned_at is None else compute.cordoned_by or "an administrator"


def serving_volumes(
    tx: Connection, found: Iterable[Compute], rule: NearRule, now: datetime
) -> Mapping[str, Sequence[Volume]]:
    """The volumes that work, are near each compute and seen by its agent; those of its own site first, then by name."""
    return _serving(tx, found, geography.load(tx, rule, now))


def _serving(tx: Connection, found: Iterable[Compute], places: Geography) -> Mapping[str, Sequence[Volume]]:
    working = [v for v in volumes.all_of(tx) if v.problem is None and v.seen_at is not None and v.capacity_bytes]
    return {
        compute.id: sorted(
            (volume for volume in working if places.serves(compute, volume).serves),
            key=lambda volume: (volume.site_id != compute.site_id, volume.name),
        )
        for compute in found
    }


def _near(
    tx: Connection, serving: Mapping[str, Sequence[Volume]], needed: Collection[str], fills: Mapping[str, Fills]
) -> Mapping[str, NearView]:
    cached: dict[str, set[str]] = defaultdict(set)
    for view in caches.of_commits(tx, needed):
        if view.cached.state in (CachedState.READY, CachedState.FILLING):
            cached[view.cached.volume_id].add(view.cached.commit_id)
    lake = {one.volume_id: one.bytes_per_second for one in links.bandwidths(tx) if one.source_id == LAKE}
    return {
        compute_id: NearView(
            volumes=len(found),
            cached=frozenset().union(*(cached[volume.id] for volume in found)),
            bytes_per_second=max((lake[volume.id] for volume in found if volume.id in lake), default=None),
            fills=fills[compute_id],
        )
        for compute_id, found in serving.items()
    }
