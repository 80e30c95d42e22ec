"""What an agent is to run: its placements, each with where its data lies and whether all of it is there."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from millpond.db import jobs, placements
from millpond.db.placements import LeasedCommit
from millpond.model.job import Agent, Job, Placement
from millpond.model.volume import CachedState
from millpond.services.placements import GRACE_SECONDS, secret_of
from millpond.wire.agent import DesiredInput, DesiredPlacement

# Where a job's own code lies is told by this, beside MILL_DATA_<DATASET> of its inputs.
CODE_ENV = "MILL_CODE"


def desired_placements(tx: Connection, agent: Agent, server_secret: bytes) -> list[DesiredPlacement]:
    """Oldest first. One that is over is not listed, and so the agent forgets it."""
    living = placements.living_of_agent(tx, agent.id)
    known = jobs.by_ids(tx, [placement.job_id for placement in living])
    leased = placements.leased(tx, list(known))
    return [
        _desired(known[placement.job_id], placement, leased.get(placement.job_id, {}), server_secret)
        for placement in living
        if known[placement.job_id].placement_id == placement.id
    ]


def _desired(
    job: Job, placement: Placement, leased: Mapping[str, LeasedCommit], server_secret: bytes
) -> DesiredPlacement:
    code = leased.get(job.code_commit) if job.code_commit else None
    return DesiredPlacement(
        id=placement.id,
        job_id=job.id,
        job_name=job.name,
        project=job.project,
        run_id=job.run_id,
        token=secret_of(server_secret, placement.id),
        node=placement.node,
        command=list(job.command),
        env=dict(job.env),
        cpu=job.resources.cpu,
        memory_bytes=job.resources.memory_bytes,
        gpu_hundredths=job.resources.gpu_hundredths,
        gpu_indices=list(placement.gpu_indices),
        inputs=[_input(leased[item.commit_id], item.env) for item in job.inputs if item.commit_id in leased],
        code=_input(code, CODE_ENV) if code else None,
        valid_seconds=placement.valid_seconds,
        grace_seconds=GRACE_SECONDS,
        want="run" if job.stop_requested_at is None else "stop",
    )


def _input(found: LeasedCommit, env: str) -> DesiredInput:
    return DesiredInput(
        env=env,
        project_id=found.project_id,
        dataset=found.dataset,
        dataset_id=found.dataset_id,
        commit_id=found.commit_id,
        volume_id=found.volume_id,
        ready=found.state is CachedState.READY,
    )
