"""Where jobs may run: what they require of nodes, in which zones they may be, and what it costs them there.

Computes that are the same to every job (the same site, abilities, trust and volumes) are one zone, so a job is compared
with few zones however many machines there are. What tells nodes of one compute apart is a requirement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from millpond.decide.capability import untaken_options, why_compute_unable
from millpond.decide.computes import NearView, NodeView, QueuedJob
from millpond.decide.gpu_types import is_gpu_type
from millpond.decide.scheduling.snapshot import Node, Place, Size
from millpond.model.job_spec import JobKind, JobSpec
from millpond.model.project_shares import POOL_LABEL, ProjectShares

NOWHERE = NearView()


@dataclass(frozen=True, slots=True)
class Zone:
    """Computes that are alike. `node` stands for all of their nodes, whatever differs between them."""

    name: str
    node: NodeView
    near: NearView


def zones_of(
    nodes: Iterable[NodeView], near: Mapping[str, NearView], volumes: Mapping[str, Sequence[str]]
) -> Mapping[str, Zone]:
    """By compute id. `volumes` are the ids of the volumes that serve a compute."""
    first: dict[object, Zone] = {}
    found: dict[str, Zone] = {}
    for node in sorted(nodes, key=lambda node: (node.compute, node.name)):
        if node.compute_id not in found:
            key = (
                node.site_id, node.containers, node.gpu_fractions, node.gangs, node.mpi, node.services, node.routers,
                node.reached, node.trust,
                tuple(volumes.get(node.compute_id, ())),
            )  # fmt: skip
            if key not in first:
                first[key] = Zone(node.compute, node, near.get(node.compute_id, NOWHERE))
            found[node.compute_id] = first[key]
    return found


def places_of(job: QueuedJob, zones: Sequence[Zone]) -> tuple[Place, ...] | None:
    """The zones it may run in and the bytes to fetch there; None: everywhere, and nothing is to be fetched."""
    able = [zone for zone in zones if why_zone_unable(job, zone) is None]
    if len(able) == len(zones) and not job.needs:
        return None
    return tuple(Place(zone.name, missing_bytes(job, zone.near)) for zone in able)


def why_zone_unable(job: QueuedJob, zone: Zone) -> str | None:
    """What keeps it from a zone whatever is free there, in words; None if nothing does."""
    node = zone.node
    if not node.trust.accepts(job.project_id):
        return (
            f"{node.compute} runs all jobs under one account, and project {job.project} is not "
            f"allowed there. An administrator can allow it: mill compute trust {node.compute} "
            f"--project {job.project}"
        )
    unable = why_compute_unable(job, node)
    if unable:
        return unable
    if not zone.near.volumes and any(need.commit_id != job.spec.code_commit for need in job.needs):
        return f"No working volume is near {node.compute} for the job's data. See: mill topology"
    return None


def missing_bytes(job: QueuedJob, near: NearView) -> int:
    """What must be fetched before it can begin there."""
    return sum(need.bytes for need in job.needs if need.commit_id not in near.cached)


def required(spec: JobSpec, shares: ProjectShares) -> frozenset[str]:
    """What a node must offer: its labels, its GPUs, the compute that was asked for, options of its driver."""
    affinity = shares.interactive_affinity if spec.kind is JobKind.INTERACTIVE else shares.train_affinity
    wanted = [f"{key}={value}" for labels in (affinity, spec.node_selector) for key, value in labels.items()]
    wanted += [_option(key, value) for key, value in spec.options.items()]
    wanted += [_compute(spec.compute)] if spec.compute else []
    wanted += [_site(spec.site_id)] if spec.site_id else []
    wanted += [_gpu_type(spec.gpu_type)] if spec.gpu_type else []
    wanted += [_gpu_memory(spec.min_gpu_memory_bytes)] if spec.min_gpu_memory_bytes else []
    return frozenset(wanted)


@dataclass(frozen=True, slots=True)
class Asked:
    """What jobs ask of nodes beyond labels: a node offers of it what it has."""

    options: frozenset[tuple[str, str]]
    gpu_types: frozenset[str]
    gpu_memories: frozenset[int]

    @classmethod
    def by(cls, specs: Iterable[JobSpec]) -> Asked:
        known = list(specs)
        return cls(
            frozenset(item for spec in known for item in spec.options.items()),
            frozenset(spec.gpu_type for spec in known if spec.gpu_type),
            frozenset(spec.min_gpu_memory_bytes for spec in known if spec.min_gpu_memory_bytes),
        )


def plan_node(node: NodeView, zone: Zone, asked: Asked) -> Node:
    """A node as plans see it."""
    offers = [f"{key}={value}" for key, value in node.labels.items()]
    offers += [_option(key, value) for key, value in asked.options if not untaken_options({key: value}, node)]
    offers += [_gpu_type(wanted) for wanted in asked.gpu_types if is_gpu_type(wanted, node.gpu_model)]
    offers += [_gpu_memory(least) for least in asked.gpu_memories if least <= node.gpu_memory_bytes]
    return Node(
        id=node.written,
        compute=node.compute,
        gpus=node.gpus,
        cpu=node.cpus,
        memory=node.memory_bytes,
        zone=zone.name,
        pool=node.labels.get(POOL_LABEL, ""),
        offers=frozenset([*offers, _site(node.site_id), *map(_compute, filter(None, (node.compute, node.elastic)))]),
        up=node.connected and not node.revoked,
        open=node.is_open,
        elastic=node.elastic is not None,
    )


def size_of(spec: JobSpec) -> Size:
    return Size(spec.gpu_hundredths, spec.cpu, spec.memory_bytes, spec.processes)


def apart_of(spec: JobSpec) -> str:
    """What replicas have in common that should not all be on one node; "" for other jobs."""
    service = spec.service
    return f"{service.endpoint} {service.model}" if service is not None and service.endpoint else ""


def _option(key: str, value: str) -> str:
    return f"option {key}={value}"


def _compute(name: str) -> str:
    return f"compute {name}"


def _site(site_id: str) -> str:
    return f"site {site_id}"


def _gpu_type(wanted: str) -> str:
    return f"GPU type {wanted}"


def _gpu_memory(least: int) -> str:
    return f"GPUs with {least} bytes"
