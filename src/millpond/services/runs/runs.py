"""Runs: made by jobs and by scripts anywhere, found, changed, moved to the bin and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import experiments, metrics, run_values, runs
from millpond.decide.job_names import made_name
from millpond.errors import Conflict, Invalid, NameTaken
from millpond.model.ids import new_job_id
from millpond.model.people import Actor, Project
from millpond.model.run import DEFAULT_EXPERIMENT, NewRun, Run, RunDetails, RunEdit, RunState, RunView
from millpond.services.deps import Deps
from millpond.services.people import access, audit
from millpond.services.runs.run_checks import check_name, check_notes, check_tags, checked_params

# A script that says nothing for so long is taken for dead; its next batch revives it.
SILENCE = timedelta(minutes=5)
_MOST_DEPTH = 32
_LEAST_PREFIX = 4


def create(deps: Deps, actor: Actor, project: Project, asked: NewRun) -> RunView:
    """Creating one with the same id again is the same run; with `resume` it is running again.

    A job makes runs inside its own: without a parent, its run is the parent.
    """
    now = deps.clock.now()
    params = checked_params(asked.params)
    check_tags(asked.tags)
    run = _new_run(actor, project, asked, now)
    try:
        with deps.db.write() as tx:
            existing = runs.lock(tx, run.id)
            if existing is None:
                run = _inside_job(tx, actor, project, run)
                if asked.experiment is None:
                    run = _in_experiment_of_parent(tx, run)
                runs.insert(tx, run)
                experiments.ensure(tx, project.id, run.experiment, now)
                run_values.set_params(tx, run, params, now)
                run_values.set_tags(tx, run, asked.tags)
                _record(tx, now, actor, project, run, "run.create")
            elif existing.project_id != project.id or not _reaches(tx, actor, existing):
                raise NameTaken(f"Cannot use the run id {run.id!r} here.", hint="Leave it out to get a new one.")
            elif asked.resume:
                existing = _resume(tx, actor, project, existing, now)
    except IntegrityError as error:
        raise Conflict(f"Another request is creating run {run.id}.", hint="Try again.") from error
    if existing is None or asked.resume:
        publish(deps, existing or run, "created")
    return view(deps, existing or run)


def join_own(
    deps: Deps, actor: Actor, project: Project, *, name: str | None, experiment: str | None
) -> RunView | None:  # fmt: skip
    """The run of the job that asks, with this name and experiment if given; None but for the first time in an attempt.

    For clients that always create a run (MLflow's): what a script logs in a job belongs to the job's own run.
    """
    if actor.job_id is None:
        return None
    check_name(name, "name")
    with deps.db.write() as tx:
        run = runs.lock(tx, runs.id_of_job(tx, actor.job_id) or "")
        if run is None or not runs.take_sequence(tx, run.id, f"join {actor.placement_id}", 0):
            return None
        after = replace(run, name=name or run.name, experiment=experiment or run.experiment)
        experiments.ensure(tx, project.id, after.experiment, deps.clock.now())
        runs.save(tx, after)
    publish(deps, after, "changed")
    return view(deps, after)


def find(tx: Connection, actor: Actor, project: Project, run_id: str) -> Run:
    """A run of the project; for a job's own token, only its own run and those inside it."""
    run = runs.get(tx, run_id)
    if run is None or run.project_id != project.id or not _reaches(tx, actor, run):
        raise access.not_found("run", run_id, runs.ids(tx, project.id) if actor.job_id is None else ())
    return run


def resolve(deps: Deps, actor: Actor, project: Project, written: str, *, unique: bool = False) -> RunView:
    """A run by its id, the beginning of it (if only one begins so), or its name: then the newest of that name.

    With `unique`, Conflict if several runs have the name: for what changes a run.
    """
    with deps.db.read() as tx:
        found = runs.get(tx, written)
        if found is None or found.project_id != project.id:
            found = _by_name(tx, project, written, unique=unique) or _by_prefix(tx, project, written)
        if found is None:
            # Ids have digits: a word without any is a name, and an id that is like it by chance is no help.
            ids = runs.ids(tx, project.id) if any(character.isdigit() for character in written) else ()
            raise access.not_found("run", written, {*runs.names(tx, project.id), *ids})
    return view(deps, found)


def get(deps: Deps, actor: Actor, project: Project, run_id: str) -> RunDetails:
    with deps.db.read() as tx:
        run = find(tx, actor, project, run_id)
        return RunDetails(
            view=_view(tx, run),
            record=runs.record(tx, run.id),
            changes=run_values.param_changes(tx, run.id),
            children=runs.count_children(tx, run.id),
        )


def edit(deps: Deps, actor: Actor, project: Project, run_id: str, asked: RunEdit) -> RunDetails:
    """Change its name, experiment, notes or tags."""
    now = deps.clock.now()
    check_name(asked.name, "name")
    check_name(asked.experiment, "experiment")
    check_tags(asked.tags)
    check_notes(asked.notes or "")
    with deps.db.write() as tx:
        find(tx, actor, project, run_id)
        run = _locked(tx, run_id)
        after = replace(run, name=asked.name or run.name, experiment=asked.experiment or run.experiment)
        if after.experiment != run.experiment:
            experiments.ensure(tx, project.id, after.experiment, now)
        runs.save(tx, after)
        run_values.set_tags(tx, after, {key: text for key, text in asked.tags.items() if text is not None})
        run_values.remove_tags(tx, run_id, [key for key, text in asked.tags.items() if text is None])
        if asked.notes is not None:
            runs.save_record(tx, run_id, replace(runs.record(tx, run_id), notes=asked.notes))
        tags = {key: asked.tags.get(key) for key in asked.tags}
        told = {"name": run.name, "experiment": run.experiment}
        _record(
            tx, now, actor, project, after, "run.edit", before=told,
            after={"name": after.name, "experiment": after.experiment} | ({"tags": tags} if tags else {}),
        )  # fmt: skip
    publish(deps, after, "changed")
    return get(deps, actor, project, run_id)


def move_to_bin(deps: Deps, actor: Actor, project: Project, run_id: str) -> RunView:
    return _set_deleted(deps, actor, project, run_id, deps.clock.now())


def take_from_bin(deps: Deps, actor: Actor, project: Project, run_id: str) -> RunView:
    return _set_deleted(deps, actor, project, run_id, None)


def mark_lost(deps: Deps, now: datetime) -> int:
    """Housekeeping: end scripts that have been silent too long; return how many."""
    with deps.db.read() as tx:
        silent = runs.silent_since(tx, now - SILENCE, limit=1000)
    lost: list[Run] = []
    for run_id in silent:
        with deps.db.write() as tx:
            run = runs.lock(tx, run_id)
            if run is not None and run.state is RunState.RUNNING and run.seen_at < now - SILENCE:
                lost.append(replace(run, state=RunState.LOST, ended_at=run.seen_at))
                runs.save(tx, lost[-1])
    for run in lost:
        publish(deps, run, "ended")
    return len(lost)


def fold_ended(deps: Deps, now: datetime) -> int:
    """Housekeeping: turn the batches of points of runs that have ended into chunks; return of how many runs."""
    with deps.db.read() as tx:
        waiting = runs.ended_unfolded(tx, limit=200)
    for run_id in waiting:
        with deps.db.write() as tx:
            run = runs.lock(tx, run_id)
            if run is not None and run.unfolded:
                metrics.fold(tx, run_id)
                runs.save(tx, replace(run, unfolded=0))
    return len(waiting)


def publish(deps: Deps, run: Run, what: str) -> None:
    data = {"project": run.project, "id": run.id, "what": what, "state": run.state.value}
    deps.events.publish(f"run:{run.id}", project_id=run.project_id, data=data)
    if what != "batch":
        deps.events.publish("runs", project_id=run.project_id, data=data)


def view(deps: Deps, run: Run) -> RunView:
    with deps.db.read() as tx:
        return _view(tx, run)


def _view(tx: Connection, run: Run) -> RunView:
    return RunView(
        run,
        params=run_values.params(tx, [run.id])[run.id],
        tags=run_values.tags(tx, [run.id])[run.id],
        metrics=metrics.summaries(tx, [run.id])[run.id],
    )


def _new_run(actor: Actor, project: Project, asked: NewRun, now: datetime) -> Run:
    run_id = asked.id or new_job_id()
    check_name(asked.name, "name")
    check_name(asked.experiment, "experiment")
    if asked.parent_id == run_id:
        raise Invalid("A run cannot be its own parent.", fields=["parent"])
    return Run(
        id=run_id,
        project_id=project.id,
        project=project.name,
        experiment=asked.experiment or DEFAULT_EXPERIMENT,
        name=asked.name or made_name(run_id),
        job_id=None,
        state=RunState.RUNNING,
        created_by=actor.name,
        started_at=min(asked.started_at or now, now),
        ended_at=None,
        seen_at=now,
        deleted_at=None,
        parent_id=asked.parent_id,
    )


def _inside_job(tx: Connection, actor: Actor, project: Project, run: Run) -> Run:
    """A run that a job makes has the job's run among its parents."""
    if actor.job_id is None:
        return run
    if run.parent_id is None:
        return replace(run, parent_id=runs.id_of_job(tx, actor.job_id))
    find(tx, actor, project, run.parent_id)
    return run


def _in_experiment_of_parent(tx: Connection, run: Run) -> Run:
    """As it is, if it has no parent, or one that is not here (yet) or in another project."""
    parent = runs.get(tx, run.parent_id) if run.parent_id else None
    return replace(run, experiment=parent.experiment) if parent and parent.project_id == run.project_id else run


def _reaches(tx: Connection, actor: Actor, run: Run) -> bool:
    """True unless a job asks for a run that is neither its own nor inside its own."""
    if actor.job_id is None:
        return True
    for _ in range(_MOST_DEPTH):
        if run.job_id == actor.job_id:
            return True
        parent = runs.get(tx, run.parent_id) if run.parent_id else None
        if parent is None or parent.project_id != run.project_id:
            return False
        run = parent
    return False


def _by_name(tx: Connection, project: Project, name: str, *, unique: bool) -> Run | None:
    found = runs.named(tx, project.id, name, limit=6) or runs.named(tx, project.id, name, deleted=True, limit=6)
    if unique and len(found) > 1:
        ids = [run.id for run in found]
        raise Conflict(f"Several runs are named {name!r}.", hint=f"Use the id: {', '.join(ids)}.", ids=ids)
    return found[0] if found else None


def _by_prefix(tx: Connection, project: Project, written: str) -> Run | None:
    if len(written) < _LEAST_PREFIX or not written.isalnum():
        return None
    found = runs.with_prefix(tx, project.id, written, limit=2)
    return found[0] if len(found) == 1 else None


def _resume(tx: Connection, actor: Actor, project: Project, run: Run, now: datetime) -> Run:
    if run.deleted_at is not None:
        raise Conflict(
            f"Cannot resume run {run.id}: it is deleted.", hint=f"Restore it first: mill run undelete {run.id}"
        )
    if run.job_id is not None:
        raise Conflict(f"Cannot resume run {run.id}: it belongs to a job.", hint="Run the job again.")
    if run.state is RunState.RUNNING:
        return run
    after = replace(run, state=RunState.RUNNING, ended_at=None, seen_at=max(now, run.seen_at))
    runs.save(tx, after)
    _record(tx, now, actor, project, after, "run.resume")
    return after


def _set_deleted(deps: Deps, actor: Actor, project: Project, run_id: str, moment: datetime | None) -> RunView:
    with deps.db.write() as tx:
        found = find(tx, actor, project, run_id)
        if found.job_id is not None:
            raise Conflict(
                f"Run {run_id} belongs to a job and is deleted and restored with it.",
                hint=f"Use `mill delete {found.job_id}` or `mill undelete {found.job_id}`.",
                job=found.job_id,
            )
        run = _locked(tx, run_id)
        after = replace(run, deleted_at=(run.deleted_at or moment) if moment else None)
        runs.save(tx, after)
        _record(tx, deps.clock.now(), actor, project, run, "run.delete" if moment else "run.undelete")
    publish(deps, after, "changed")
    return view(deps, after)


def _locked(tx: Connection, run_id: str) -> Run:
    run = runs.lock(tx, run_id)
    if run is None:
        raise access.not_found("run", run_id)
    return run


def _record(
    tx: Connection, now: datetime, actor: Actor, project: Project, run: Run, action: str, *,
    before: Mapping[str, Any] | None = None, after: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    subject = f"{project.name}/{run.id}"
    audit.record(tx, now=now, actor=actor, action=action, subject=subject, project_id=project.id,
                 before=before, after=after)  # fmt: skip
