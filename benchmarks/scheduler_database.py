"""A made-up cluster as rows of a database: what one round of the schedule loop reads."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection

from millpond.db import caches, commits, computes, jobs, nodes, placements, projects, runs
from millpond.decide.scheduling.plan import Plan
from millpond.decide.scheduling.snapshot import Job, Pending, Running, Snapshot
from millpond.model.agent import Agent
from millpond.model.cached_state import CachedState
from millpond.model.compute import Compute, Node
from millpond.model.ids import new_id
from millpond.model.job import JobState, Placement, PlacementState, RankPlace
from millpond.model.job_spec import JobInput
from millpond.model.people import Project
from millpond.model.project_shares import ProjectShares
from millpond.model.volume import CachedCommit, Volume
from millpond.services.deps import Deps
from millpond.services.jobs.loaded import load
from millpond.services.jobs.plan_input import plan_input
from millpond.settings import Settings
from millpond.testing.builders_work import a_job, a_run, add_commit, add_site, add_volume
from millpond.testing.server import making_deps

DATASETS = 50


@contextmanager
def stored(snapshot: Snapshot) -> Iterator[Deps]:
    """An SQLite database that holds the snapshot; every job reads one of 50 datasets."""
    now = datetime.fromtimestamp(snapshot.now, UTC)
    with tempfile.TemporaryDirectory() as folder, making_deps(Settings(data_dir=Path(folder))) as deps:
        made = [add_commit(deps.db, f"set{number}", now=now) for number in range(DATASETS)]
        sites = sorted({node.compute for node in snapshot.nodes})
        volumes = [add_volume(deps.db, f"volume-{site}", site=site, now=now) for site in sites]
        with deps.db.write() as tx:
            _cache(tx, made, volumes, now)
            agents = _store_nodes(tx, snapshot, now)
            owners = {one.name: _store_project(tx, one.name, one.quotas[""], now) for one in snapshot.projects}
            for number, wanted in enumerate(snapshot.pending):
                _store_waiting(tx, wanted, owners, made[number % DATASETS])
            for running in snapshot.running:
                _store_running(tx, running, owners, agents)
        yield deps


def plan_round(deps: Deps, now: datetime) -> Plan:
    """From the database to a plan, as the schedule loop does."""
    with deps.db.read() as tx:
        loaded = load(tx, now, deps.settings)
    return plan_input(loaded).plan().plan


def _store_nodes(tx: Connection, snapshot: Snapshot, now: datetime) -> dict[str, Agent]:
    """The agent of each node."""
    found: dict[str, Agent] = {}
    for name in sorted({node.compute for node in snapshot.nodes}):
        site = add_site(tx, name, now)
        compute = Compute(new_id(), name, site.id, name, "process", now)
        computes.insert(tx, compute)
        agent = Agent(new_id(), compute.id, name, site.id, name, "0.1.0", now, now)
        computes.give_to(tx, agent)
        inside = [node for node in snapshot.nodes if node.compute == name]
        rows = [
            Node(compute.id, node.id, node.cpu, node.memory, node.gpus, declared=True, labels=_labels(node.offers))
            for node in inside
        ]
        nodes.report(tx, agent.id, compute.id, rows, now)
        found |= {node.id: agent for node in inside}
    return found


def _cache(tx: Connection, wanted: list[str], volumes: list[Volume], now: datetime) -> None:
    """Every dataset lies on three of ten volumes."""
    for number, commit_id in enumerate(wanted):
        commit = commits.get(tx, commit_id)
        owner = projects.find(tx, "default")
        assert commit is not None
        assert owner is not None
        for volume in volumes[number % 10 :: 10] + volumes[(number + 3) % 10 :: 10] + volumes[(number + 5) % 10 :: 10]:
            cached = CachedCommit(
                new_id(), volume.id, owner.id, commit.dataset_id, commit_id, CachedState.READY, 1, commit.bytes,
                commit.bytes, commit.files, commit.bytes, commit.files, "maria", now, now, now, None, False, "",
            )  # fmt: skip
            caches.insert(tx, cached)


def _labels(offers: frozenset[str]) -> dict[str, str]:
    return dict(offer.split("=") for offer in offers)


def _store_project(tx: Connection, name: str, quota: int, now: datetime) -> Project:
    project = Project(new_id(), name, "", now, ProjectShares(quota=quota))
    projects.insert(tx, project)
    return project


def _store_waiting(tx: Connection, wanted: Pending, owners: dict[str, Project], commit: str) -> None:
    inputs = (JobInput("default/set", "main", commit),)
    _store_job(tx, wanted.job, owners, inputs=inputs, node_selector=_labels(wanted.requires))


def _store_running(tx: Connection, running: Running, owners: dict[str, Project], agents: dict[str, Agent]) -> None:
    node = running.seats[0].node
    agent, started = agents[node], datetime.fromtimestamp(running.started, UTC)
    placed = {"state": JobState.RUNNING, "placement_id": f"p-{running.job.id}", "compute": agent.compute, "node": node}
    _store_job(tx, running.job, owners, **placed)
    places = tuple(RankPlace(seat.node, seat.gpu_ids) for seat in running.seats) if running.job.size.processes else ()
    placement = Placement(
        f"p-{running.job.id}", running.job.id, agent.compute_id, agent.id, node, PlacementState.RUNNING, 600,
        running.seats[0].gpu_ids, started, started, None, places=places,
    )  # fmt: skip
    placements.insert(tx, placement)
    placements.note_start(tx, placement.id, started)


def _store_job(tx: Connection, job: Job, owners: dict[str, Project], **more: object) -> None:
    owner, queued = owners[job.project], datetime.fromtimestamp(job.submitted, UTC)
    values = {
        "id": job.id, "run_id": f"r-{job.id}", "name": job.id, "project_id": owner.id, "project": owner.name,
        "queued_at": queued, "gpu_hundredths": job.size.gpu, "processes": job.size.processes,
        "priority": job.priority, "timeout_seconds": int(job.time_limit or 0),
    }  # fmt: skip
    made = a_job(**values | more)
    run = a_run(id=made.run_id, project_id=owner.id, project=owner.name, name=made.name, job_id=made.id)
    runs.insert(tx, run)
    jobs.insert(tx, replace(made, status=replace(made.status, reasons=())))
