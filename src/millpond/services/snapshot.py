"""The world as placement decides on it: nodes with what is held there, what waits, what lies on volumes.

Other modules ask it the same questions (what fits, which volumes work), so that the answers agree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import agents, caches, jobs, placements, volumes
from millpond.decide.placement import Held, Need, NodeView, QueuedJob, SiteView, Snapshot
from millpond.model.job import Agent, Job
from millpond.model.volume import CachedState, Volume
from millpond.services.presence import is_connected

# The label by which an agent says that its driver runs container images.
CONTAINERS = "containers"


@dataclass(frozen=True, slots=True)
class World:
    """A snapshot, and what applying a plan needs besides."""

    snapshot: Snapshot
    agents: Mapping[str, Agent]
    volumes: Mapping[str, Sequence[Volume]]  # those that work, by site id
    jobs: Mapping[str, Job]


def load(tx: Connection, now: datetime, waiting: Sequence[Job]) -> World:
    """One moment: call it in one transaction."""
    needed = {commit for job in waiting for commit in commits_of(job)}
    sizes = jobs.commit_sizes(tx, needed)
    usable = working_volumes(tx)
    return World(
        snapshot=Snapshot(
            nodes=node_views(tx, now),
            jobs=tuple(_queued(job, sizes) for job in waiting),
            sites=_sites(tx, usable, needed),
        ),
        agents={agent.id: agent for agent in agents.all_agents(tx)},
        volumes=usable,
        jobs={job.id: job for job in waiting},
    )


def commits_of(job: Job) -> list[str]:
    """Everything that must lie beside the compute before the job can begin, each once."""
    commits = [item.commit_id for item in job.inputs] + ([job.code_commit] if job.code_commit else [])
    return list(dict.fromkeys(commits))


def node_views(tx: Connection, now: datetime) -> tuple[NodeView, ...]:
    held: dict[tuple[str, str], list[Held]] = defaultdict(list)
    for row in placements.held(tx):
        held[row.agent_id, row.node].append(Held(row.resources, row.gpu_indices))
    known = {agent.id: agent for agent in agents.all_agents(tx)}
    return tuple(
        NodeView(
            agent_id=node.agent_id,
            agent=known[node.agent_id].name,
            site_id=known[node.agent_id].site_id,
            name=node.name,
            connected=is_connected(known[node.agent_id].seen_at, now),
            cpus=node.cpus,
            memory_bytes=node.memory_bytes,
            gpus=node.gpus,
            containers=node.labels.get(CONTAINERS) == "yes",
            held=tuple(held[node.agent_id, node.name]),
        )
        for node in agents.nodes(tx)
    )


def working_volumes(tx: Connection) -> Mapping[str, Sequence[Volume]]:
    found: dict[str, list[Volume]] = defaultdict(list)
    for volume in volumes.all_of(tx):
        if volume.problem is None and volume.seen_at is not None and volume.capacity_bytes:
            found[volume.site_id].append(volume)
    return found


def _sites(tx: Connection, usable: Mapping[str, Sequence[Volume]], needed: Collection[str]) -> Mapping[str, SiteView]:
    site_of = {volume.id: volume.site_id for found in usable.values() for volume in found}
    cached: dict[str, set[str]] = defaultdict(set)
    for view in caches.of_commits(tx, needed):
        row = view.cached
        if row.volume_id in site_of and row.state in (CachedState.READY, CachedState.FILLING):
            cached[site_of[row.volume_id]].add(row.commit_id)
    names = {agent.site_id: agent.site for agent in agents.all_agents(tx)}
    return {
        site_id: SiteView(site_id, name, len(usable.get(site_id, ())), frozenset(cached[site_id]))
        for site_id, name in names.items()
    }


def _queued(job: Job, sizes: Mapping[str, int]) -> QueuedJob:
    needs = tuple(Need(commit, sizes.get(commit, 0)) for commit in commits_of(job))
    return QueuedJob(job.id, job.resources, image=job.image is not None, needs=needs)
