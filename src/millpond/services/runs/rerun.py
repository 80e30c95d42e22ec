"""Runs made again: what was recorded is loaded, `decide/rerun.py` plans, the job is submitted."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from millpond.db import (
    commits,
    computes,
    datasets,
    jobs,
    lineage,
    models,
    mounts,
    queues,
    run_values,
    runs,
    secrets,
    templates,
)
from millpond.decide import rerun as decisions
from millpond.errors import Conflict, Invalid
from millpond.model.ids import new_id
from millpond.model.job import Job
from millpond.model.names import check_name
from millpond.model.people import Actor, Project
from millpond.model.rerun import RecordedRun, RerunAsked, RerunParam, RerunPlan, StillThere
from millpond.services.computes import elastic
from millpond.services.deps import Deps
from millpond.services.jobs import submit
from millpond.services.people import access
from millpond.services.runs.runs import find


@dataclass(frozen=True, slots=True)
class Rerun:
    """`job` is None if the run was only planned."""

    plan: RerunPlan
    job: Job | None = None


def plan(deps: Deps, actor: Actor, project: Project, run_id: str, asked: RerunAsked) -> RerunPlan:
    """What making the run again comes to. Nothing is submitted."""
    return _plan(deps, actor, project, run_id, asked)[1]


def rerun(deps: Deps, actor: Actor, project: Project, run_id: str, asked: RerunAsked) -> Rerun:
    """Submit the job that makes the run again. Conflict, with the parts, if something that it needs is gone."""
    if asked.name is not None:
        check_name(asked.name, "job")
    recorded, found = _plan(deps, actor, project, run_id, asked)
    if found.spec is None:
        first, *more = found.gone
        and_more = f" ({len(more)} more)" if more else ""
        raise Conflict(
            f"Cannot run {recorded.name} again: {first.text}{and_more}",
            hint=first.hint,
            parts=[{"part": part.part, "text": part.text, "hint": part.hint} for part in found.gone],
        )
    if found.git is not None:
        raise Invalid(
            f"Cannot run {recorded.name} again: its code is in Git, and not in the lake.",
            hint=f"Run this where {found.git.url} can be reached: mill rerun {run_id}",
            fields=["code_commit"],
        )
    params = {**recorded.params, **{one.key: _set(one) for one in found.params if one.changed_to is not None}}
    name = _free_name(deps, project, found.name, is_chosen=asked.name is not None)
    job = submit.enqueue(deps, actor, project, found.spec, name=name, params=params)
    return Rerun(found, job)


def _set(param: RerunParam) -> object:
    return decisions.typed(param.changed_to or "", param.value)


def _plan(
    deps: Deps, actor: Actor, project: Project, run_id: str, asked: RerunAsked
) -> tuple[RecordedRun, RerunPlan]:  # fmt: skip
    with deps.db.read() as tx:
        run = find(tx, actor, project, run_id)
        record = runs.record(tx, run.id)
        recorded = RecordedRun(
            id=run.id,
            name=run.name,
            experiment=run.experiment,
            params=run_values.params(tx, [run.id])[run.id],
            origin=record.origin,
            inputs=record.inputs,
            job=jobs.get(tx, run.job_id) if run.job_id else None,
            models=tuple(models.written(tx, lineage.read_by_run(tx, run.id))) if run.job_id else (),
        )
        there = _still_there(tx, actor, project, recorded)
    return recorded, decisions.plan(recorded, asked, there)


def _still_there(tx: Connection, actor: Actor, project: Project, recorded: RecordedRun) -> StillThere:
    named = {str(one.get("digest", "")) for one in recorded.inputs}
    inputs = recorded.job.spec.inputs if recorded.job else ()
    among = access.visible_projects(actor)
    if recorded.job is not None:
        spec, built = recorded.job.spec, recorded.job.status.environment_commit
        named |= {one.commit_id for one in spec.inputs}
        named |= {commit for commit in (spec.code_commit, spec.environment, built) if commit}
    return StillThere(
        commits=commits.readable(tx, named, among=among),
        in_bin=commits.in_bin(tx, named, among=among),
        datasets=datasets.living(tx, {one.dataset_id for one in inputs}, among=among),
        secrets=frozenset(secrets.names(tx, project.id)),
        mounts=frozenset(name for name, one in mounts.by_name(tx).items() if one.allows(project.id)),
        templates=frozenset({*templates.by_name(tx), *queues.by_name(tx)}),
        computes=frozenset({*(one.name for one in computes.all_computes(tx)), *elastic.known_names(tx)}),
    )


def _free_name(deps: Deps, project: Project, name: str | None, *, is_chosen: bool) -> str | None:
    """The name of the job before, or one like it while that has not ended."""
    if name is None or is_chosen:
        return name
    with deps.db.read() as tx:
        is_taken = jobs.holder(tx, project.id, name) is not None
    return f"{name[:50]}-{new_id(4)}" if is_taken else name
