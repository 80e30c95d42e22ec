"""Experiments: the named groups of a project's runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select, update

from millpond.db.insert import insert_missing
from millpond.db.tables import experiment, logged_model, run
from millpond.model.experiment import Experiment


def ensure(tx: Connection, project_id: str, name: str, now: datetime) -> None:
    """Make it unless it exists."""
    row = {"project_id": project_id, "name": name, "tags": {}, "created_at": now, "changed_at": now}
    insert_missing(tx, experiment, [row])


def find(tx: Connection, project_id: str, name: str) -> Experiment | None:
    return _first(tx, experiment.c.name == name, project_id)


def get(tx: Connection, project_id: str, number: int) -> Experiment | None:
    return _first(tx, experiment.c.number == number, project_id)


def of_project(tx: Connection, project_id: str) -> Sequence[Experiment]:
    """All of them, newest first, those in the bin too."""
    query = select(experiment).where(experiment.c.project_id == project_id)
    return [_experiment(row) for row in tx.execute(query.order_by(experiment.c.number.desc()))]


def save(tx: Connection, value: Experiment) -> None:
    """Write a changed experiment back; its runs follow another name."""
    was = tx.scalar(select(experiment.c.name).where(experiment.c.number == value.number).with_for_update())
    tx.execute(update(experiment).where(experiment.c.number == value.number).values(**asdict(value)))
    if was is not None and was != value.name:
        of_it = (run.c.project_id == value.project_id) & (run.c.experiment == was)
        tx.execute(update(run).where(of_it).values(experiment=value.name))
        its_models = (logged_model.c.project_id == value.project_id) & (logged_model.c.experiment == was)
        tx.execute(update(logged_model).where(its_models).values(experiment=value.name))


def _first(tx: Connection, condition: Any, project_id: str) -> Experiment | None:
    row = tx.execute(select(experiment).where(experiment.c.project_id == project_id, condition)).first()
    return _experiment(row) if row else None


def _experiment(row: Row[Any]) -> Experiment:
    return Experiment(**row._mapping)
