"""What an agent is to run: its placements, each with where its data lies and whether all of it is there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Connection

from millpond.db import jobs, placements, projects
from millpond.db.placements import LeasedCommit
from millpond.model.agent import Agent
from millpond.model.cached_state import CachedState
from millpond.model.job import Job, Placement
from millpond.model.job_spec import JobMount
from millpond.model.mount import SharedMount
from millpond.model.names import CODE_DATASET, OUTPUT_DATASET
from millpond.sealing import Seal
from millpond.services.clusters import files as cluster_files
from millpond.services.endpoints import service_files
from millpond.services.endpoints.service_files import ServiceFiles
from millpond.services.jobs.placements import secret_of
from millpond.services.people import secrets
from millpond.services.places import mounts
from millpond.services.workspaces import in_jobs, run_snapshots, session_programs
from millpond.services.workspaces.in_jobs import JobTree
from millpond.services.workspaces.run_snapshots import StartHold
from millpond.wire.desired import DesiredInput, DesiredMount, DesiredPlacement, DesiredRank, DesiredService

# Where a job's own code lies is told by this, beside MILL_DATA_<DATASET> of its inputs.
CODE_ENV = "MILL_CODE"
# Where the packages lie that its requirements were built to.
ENVIRONMENT_ENV = "MILL_ENVIRONMENT"
NO_HOLD = StartHold()


@dataclass(frozen=True, slots=True)
class Beside:
    """What placements are told that is not their jobs': numbers of projects, secrets by job, what all share."""

    accounts: Mapping[str, int]
    secrets: Mapping[str, Mapping[str, str | None]]
    mounts: Mapping[str, Mapping[str, SharedMount]]
    server_secret: bytes
    log_bytes: int
    services: Mapping[str, ServiceFiles]
    trees: Mapping[str, Sequence[JobTree]]
    holds: Mapping[str, StartHold]


def desired_placements(
    tx: Connection, agent: Agent, server_secret: bytes, seal: Seal, *, log_bytes: int, told: Collection[str] = ()
) -> list[DesiredPlacement]:
    """Oldest first. One that is over is not listed, and so the agent forgets it.

    `told` are those that the agent knows. One that has begun and is not among them is not listed either: the agent has
    lost it with its disk and would begin it anew, though it may still run. It runs out.
    """
    living = [one for one in placements.living_of_agent(tx, agent.id) if not one.state.has_begun or one.id in told]
    if not living:
        return []
    known = jobs.by_ids(tx, [placement.job_id for placement in living])
    leased = placements.leased(tx, list(known))
    owners = {job.project_id for job in known.values()}
    owners |= {commit.project_id for held in leased.values() for commit in held.values()}
    accounts = projects.accounts(tx, owners)
    given: dict[str, Mapping[str, str | None]] = {**secrets.values_of(tx, seal, list(known.values()))}
    for job_id, variables in session_programs.variables_of(known.values(), server_secret).items():
        given[job_id] = {**given.get(job_id, {}), **variables}
    mounted = mounts.allowed_now(tx, list(known.values()))
    services = {
        **service_files.of_jobs(tx, known.values(), server_secret),
        **cluster_files.of_jobs(tx, known.values(), seal),
    }
    trees = in_jobs.trees_of(tx, list(known.values()))
    holds = run_snapshots.start_holds(tx, known.values())
    beside = Beside(accounts, given, mounted, server_secret, log_bytes, services, trees, holds)
    return [
        _desired(known[placement.job_id], placement, leased.get(placement.job_id, {}), beside)
        for placement in living
        if known[placement.job_id].status.placement_id == placement.id
    ]


def _desired(job: Job, placement: Placement, leased: Mapping[str, LeasedCommit], beside: Beside) -> DesiredPlacement:
    def data(env: str, commit_id: str, dataset: str) -> DesiredInput:
        found = _input(env, commit_id, dataset, leased)
        return found.model_copy(update={"account": beside.accounts.get(found.project_id, 0)})

    hold = beside.holds.get(job.id, NO_HOLD)
    return DesiredPlacement(
        id=placement.id,
        job_id=job.id,
        job_name=job.name,
        project=job.project,
        run_id=job.run_id,
        account=beside.accounts.get(job.project_id, 0),
        token=secret_of(beside.server_secret, placement.id),
        attempt=placement.number,
        node=placement.node,
        spec=job.spec,
        gpu_indices=list(placement.gpu_indices),
        ranks=[DesiredRank(node=place.node, gpu_indices=list(place.gpu_indices)) for place in placement.places],
        inputs=[data(item.env, item.commit_id, item.name) for item in job.spec.inputs if not item.streamed],
        code=_code(job, data(CODE_ENV, job.spec.code_commit, CODE_DATASET)) if job.spec.code_commit else None,
        environment=data(ENVIRONMENT_ENV, job.status.environment_commit, OUTPUT_DATASET)
        if job.status.environment_commit
        else None,
        checkpoint=job.status.checkpoint_commit,
        valid_seconds=placement.valid_seconds,
        log_bytes=beside.log_bytes,
        secrets=dict(beside.secrets.get(job.id, {})),
        mounts=[
            *(_mount(one, beside.mounts[job.id].get(one.mount)) for one in job.spec.mounts),
            *(_tree(one) for one in beside.trees.get(job.id, ())),
        ],
        service=DesiredService(**asdict(files)) if (files := beside.services.get(job.id)) else None,
        waits=hold.waits,
        refused=hold.problem,
        lines=list(hold.lines),
        want="run" if job.status.stop_requested_at is None else "stop",
    )


def _mount(asked: JobMount, allowed: SharedMount | None) -> DesiredMount:
    return DesiredMount(
        name=asked.mount,
        source=allowed.path if allowed else None,
        target=asked.target,
        read_only=asked.read_only or (allowed is not None and allowed.read_only),
    )


def _tree(one: JobTree) -> DesiredMount:
    return DesiredMount(
        name=one.name, source=one.source, target=one.target, read_only=one.read_only, workspace=True, home=one.is_home
    )


def _code(job: Job, code: DesiredInput) -> DesiredInput:
    """A job that has all of its data, and its code on no volume, was placed where there is none."""
    return code.model_copy(update={"fetch": job.status.filled_at is not None and not code.volume_id})


def _input(env: str, commit_id: str, dataset: str, leased: Mapping[str, LeasedCommit]) -> DesiredInput:
    """One that the job does not hold yet is named all the same: the agent must not start without it."""
    found = leased.get(commit_id)
    return DesiredInput(
        env=env,
        project_id=found.project_id if found else "",
        dataset=dataset,
        dataset_id=found.dataset_id if found else "",
        commit_id=commit_id,
        volume_id=found.volume_id if found else "",
        ready=found is not None and found.state is CachedState.READY,
    )
