"""Versions of models that a job reads beside its inputs: allowed, and noted as inputs of its run (docs/design/017)."""

from __future__ import annotations

from millpond.db import jobs, lineage, runs
from millpond.model.job import Job
from millpond.model.lineage import LineageEdge, LineageRole, Maker
from millpond.model.people import Actor, ActorKind
from millpond.services.deps import Deps


def note(deps: Deps, actor: Actor, commit_id: str) -> None:
    """Before a job gets bytes of a version: an edge of lineage from it to the job's run. Nothing for anybody else."""
    if actor.kind is not ActorKind.PLACEMENT or actor.job_id is None:
        return
    with deps.db.read() as tx:
        job = jobs.get(tx, actor.job_id)
        if job is None or _is_asked_for(job, commit_id) or commit_id in lineage.read_by_run(tx, job.run_id):
            return
    with deps.db.write() as tx:
        runs.lock(tx, job.run_id)
        if commit_id not in lineage.read_by_run(tx, job.run_id):
            lineage.add(tx, [LineageEdge(commit_id, None, LineageRole.INPUT, Maker("run", job.run_id))])


def _is_asked_for(job: Job, commit_id: str) -> bool:
    """True if lineage knows it from the job's specification."""
    return any(entry.commit_id == commit_id for entry in job.spec.inputs)
