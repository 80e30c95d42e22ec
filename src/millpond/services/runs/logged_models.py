"""Logged models: made by training runs, with their files among the run's artifacts."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from millpond.db import logged_models, runs
from millpond.errors import Invalid
from millpond.model.experiment import Experiment
from millpond.model.logged_model import STATUSES, LoggedModel
from millpond.model.people import Actor, Project
from millpond.model.run import NewRun, RunReport, RunState
from millpond.services.deps import Deps
from millpond.services.people import access
from millpond.services.runs import reports
from millpond.services.runs import runs as run_service
from millpond.services.runs.run_checks import check_name, check_tags, checked_params


def create(
    deps: Deps, actor: Actor, project: Project, of: Experiment, *, name: str | None, type: str, run_id: str | None,
    params: Mapping[str, str], tags: Mapping[str, str],
) -> LoggedModel:  # fmt: skip
    """A model whose files are still to come. One without a run gets a run of its own, which has ended."""
    check_name(name, "name")
    check_tags(tags)
    model_id = f"m-{secrets.token_hex(16)}"
    run_id = run_id or _own_run(deps, actor, project, of, name or model_id)
    now = deps.clock.now()
    model = LoggedModel(
        id=model_id, project_id=project.id, experiment=of.name, name=name or model_id, type=type, run_id=run_id,
        status=STATUSES[0], created_by=actor.name, created_at=now, changed_at=now, params=checked_params(params),
        tags=dict(tags),
    )  # fmt: skip
    with deps.db.write() as tx:
        run_service.find(tx, actor, project, run_id)
        logged_models.insert(tx, model)
    return model


def get(deps: Deps, actor: Actor, project: Project, model_id: str) -> LoggedModel:
    """For a job's token, only of runs that it reaches."""
    with deps.db.read() as tx:
        return _seen(tx, actor, project, logged_models.get(tx, project.id, model_id), model_id)


def list_models(deps: Deps, actor: Actor, project: Project, experiments: Sequence[str]) -> Sequence[LoggedModel]:
    """Newest first."""
    with deps.db.read() as tx:
        found = logged_models.of_experiments(tx, project.id, experiments)
        if actor.job_id is None:
            return found
        run = runs.id_of_job(tx, actor.job_id)
        return [model for model in found if model.run_id == run]


def change(
    deps: Deps, actor: Actor, project: Project, model_id: str, *, status: str | None = None,
    params: Mapping[str, str] | None = None, tags: Mapping[str, str | None] | None = None,
    metrics: Sequence[Mapping[str, Any]] = (), delete: bool = False,
) -> LoggedModel:  # fmt: skip
    """Set its status, add parameters, set tags (None removes one) or metrics, or delete it."""
    if status is not None and status not in STATUSES:
        raise Invalid(f"Invalid value {status!r} for parameter 'status'.", fields=["status"])
    check_tags(tags or {})
    now = deps.clock.now()
    with deps.db.write() as tx:
        model = _seen(tx, actor, project, logged_models.lock(tx, project.id, model_id), model_id)
        kept = {**model.tags, **(tags or {})}
        after = replace(
            model,
            status=status or model.status,
            params={**model.params, **checked_params(params or {})},
            tags={key: text for key, text in kept.items() if text is not None},
            metrics=_newest([*model.metrics, *metrics]),
            changed_at=now,
            deleted_at=now if delete else model.deleted_at,
        )
        logged_models.save(tx, after)
    return after


def _seen(tx: Connection, actor: Actor, project: Project, model: LoggedModel | None, model_id: str) -> LoggedModel:
    if model is None or model.deleted_at is not None:
        raise access.not_found("logged model", model_id)
    if actor.job_id is not None:
        run_service.find(tx, actor, project, model.run_id)
    return model


def _own_run(deps: Deps, actor: Actor, project: Project, of: Experiment, name: str) -> str:
    made = run_service.create(deps, actor, project, NewRun(name=name, experiment=of.name))
    reports.take_report(deps, actor, project, made.run.id, RunReport(ended=RunState.SUCCEEDED))
    return made.run.id


def _newest(metrics: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """The last of each key and dataset."""
    return tuple({(one["key"], one.get("dataset_name"), one.get("dataset_digest")): one for one in metrics}.values())
