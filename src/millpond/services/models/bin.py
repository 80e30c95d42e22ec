"""Models and versions in the bin: moved there, brought back, removed for good after `bin_days`.

A model goes as its dataset does. A version in the bin has the tag `deleted/3` instead of `3`: the lake knows it, too.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import commits, datasets, models
from millpond.db.datasets import PendingRecord
from millpond.decide.models import BIN_PREFIX, version_number
from millpond.errors import MillError, NameTaken
from millpond.lake.records import Move
from millpond.model.dataset import Dataset, RefType
from millpond.model.model import Model, ModelVersion, ModelVersionView, ModelView
from millpond.model.names import model_dataset
from millpond.model.people import SYSTEM, Actor, Project, Role
from millpond.services.commits import records, refs
from millpond.services.datasets import dataset_bin
from millpond.services.datasets import datasets as dataset_service
from millpond.services.deps import Deps
from millpond.services.models import aliases, versions
from millpond.services.models import models as model_service
from millpond.services.models.models import find, publish, record
from millpond.services.people import access

logger = getLogger(__name__)

_AT_ONCE = 100


def delete_model(deps: Deps, actor: Actor, project: Project, name: str) -> None:
    """Into the bin, with all versions. InUse, naming them, while jobs that have not ended use one."""
    access.require(actor, project, Role.MEMBER)
    with deps.db.read() as tx:
        model = find(tx, project, name)

    def note(tx: Connection, dataset: Dataset) -> None:
        record(tx, deps, actor, "model.delete", dataset)

    dataset_service.move_to_bin(deps, actor, model.dataset, note)
    publish(deps, model.dataset, "deleted")


def undelete_model(deps: Deps, actor: Actor, project: Project, name: str) -> ModelView:
    """With all it had. NotFound when it lay in the bin too long, NameTaken if another has its name."""
    access.require(actor, project, Role.MEMBER)
    with deps.db.read() as tx:
        found = [dataset for dataset, _ in datasets.find_deleted(tx, project.id, model_dataset(name))]
    if not found:
        raise access.not_found("deleted model", name)

    def note(tx: Connection, dataset: Dataset) -> None:
        record(tx, deps, actor, "model.undelete", dataset)

    try:
        dataset_bin.take_from_bin(deps, actor, found[0], note)
    except NameTaken as error:
        raise NameTaken(
            f"Project {project.name} already has a model {name!r}.", hint="Rename that one first.", name=name
        ) from error
    publish(deps, found[0], "created")
    return model_service.get(deps, project, name)


def delete_version(deps: Deps, actor: Actor, project: Project, name: str, version: str) -> None:
    """Into the bin. Aliases that point to it go."""
    access.require(actor, project, Role.MEMBER)
    found = versions.get(deps, project, name, version)
    for alias in found.aliases:
        aliases.remove(deps, actor, project, name, alias)
    with deps.db.read() as tx:
        model = find(tx, project, name)
    number, now = found.version.number, deps.clock.now()

    def note(tx: Connection) -> None:
        models.change_version(tx, model.dataset.id, number, deleted_at=now, changed_at=now)
        models.change(tx, model.dataset.id, changed_at=now)
        record(tx, deps, actor, "model.delete", model.dataset, version=number)

    # The new tag first: with both of them the version is in the bin already.
    _move(deps, actor, model, found.version, f"{BIN_PREFIX}{number}", there=True, note=note)
    _move(deps, actor, model, found.version, str(number), there=False)
    publish(deps, model.dataset, "version", version=number)


def undelete_version(deps: Deps, actor: Actor, project: Project, name: str, version: str) -> ModelVersionView:
    """Back from the bin, without its aliases."""
    access.require(actor, project, Role.MEMBER)
    with deps.db.read() as tx:
        model = find(tx, project, name)
        number = version_number(version)
        found = models.version(tx, model.dataset.id, number, deleted=True) if number is not None else None
    if found is None:
        raise access.not_found("deleted version", f"{name}@{version}")
    now = deps.clock.now()

    def note(tx: Connection) -> None:
        models.change_version(tx, model.dataset.id, found.number, deleted_at=None, changed_at=now)
        models.change(tx, model.dataset.id, changed_at=now)
        record(tx, deps, actor, "model.undelete", model.dataset, version=found.number)

    _move(deps, actor, model, found, str(found.number), there=True)
    _move(deps, actor, model, found, f"{BIN_PREFIX}{found.number}", there=False, note=note)
    publish(deps, model.dataset, "version", version=found.number)
    return versions.get(deps, project, name, str(found.number))


def purge_versions(deps: Deps, now: datetime) -> int:
    """Housekeeping: remove for good what was deleted more than `bin_days` ago; how many. The next collection gives
    the room back."""
    with deps.db.read() as tx:
        old = models.deleted_before(tx, now - timedelta(days=deps.settings.bin_days), limit=_AT_ONCE)
        of = {one.dataset_id: models.get(tx, one.dataset_id) for one in old}
    purged = 0
    for version in old:
        model = of[version.dataset_id]
        if model is not None and model.deleted_at is None:  # one of a model in the bin goes with it
            purged += _purge(deps, model, version)
    return purged


def _purge(deps: Deps, model: Model, version: ModelVersion) -> bool:
    def note(tx: Connection) -> None:
        models.delete_version(tx, version.dataset_id, version.number)
        record(tx, deps, SYSTEM, "model.purge", model.dataset, version=version.number)

    try:
        _move(deps, SYSTEM, model, version, str(version.number), there=False)
        _move(deps, SYSTEM, model, version, f"{BIN_PREFIX}{version.number}", there=False, note=note)
    except MillError as error:
        logger.warning("version_not_purged model=%s version=%d why=%s", model.written, version.number, error.message)
        return False
    return True


def _move(
    deps: Deps, actor: Actor, model: Model, version: ModelVersion, tag: str, *, there: bool,
    note: Callable[[Connection], None] | None = None,
) -> None:  # fmt: skip
    """Make a tag of the version, or remove it. Doing it again is the same as once."""
    prepare = partial(_prepare, deps=deps, actor=actor, model=model, version=version, tag=tag, there=there, note=note)
    records.write(deps, prepare)


def _prepare(
    tx: Connection, *, deps: Deps, actor: Actor, model: Model, version: ModelVersion, tag: str, there: bool,
    note: Callable[[Connection], None] | None,
) -> PendingRecord:  # fmt: skip
    refs.lock(tx, model.dataset, tag)
    current = commits.find_ref(tx, model.dataset.id, tag)
    if note is not None:
        note(tx)
    move = Move(
        ref=tag, type=RefType.TAG, commit=version.commit_id if there else None,
        previous=current.commit_id if current else None,
    )  # fmt: skip
    return records.reserve(tx, model.dataset, move, lock=tag, by=actor.name, now=deps.clock.now())
