"""Experiments: named groups of a project's runs. `default` always exists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import experiments
from millpond.errors import Conflict, NameTaken
from millpond.model.experiment import Experiment
from millpond.model.people import Actor, Project
from millpond.model.run import DEFAULT_EXPERIMENT
from millpond.services.deps import Deps
from millpond.services.people import access, audit
from millpond.services.runs.run_checks import check_name, check_tags


def create(deps: Deps, actor: Actor, project: Project, name: str, tags: Mapping[str, str]) -> Experiment:
    """NameTaken if there is one of this name, in the bin or not."""
    check_name(name, "experiment")
    check_tags(tags)
    now = deps.clock.now()
    with deps.db.write() as tx:
        if existing := experiments.find(tx, project.id, name):
            where = " in the bin" if existing.deleted_at else ""
            raise NameTaken(f"Experiment {name!r} already exists{where}.")
        experiments.ensure(tx, project.id, name, now)
        made = _get(tx, project, name)
        if tags:
            made = replace(made, tags=dict(tags))
            experiments.save(tx, made)
        _record(tx, now, actor, project, made, "experiment.create")
    return made


def find(deps: Deps, project: Project, name: str) -> Experiment:
    ensure_default(deps, project)
    with deps.db.read() as tx:
        return _get(tx, project, name)


def get(deps: Deps, project: Project, number: int) -> Experiment:
    """By its number; 0 is the project's default."""
    if number == 0:
        return find(deps, project, DEFAULT_EXPERIMENT)
    with deps.db.read() as tx:
        found = experiments.get(tx, project.id, number)
    if found is None:
        raise access.not_found("experiment", str(number))
    return found


def list_experiments(deps: Deps, project: Project) -> Sequence[Experiment]:
    """All of them, newest first, those in the bin too."""
    ensure_default(deps, project)
    with deps.db.read() as tx:
        return experiments.of_project(tx, project.id)


def change(
    deps: Deps, actor: Actor, project: Project, number: int, *, name: str | None = None,
    tags: Mapping[str, str | None] | None = None,
) -> Experiment:  # fmt: skip
    """Rename it, which its runs follow, or set tags; a tag of None is removed."""
    check_name(name, "experiment")
    check_tags(tags or {})
    found = get(deps, project, number)
    if name is not None and name != found.name and found.name == DEFAULT_EXPERIMENT:
        raise Conflict("Cannot rename the default experiment.")
    kept = {**found.tags, **(tags or {})}
    after = replace(found, name=name or found.name, tags={key: text for key, text in kept.items() if text is not None})
    return _save(deps, actor, project, after, "experiment.edit")


def move_to_bin(deps: Deps, actor: Actor, project: Project, number: int) -> Experiment:
    """Its runs stay where they are: they are found by asking for it."""
    found = get(deps, project, number)
    if found.name == DEFAULT_EXPERIMENT:
        raise Conflict("Cannot delete the default experiment.")
    after = replace(found, deleted_at=found.deleted_at or deps.clock.now())
    return _save(deps, actor, project, after, "experiment.delete")


def take_from_bin(deps: Deps, actor: Actor, project: Project, number: int) -> Experiment:
    return _save(deps, actor, project, replace(get(deps, project, number), deleted_at=None), "experiment.undelete")


def ensure_default(deps: Deps, project: Project) -> None:
    """Make the project's default experiment unless it exists."""
    with deps.db.read() as tx:
        if experiments.find(tx, project.id, DEFAULT_EXPERIMENT):
            return
    with deps.db.write() as tx:
        experiments.ensure(tx, project.id, DEFAULT_EXPERIMENT, deps.clock.now())


def _save(deps: Deps, actor: Actor, project: Project, after: Experiment, action: str) -> Experiment:
    now = deps.clock.now()
    after = replace(after, changed_at=now)
    try:
        with deps.db.write() as tx:
            experiments.save(tx, after)
            _record(tx, now, actor, project, after, action)
    except IntegrityError as error:
        raise NameTaken(f"Experiment {after.name!r} already exists.") from error
    return after


def _get(tx: Connection, project: Project, name: str) -> Experiment:
    found = experiments.find(tx, project.id, name)
    if found is None:
        raise access.not_found("experiment", name, [one.name for one in experiments.of_project(tx, project.id)])
    return found


def _record(tx: Connection, now: datetime, actor: Actor, project: Project, made: Experiment, action: str) -> None:
    subject = f"{project.name}/{made.name}"
    audit.record(tx, now=now, actor=actor, action=action, subject=subject, project_id=project.id)
