"""Runs of MLflow's API: create, change, search; tags that MLflow gives a meaning become fields of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millpond.api.mlflow.endpoint import Call, Endpoint, one_text, whole
from millpond.api.mlflow.shapes import NAME_TAG, NOTE_TAG, PARENT_TAG, experiment_id, info, moment, run
from millpond.errors import Conflict, Invalid
from millpond.model.people import Role
from millpond.model.run import DEFAULT_EXPERIMENT, NewRun, RunDetails, RunEdit, RunReport, RunState, RunView
from millpond.services.runs import experiments, reports, run_lists, runs
from millpond.services.runs.run_lists import RunListAsked

# So many come in one page, however many were asked for: clients go on with the page token.
MOST = 5_000
_MOST_ASKED = 50_000
_ENDED = {"FINISHED": RunState.SUCCEEDED, "FAILED": RunState.FAILED, "KILLED": RunState.CANCELLED}
_VIEWS = {"ACTIVE_ONLY": False, "DELETED_ONLY": True, "ALL": None}


def create(call: Call) -> dict[str, Any]:
    tags = call.pairs("tags")
    number = whole(call.optional("experiment_id") or "0", "experiment_id")
    of = experiments.get(call.deps, call.project, number)
    if of.deleted_at is not None:
        raise Conflict(f"Experiment {of.name!r} is deleted.", hint="Restore it first.")
    asked = NewRun(
        name=call.optional("run_name") or tags.pop(NAME_TAG, None) or None,
        experiment=of.name,
        parent_id=tags.pop(PARENT_TAG, None),
        started_at=moment(call.number("start_time")),
    )
    note = tags.pop(NOTE_TAG, None)
    made = _join(call, asked) or runs.create(call.deps, call.actor, call.project, asked)
    set_tags(call, made.run.id, {**tags, **({NOTE_TAG: note} if note else {})})
    return {"run": _details(call, made.run.id)}


def _join(call: Call, asked: NewRun) -> RunView | None:
    """A job's own run, for the first run that its script creates. It leaves its experiment only for a named one."""
    if asked.parent_id is not None:
        return None
    experiment = None if asked.experiment == DEFAULT_EXPERIMENT else asked.experiment
    return runs.join_own(call.deps, call.actor, call.project, name=asked.name, experiment=experiment)


def get(call: Call) -> dict[str, Any]:
    return {"run": _details(call, run_id_of(call))}


def update(call: Call) -> dict[str, Any]:
    run_id = run_id_of(call)
    status = call.optional("status")
    found = runs.get(call.deps, call.actor, call.project, run_id).view.run
    if name := call.optional("run_name"):
        runs.edit(call.deps, call.actor, call.project, run_id, RunEdit(name=name))
    if status in _ENDED:
        ended = RunReport(ended=_ENDED[status], ended_at=moment(call.number("end_time")))
        reports.take_report(call.deps, call.actor, call.project, run_id, ended)
    elif status == "RUNNING" and found.state.is_finished and found.job_id is None:
        runs.create(call.deps, call.actor, call.project, NewRun(id=run_id, resume=True))
    elif status not in (None, "RUNNING", "SCHEDULED"):
        raise Invalid(f"Invalid value {status!r} for parameter 'status'.", fields=["status"])
    view = runs.get(call.deps, call.actor, call.project, run_id).view
    return {"run_info": info(view, _number(call, view.run.experiment))}


def delete(call: Call) -> dict[str, Any]:
    runs.move_to_bin(call.deps, call.actor, call.project, run_id_of(call))
    return {}


def restore(call: Call) -> dict[str, Any]:
    runs.take_from_bin(call.deps, call.actor, call.project, run_id_of(call))
    return {}


def set_tag(call: Call) -> dict[str, Any]:
    set_tags(call, active_run(call), {call.text("key"): call.optional("value") or ""})
    return {}


def delete_tag(call: Call) -> dict[str, Any]:
    run_id, key = active_run(call), call.text("key")
    if key == NOTE_TAG:
        runs.edit(call.deps, call.actor, call.project, run_id, RunEdit(notes=""))
        return {}
    view = runs.get(call.deps, call.actor, call.project, run_id).view
    if key not in view.tags:
        raise Invalid(f"No tag with name: {key} in run with id {run_id}", fields=["key"])
    runs.edit(call.deps, call.actor, call.project, run_id, RunEdit(tags={key: None}))
    return {}


def search(call: Call) -> dict[str, Any]:
    """Runs of these experiments; newest first, unless ordered otherwise."""
    names = {
        one.name: experiment_id(one)
        for one in experiments.list_experiments(call.deps, call.project)
        if experiment_id(one) in {one_text(item) for item in call.many("experiment_ids")}
    }
    asked = RunListAsked(
        project=call.project.name,
        experiments=list(names),
        deleted=_VIEWS.get(call.optional("run_view_type") or "ACTIVE_ONLY", False),
        filter=call.optional("filter") or "",
        sort=", ".join(one_text(order) for order in call.many("order_by")),
    )
    most = min(call.limit(1000, _MOST_ASKED), MOST)
    token = call.optional("page_token") or None
    found = run_lists.list_runs(call.deps, call.actor, asked, limit=most, cursor=token)
    records = run_lists.records(call.deps, found.items)
    answer: dict[str, Any] = {
        "runs": [run(view, names[view.run.experiment], records.get(view.run.id)) for view in found.items]
    }
    return answer | ({"next_page_token": found.next} if found.next else {})


def run_id_of(call: Call) -> str:
    return call.text("run_id", "run_uuid")


def active_run(call: Call) -> str:
    """The id of a run that can be written to. Conflict for a deleted one."""
    run_id = run_id_of(call)
    found = runs.get(call.deps, call.actor, call.project, run_id).view.run
    if found.deleted_at is not None:
        raise Conflict(f"The run {run_id} must be in the 'active' state. Current state is deleted.")
    return run_id


def set_tags(call: Call, run_id: str, tags: Mapping[str, str]) -> None:
    """MLflow keeps a run's name and note in tags; they are the run's own here."""
    plain: dict[str, str | None] = {
        key: value for key, value in tags.items() if key not in (NAME_TAG, NOTE_TAG, PARENT_TAG)
    }
    if tags:
        change = RunEdit(name=tags.get(NAME_TAG) or None, notes=tags.get(NOTE_TAG), tags=plain)
        runs.edit(call.deps, call.actor, call.project, run_id, change)


def _details(call: Call, run_id: str) -> dict[str, Any]:
    found: RunDetails = runs.get(call.deps, call.actor, call.project, run_id)
    return run(found.view, _number(call, found.view.run.experiment), found.record)


def _number(call: Call, name: str) -> str:
    return experiment_id(experiments.find(call.deps, call.project, name))


ENDPOINTS = (
    Endpoint("POST", "runs/create", Role.MEMBER, create),
    Endpoint("GET", "runs/get", Role.VIEWER, get),
    Endpoint("POST", "runs/update", Role.MEMBER, update),
    Endpoint("POST", "runs/delete", Role.MEMBER, delete),
    Endpoint("POST", "runs/restore", Role.MEMBER, restore),
    Endpoint("POST", "runs/set-tag", Role.MEMBER, set_tag),
    Endpoint("POST", "runs/delete-tag", Role.MEMBER, delete_tag),
    Endpoint("POST", "runs/search", Role.VIEWER, search, for_jobs=False),
)
