"""Builders for work: jobs as values, and a small world of agents, volumes and commits in a database."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from millpond.db import commits, computes, datasets, jobs, nodes, projects, runs, sites, volumes
from millpond.db import lineage as lineage_rows
from millpond.db.engine import Database
from millpond.db.tables import page
from millpond.decide.computes import Need, NodeView, QueuedJob
from millpond.model.agent import Agent
from millpond.model.compute import Compute, Node
from millpond.model.dataset import Commit, Dataset, DatasetKind, Ref, RefType
from millpond.model.ids import new_id
from millpond.model.job import Job, JobState, JobStatus
from millpond.model.job_spec import JobKind, JobSpec, Launcher
from millpond.model.lineage import LineageEdge, LineageRole, Maker
from millpond.model.names import DEFAULT_BRANCH, DEFAULT_PROJECT
from millpond.model.people import Actor, ActorKind, Project, TokenKind
from millpond.model.quantity import DAY
from millpond.model.run import Run, RunState
from millpond.model.volume import Site, Volume
from millpond.services.people import tokens
from millpond.testing.clock import NOON
from millpond.wire.observed import NodeFacts, Observed

GB = 10**9


def a_job(**changes: Any) -> Job:
    """A queued job that asks for nothing. Fields of its spec and status may be given as its own; `compute` is where it
    was placed."""
    job = Job(
        id="job00001", project_id="project1", project=DEFAULT_PROJECT, name="train", number=1, run_id="run00001",
        created_by="maria", queued_at=NOON, spec=JobSpec(command=("true",)),
        status=JobStatus(reasons=("Submitted by maria.",)),
    )  # fmt: skip
    status = {field.name: changes.pop(field.name) for field in fields(JobStatus) if field.name in changes}
    spec = {field.name: changes.pop(field.name) for field in fields(JobSpec) if field.name in changes}
    return replace(job, spec=replace(job.spec, **spec), status=replace(job.status, **status), **changes)


def a_placed_job(**changes: Any) -> Job:
    placed: dict[str, Any] = {
        "state": JobState.PLACED, "placed_at": NOON, "placement_id": "p1", "compute": "local", "node": "local",
    }  # fmt: skip
    return a_job(**placed | changes)


def a_run(**changes: Any) -> Run:
    """The run of a script."""
    run = Run(
        id="run00001", project_id="project1", project=DEFAULT_PROJECT, experiment="default", name="train",
        job_id=None, state=RunState.RUNNING, created_by="maria", started_at=NOON, ended_at=None,
        seen_at=NOON, deleted_at=None,
    )  # fmt: skip
    return replace(run, **changes)


def a_node(name: str = "local", **changes: Any) -> NodeView:
    """A connected node of 8 CPUs and 32 GB without GPUs, alone at its compute's site."""
    node = NodeView(
        compute_id=f"compute-{name}", compute=name, agent_id=f"agent-{name}", site_id=f"site-{name}",
        name=name, connected=True, cpus=8, memory_bytes=32 * GB,
    )  # fmt: skip
    return replace(node, **changes)


def a_queued_job(
    job_id: str, *, cpu: int = 0, memory_bytes: int = 0, gpus: int = 0, needs: Mapping[str, int] | None = None,
    image: str | None = None, enforced: bool = False, compute: str | None = None, processes: int = 0,
    interactive: bool = False, ports: Sequence[int] = (), options: Mapping[str, str] | None = None,
    launcher: Launcher = Launcher.TORCH,
) -> QueuedJob:  # fmt: skip
    """`gpus` in hundredths; `needs` maps commits to bytes."""
    wanted = tuple(Need(commit, size) for commit, size in (needs or {}).items())
    spec = JobSpec(
        command=("true",), kind=JobKind.INTERACTIVE if interactive else JobKind.TRAINING, cpu=cpu,
        memory_bytes=memory_bytes, gpu_hundredths=gpus, gpu_enforced=enforced, compute=compute, image=image,
        processes=processes, launcher=launcher, ports=tuple(ports), options=options or {},
    )  # fmt: skip
    return QueuedJob(job_id, spec, wanted)


def observed(node: NodeFacts | None = None, **changes: Any) -> Observed:
    """What an agent with one node of 4 CPUs and 16 GB tells."""
    facts = node or NodeFacts(name="local", cpus=4, memory_bytes=16 * GB)
    told: dict[str, Any] = {
        "version": "0.1.0", "instance": "one", "boot_id": "boot", "nodes": [facts], "wait_seconds": 0,
    }  # fmt: skip
    return Observed(**told | changes)


@dataclass(frozen=True, slots=True)
class AddedAgent:
    agent: Agent
    token: str

    @property
    def actor(self) -> Actor:
        one = self.agent
        return Actor(
            kind=ActorKind.AGENT, name=f"agent {one.compute}", agent_id=one.id, compute_id=one.compute_id,
            site_id=one.site_id,
        )  # fmt: skip


def add_agent(
    db: Database, name: str = "local", *, site: str = "local", now: datetime = NOON, cpus: int = 4,
    memory_bytes: int = 16 * GB, gpus: int = 0, labels: Mapping[str, str] | None = None, seen: bool = True,
) -> AddedAgent:  # fmt: skip
    """A compute (and its site) with an agent and one node of the same name, seen just now."""
    with db.write() as tx:
        place = add_site(tx, site, now)
        compute = Compute(new_id(), name, place.id, site, "process", now)
        computes.insert(tx, compute)
        agent = Agent(new_id(), compute.id, name, place.id, site, "0.1.0", now, now if seen else None)
        computes.give_to(tx, agent)
        node = Node(compute.id, name, cpus, memory_bytes, gpus, declared=True, labels=labels or {})
        nodes.report(tx, agent.id, compute.id, [node] if seen else [], now)
        return AddedAgent(agent, tokens.add(tx, TokenKind.AGENT, name="agent", now=now, agent_id=agent.id)[1])


def add_site(tx: Connection, name: str, now: datetime = NOON) -> Site:
    """The site of that name, made if need be."""
    found = sites.find(tx, name)
    if found is None:
        found = Site(new_id(), name, now)
        sites.insert(tx, found)
    return found


def add_volume(
    db: Database, name: str = "fast", *, site: str = "local", capacity_bytes: int = 100 * GB, now: datetime = NOON
) -> Volume:
    """A volume its agent has looked at and found well."""
    with db.write() as tx:
        place = add_site(tx, site, now)
        volume = Volume(new_id(), name, place.id, site, f"/volumes/{name}", capacity_bytes, 0, DAY, 90, 75, now)
        volumes.insert(tx, volume)
        volumes.change(tx, volume.id, seen_at=now, disk_free_bytes=capacity_bytes)
        found = volumes.get(tx, volume.id)
        assert found is not None
        return found


def add_commit(
    db: Database, dataset: str = "xray", *, project: str = DEFAULT_PROJECT, size: int = GB,
    branch: str = DEFAULT_BRANCH, kind: DatasetKind = DatasetKind.DATA, lineage: Mapping[str, Any] | None = None,
    now: datetime = NOON,
) -> str:  # fmt: skip
    """A commit (and its dataset) as rows only: nothing of it is in a lake. Its id."""
    with db.write() as tx:
        owner = projects.find(tx, project)
        assert owner is not None, project
        place = datasets.find(tx, owner.id, dataset) or _add_dataset(tx, owner, dataset, kind, now)
        seed = f"{place.id}/{branch}/{new_id()}".encode()
        tree, commit_id = hashlib.sha256(seed).hexdigest(), hashlib.sha256(b"commit" + seed).hexdigest()
        tx.execute(
            page.insert().values(
                project_id=owner.id, id=bytes.fromhex(tree), level=0, entries=1, files=1, bytes=size, allocated=size,
                first_path=b"a", last_path=b"a",
            )
        )  # fmt: skip
        commit = Commit(commit_id, place.id, tree, (), "maria", now, "", 1, size, lineage or {})
        commits.insert(tx, commit)
        commits.set_ref(tx, Ref(place.id, branch, RefType.BRANCH, commit_id, now))
    return commit_id


def add_job(db: Database, *, project: str = DEFAULT_PROJECT, **changes: Any) -> Job:
    """A job and its run, as rows."""
    with db.write() as tx:
        owner = projects.find(tx, project)
        assert owner is not None, project
        ids = {"id": new_id(8), "run_id": new_id(8)}
        job = a_job(**ids | {"project_id": owner.id, "project": project} | changes)
        runs.insert(tx, a_run(id=job.run_id, project_id=owner.id, project=project, name=job.name, job_id=job.id))
        jobs.insert(tx, job)
        if job.status.output_commit is not None:
            made = LineageEdge(None, job.status.output_commit, LineageRole.ORIGIN, Maker("job", job.id))
            lineage_rows.add(tx, [made])
    return job


def _add_dataset(tx: Connection, project: Project, name: str, kind: DatasetKind, now: datetime) -> Dataset:
    dataset = Dataset(new_id(), project.id, project.name, name, kind, "", now, "maria", now)
    datasets.insert(tx, dataset)
    datasets.change(tx, dataset.id, next_record=1)
    return dataset
