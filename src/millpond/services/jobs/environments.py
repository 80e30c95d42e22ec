"""Environments of jobs: built once per site by a job of their own, kept as its output, found again by content.

The name of a build is derived from the tree it is built from, the image and the site. A name belongs to one
living job of a project, so any number of jobs wait for a single build.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from logging import getLogger

from millpond.db import commits, jobs, projects
from millpond.decide.computes import NodeView
from millpond.decide.likely_node import likely_node
from millpond.errors import MillError, NameTaken
from millpond.model.job import Job, JobState
from millpond.model.job_spec import JobKind, JobSpec
from millpond.model.people import SYSTEM
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes, submit
from millpond.services.jobs.loaded import Block
from millpond.services.jobs.snapshot import World
from millpond.services.runs import logs

logger = getLogger(__name__)

COMMAND = ("python3", "build.py")
_TIMEOUT = timedelta(hours=2)
_TAIL_BYTES = 300
# What a build needs at most.
_MEMORY_BYTES = 4 << 30


@dataclass(frozen=True, slots=True)
class Environments:
    """By the ids of job and compute: the build a job takes its packages from there; by job and zone: why it cannot
    begin there.

    `failed`: jobs whose environment cannot be built, with the reason.
    """

    builds: Mapping[tuple[str, str], Job]
    blocked: Mapping[tuple[str, str], Block]
    failed: Mapping[str, str]


NO_ENVIRONMENTS = Environments({}, {}, {})


def look(deps: Deps, world: World, wanting: Iterable[Job]) -> Environments:
    """For every job that waits and wants packages: where they are, and a build where they are nowhere."""
    builds: dict[tuple[str, str], Job] = {}
    blocked: dict[tuple[str, str], Block] = {}
    failed: dict[str, str] = {}
    for job in wanting:
        nodes = [node for node in world.nodes.values() if node.answers_to(job.spec.compute)]
        known = _known_builds(deps, job, nodes)
        ready = {site for site, build in known.items() if _is_ready(build)}
        builds |= {(job.id, node.compute_id): known[node.site_id] for node in nodes if node.site_id in ready}
        waits = {node.compute_id: known.get(node.site_id) for node in nodes if node.site_id not in ready}
        blocked |= {
            (job.id, world.zones[compute_id].name): Block("dependency", _why_not(build))
            for compute_id, build in waits.items()
        }
        if not ready:
            problem = _wait_for_build(deps, world, job, list(known.values()))
            failed |= {job.id: problem} if problem else {}
    return Environments(builds, blocked, failed)


def _known_builds(deps: Deps, job: Job, nodes: list[NodeView]) -> Mapping[str, Job]:
    """The newest build for each site that has one."""
    with deps.db.read() as tx:
        source = commits.get(tx, job.spec.environment or "")
        tree = source.tree if source else ""
        sites = {node.site_id for node in nodes}
        found = {
            site: jobs.find_numbered(tx, job.project_id, _name(tree, job.spec.image, site), None) for site in sites
        }
    return {site: build for site, build in found.items() if build is not None}


def _wait_for_build(deps: Deps, world: World, job: Job, known: list[Job]) -> str | None:
    """Ensure that a build runs; return its failure if one has failed since the job was queued."""
    living = next((build for build in known if not build.status.state.is_finished), None)
    if living is not None:
        _remember(deps, job, living.id)
        return None
    since = job.status.requeued_at or job.queued_at
    failed = next(
        (build for build in known if build.status.ended_at is not None and build.status.ended_at >= since), None
    )
    if failed is not None:
        said = f" ({last_line})" if (last_line := _last_line(deps, failed)) else ""
        return f"Its environment could not be built{said}. See: mill logs {failed.id}"
    return _build(deps, world, job)


def _build(deps: Deps, world: World, job: Job) -> str | None:
    """Begin to build where the job is likely to run; why that cannot be, if it cannot."""
    node = likely_node(world.queued(job), world.nodes.values(), world.zones)
    if node is None:
        return None
    try:
        build = _submit(deps, job, node)
    except NameTaken:
        return None  # another server was faster; the next round finds its build
    except MillError as error:
        return f"Its environment could not be built: {error.message}"
    _remember(deps, job, build.id)
    logger.info("environment_build job=%s build=%s site=%s", job.id, build.id, node.site_id)
    return None


def _last_line(deps: Deps, build: Job) -> str:
    """Last line of the build's log."""
    tail = logs.read(deps, build, -_TAIL_BYTES, _TAIL_BYTES).data.decode(errors="replace").strip()
    return tail.splitlines()[-1][:_TAIL_BYTES] if tail else ""


def _submit(deps: Deps, job: Job, node: NodeView) -> Job:
    with deps.db.read() as tx:
        source = commits.get(tx, job.spec.environment or "")
        project = projects.get(tx, job.project_id)
    assert source is not None and project is not None, "the project and code of a queued job must exist"
    spec = JobSpec(
        kind=JobKind.ENVIRONMENT,
        command=COMMAND,
        code_commit=source.id,
        image=job.spec.image,
        compute=node.compute,
        options=job.spec.options,
        # Where a job gets little memory that asks for none, as on Slurm, a build would be killed.
        memory_bytes=min(job.spec.memory_bytes, _MEMORY_BYTES),
        priority=job.spec.priority,
        timeout_seconds=int(_TIMEOUT.total_seconds()),
    )
    name = _name(source.tree, job.spec.image, node.site_id)
    return submit.enqueue(deps, replace(SYSTEM, name=job.created_by), project, spec, name=name)


def _remember(deps: Deps, job: Job, build_id: str) -> None:
    """Record which build the job waits for, so that people can look there."""
    if job.status.environment_job == build_id:
        return
    with deps.db.write() as tx:
        current = jobs.lock(tx, job.id)
        if current is not None and current.status.state is JobState.QUEUED:
            job_changes.save(tx, current, current.changed(environment_job=build_id), deps.clock.now())


def _name(tree: str, image: str | None, site_id: str) -> str:
    return f"environment-{hashlib.sha256(f'{tree} {image} {site_id}'.encode()).hexdigest()[:12]}"


def _is_ready(build: Job) -> bool:
    return (
        build.status.state is JobState.SUCCEEDED
        and build.status.output_commit is not None
        and build.status.deleted_at is None
    )


def _why_not(build: Job | None) -> str:
    if build is not None and not build.status.state.is_finished:
        return f"Its environment is being built by {build.name} ({build.id}), which is {build.status.state.value}."
    return "Its environment is not built there yet."
