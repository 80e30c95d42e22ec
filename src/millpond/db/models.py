"""Models and versions: rows beside the datasets, commits and refs that the lake knows.

A version is visible once its tag is: its row comes with the record that is on its way to the lake.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, String, and_, cast, func, select

from millpond.db.datasets import to_dataset
from millpond.db.tables import commit, dataset, model, model_version, project, ref
from millpond.model.dataset import DatasetKind, RefType
from millpond.model.model import Model, ModelStage, ModelVersion
from millpond.model.model_check import CheckState, ModelCheck
from millpond.model.names import model_dataset

_version = model_version
# In the lineage of a version that must not be made twice.
ONCE = "once"
_LOOKED_AT = 100


def insert(tx: Connection, dataset_id: str, *, tags: Mapping[str, str], now: datetime, next_version: int = 1) -> None:
    values = {"next_version": next_version, "tags": dict(tags), "changed_at": now}
    tx.execute(model.insert().values(dataset_id=dataset_id, **values))


def change(tx: Connection, dataset_id: str, **values: Any) -> None:
    tx.execute(model.update().where(model.c.dataset_id == dataset_id).values(**values))


def find(tx: Connection, project_id: str, name: str) -> Model | None:
    query = _models().where(dataset.c.project_id == project_id, dataset.c.name == model_dataset(name), _living())
    row = tx.execute(query).first()
    return _model(row) if row else None


def get(tx: Connection, dataset_id: str) -> Model | None:
    """Also of one in the bin."""
    row = tx.execute(_models().where(dataset.c.id == dataset_id)).first()
    return _model(row) if row else None


def lock(tx: Connection, dataset_id: str) -> Model | None:
    """Read it to change it: nobody else changes it, or gives a number, until this transaction ends."""
    row = tx.execute(_models().where(dataset.c.id == dataset_id, _living()).with_for_update(of=model)).first()
    return _model(row) if row else None


def page(
    tx: Connection, *, among: Collection[str] | None, search: str = "", deleted: bool = False,
    after: tuple[str, str] = ("", ""), limit: int | None = None,
) -> Sequence[Model]:  # fmt: skip
    """Models of these projects (ids; None: all) by project and name, behind `after`."""
    query = _models().where(dataset.c.deleted_at.is_not(None) if deleted else _living())
    if among is not None:
        query = query.where(dataset.c.project_id.in_(among))
    if search:
        query = query.where(func.substr(dataset.c.name, len(model_dataset("")) + 1).icontains(search, autoescape=True))
    name, below = after
    behind = (project.c.name > name) | and_(project.c.name == name, dataset.c.name > model_dataset(below))
    query = query.where(behind) if name else query
    rows = tx.execute(query.order_by(project.c.name, dataset.c.name, dataset.c.deleted_at.desc()).limit(limit))
    return [_model(row) for row in rows]


def names(tx: Connection, project_id: str) -> Sequence[str]:
    return [one.name for one in page(tx, among=[project_id])]


# Versions --------------------------------------------------------------------------------------------


def insert_version(tx: Connection, value: ModelVersion) -> None:
    tx.execute(
        _version.insert().values(
            dataset_id=value.dataset_id, number=value.number, commit_id=value.commit_id, description=value.description,
            stage=value.stage.value, tags=dict(value.tags), run_id=value.run_id, changed_at=value.changed_at,
            deleted_at=value.deleted_at,
        )
    )  # fmt: skip


def change_version(tx: Connection, dataset_id: str, number: int, **values: Any) -> None:
    tx.execute(_version.update().where(_key(dataset_id, number)).values(**values))


def keep_check(tx: Connection, dataset_id: str, number: int, check: ModelCheck) -> None:
    kept = {
        "state": check.state.value, "job": check.job_id, "by": check.by, "at": check.at.isoformat(),
        "error": check.error, "report": dict(check.report),
    }  # fmt: skip
    running = check.job_id if check.state is CheckState.RUNNING else None
    change_version(tx, dataset_id, number, check_report=kept, check_job=running)


def being_checked(tx: Connection) -> Sequence[tuple[ModelVersion, str]]:
    """Versions of all projects whose check has not ended, each with its job."""
    rows = tx.execute(select(_version).where(_version.c.check_job.is_not(None)))
    return [(_to_version(row), row.check_job) for row in rows]


def known_numbers(tx: Connection, dataset_id: str) -> set[int]:
    """Of all versions that have a row, visible or not."""
    return set(tx.scalars(select(_version.c.number).where(_version.c.dataset_id == dataset_id)))


def archive_others(tx: Connection, besides: ModelVersion, stage: ModelStage, now: datetime) -> None:
    """All other versions of the model that are in this stage."""
    others = and_(_version.c.dataset_id == besides.dataset_id, _version.c.number != besides.number)
    values = {"stage": ModelStage.ARCHIVED.value, "changed_at": now}
    tx.execute(_version.update().where(others, _version.c.stage == stage.value).values(**values))


def delete_version(tx: Connection, dataset_id: str, number: int) -> None:
    tx.execute(_version.delete().where(_key(dataset_id, number)))


def version(tx: Connection, dataset_id: str, number: int, *, deleted: bool = False) -> ModelVersion | None:
    found = versions(tx, [dataset_id], deleted=deleted, only=_version.c.number == number)
    return found[0] if found else None


def made_once(tx: Connection, dataset_id: str, key: str) -> ModelVersion | None:
    """The version whose commit says that it was made for this key. Among the newest: it is asked for soon after."""
    query = select(_version, commit.c.lineage).join(commit, commit.c.id == _version.c.commit_id)
    query = query.where(_version.c.dataset_id == dataset_id).order_by(_version.c.number.desc()).limit(_LOOKED_AT)
    return next((_to_version(row) for row in tx.execute(query) if row.lineage.get(ONCE) == key), None)


def is_version(tx: Connection, dataset_id: str, commit_id: str) -> bool:
    """True if the commit is a visible version of the model."""
    return bool(versions(tx, [dataset_id], only=_version.c.commit_id == commit_id, limit=1))


def versions(
    tx: Connection, dataset_ids: Collection[str], *, deleted: bool = False, only: ColumnElement[bool] | None = None,
    below: int | None = None, limit: int | None = None,
) -> Sequence[ModelVersion]:  # fmt: skip
    """Visible versions (or those in the bin), newest first; with numbers below `below`."""
    query = select(_version).where(_version.c.dataset_id.in_(dataset_ids))
    query = query.where(_version.c.deleted_at.is_not(None) if deleted else _visible())
    if only is not None:
        query = query.where(only)
    if below is not None:
        query = query.where(_version.c.number < below)
    return [_to_version(row) for row in tx.execute(query.order_by(_version.c.number.desc()).limit(limit))]


def of_run(tx: Connection, project_id: str, run_id: str) -> Sequence[ModelVersion]:
    """Visible versions of living models that were made from a run, newest first."""
    query = select(_version).join(dataset, dataset.c.id == _version.c.dataset_id)
    query = query.where(dataset.c.project_id == project_id, _living(), _version.c.run_id == run_id, _visible())
    return [_to_version(row) for row in tx.execute(query.order_by(_version.c.changed_at.desc()))]


def written(tx: Connection, commit_ids: Collection[str]) -> Sequence[str]:
    """`MODEL@3` of each of these commits that is a version, also of one in the bin; by name."""
    query = select(dataset.c.name, _version.c.number).join(dataset, dataset.c.id == _version.c.dataset_id)
    rows = tx.execute(query.where(_version.c.commit_id.in_(commit_ids)).order_by(dataset.c.name, _version.c.number))
    return [f"{row.name.removeprefix(model_dataset(''))}@{row.number}" for row in rows]


def newest(tx: Connection, dataset_ids: Collection[str]) -> Mapping[str, ModelVersion]:
    """The visible version with the greatest number, by dataset."""
    last = select(_version.c.dataset_id, func.max(_version.c.number).label("number"))
    last_of = last.where(_version.c.dataset_id.in_(dataset_ids), _visible()).group_by(_version.c.dataset_id).subquery()
    same = and_(_version.c.dataset_id == last_of.c.dataset_id, _version.c.number == last_of.c.number)
    rows = tx.execute(select(_version).join(last_of, same))
    return {row.dataset_id: _to_version(row) for row in rows}


def counts(tx: Connection, dataset_ids: Collection[str]) -> Mapping[str, int]:
    query = select(_version.c.dataset_id, func.count().label("versions"))
    query = query.where(_version.c.dataset_id.in_(dataset_ids), _visible()).group_by(_version.c.dataset_id)
    return {row.dataset_id: row.versions for row in tx.execute(query)}


def aliases(tx: Connection, dataset_ids: Collection[str]) -> Mapping[str, Mapping[str, int]]:
    """The version of each alias, by dataset: aliases are its branches."""
    same = and_(_version.c.dataset_id == ref.c.dataset_id, _version.c.commit_id == ref.c.commit_id)
    query = select(ref.c.dataset_id, ref.c.name, _version.c.number).join(_version, same).order_by(ref.c.name)
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for row in tx.execute(query.where(ref.c.dataset_id.in_(dataset_ids), ref.c.type == RefType.BRANCH.value)):
        found[row.dataset_id][row.name] = row.number
    return found


def deleted_before(tx: Connection, moment: datetime, *, limit: int) -> Sequence[ModelVersion]:
    query = select(_version).where(_version.c.deleted_at < moment).order_by(_version.c.deleted_at).limit(limit)
    return [_to_version(row) for row in tx.execute(query)]


# Parts -----------------------------------------------------------------------------------------------


def _models() -> Select[Any]:
    query = select(dataset, project.c.name.label("project"), model.c.tags, model.c.changed_at, model.c.next_version)
    query = query.join(project, project.c.id == dataset.c.project_id).join(model, model.c.dataset_id == dataset.c.id)
    return query.where(dataset.c.kind == DatasetKind.MODEL.value)


def _living() -> ColumnElement[bool]:
    return and_(dataset.c.deleted_at.is_(None), dataset.c.next_record > 0)


def _visible() -> ColumnElement[bool]:
    """Not in the bin, and its tag is there."""
    named = and_(ref.c.dataset_id == _version.c.dataset_id, ref.c.name == cast(_version.c.number, String))
    return and_(_version.c.deleted_at.is_(None), select(ref.c.name).where(named).correlate(_version).exists())


def _key(dataset_id: str, number: int) -> ColumnElement[bool]:
    return and_(_version.c.dataset_id == dataset_id, _version.c.number == number)


def _model(row: Row[Any]) -> Model:
    return Model(
        dataset=to_dataset(row), tags=row.tags, changed_at=row.changed_at, next_version=row.next_version,
        deleted_at=row.deleted_at,
    )  # fmt: skip


def _to_version(row: Row[Any]) -> ModelVersion:
    return ModelVersion(
        dataset_id=row.dataset_id, number=row.number, commit_id=row.commit_id, description=row.description,
        stage=ModelStage(row.stage), tags=row.tags, run_id=row.run_id, changed_at=row.changed_at,
        deleted_at=row.deleted_at, check=_to_check(row.check_report) if row.check_report else None,
    )  # fmt: skip


def _to_check(kept: Mapping[str, Any]) -> ModelCheck:
    return ModelCheck(
        CheckState(kept["state"]), kept["job"], kept["by"], datetime.fromisoformat(kept["at"]), kept["error"],
        kept["report"],
    )  # fmt: skip
