"""Deleted datasets, for as long as they can be brought back, and the rule by which a dataset lets commits go."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from sqlalchemy import Connection

from millpond.db import datasets
from millpond.db.datasets import PendingRecord
from millpond.errors import InUse
from millpond.lake.records import Restore
from millpond.model.dataset import Dataset
from millpond.model.people import Actor, Project, Role
from millpond.services.commits import records
from millpond.services.datasets import datasets as dataset_service
from millpond.services.datasets.datasets import DatasetView, Note
from millpond.services.deps import Deps
from millpond.services.lake import purge as purging
from millpond.services.listing import Listing, page_of
from millpond.services.people import access, audit
from millpond.services.time_cursors import moment_of, written_moment


def list_deleted(
    deps: Deps, actor: Actor, *, project: str | None, limit: int, cursor: str | None
) -> Listing[DatasetView]:
    """What the actor sees in the bin (of one project), newest first."""
    with deps.db.read() as tx:
        among = access.visible_projects(actor)
        if project is not None:
            among = {access.find_project(tx, actor, project).id}
        found = datasets.deleted(tx, among=among, limit=limit + 1, before=moment_of(cursor))
        shown = dataset_service.views(tx, found)
    return page_of(shown, limit, key=_moment)


def _moment(view: DatasetView) -> list[str | int]:
    dataset = view.card.dataset
    return written_moment(view.card.deleted_at or dataset.active_at, dataset.id)


def undelete(deps: Deps, actor: Actor, project: Project, name: str) -> Dataset:
    """The dataset with all it had. NotFound when it lay in the bin too long, NameTaken if another has its name."""
    return take_from_bin(deps, actor, _find(deps, project, name))


def take_from_bin(deps: Deps, actor: Actor, found: Dataset, note: Note | None = None) -> Dataset:
    """Of any kind."""
    now = deps.clock.now()

    def prepare(tx: Connection) -> PendingRecord:
        records.wait_for_lock(tx, found.id, records.DATASET_LOCK)
        if not datasets.is_deleted(tx, found.id):
            raise access.not_found("deleted dataset", found.name)
        dataset_service.reserve_name(tx, found)
        if note is not None:
            note(tx, found)
        else:
            audit.record_dataset(tx, deps, actor, "dataset.undelete", found)
        return records.reserve(tx, found, Restore(), lock=records.DATASET_LOCK, by=actor.name, now=now)

    records.write(deps, prepare)
    data = {"project": found.project, "id": found.id, "what": "created", "dataset": found.name}
    deps.events.publish("datasets", project_id=found.project_id, data=data)
    return found


def purge(deps: Deps, actor: Actor, project: Project, name: str) -> None:
    """Remove one from the bin for good. InUse while it is still cached somewhere."""
    found = _find(deps, project, name)
    if not purging.purge_dataset(deps, actor, found, deps.clock.now()):
        raise InUse(
            f"{found.written} is still in use: its cached commits are being cleared.", hint="Try again in a moment."
        )


def set_retention(deps: Deps, actor: Actor, dataset: Dataset, rule: Mapping[str, int] | None) -> None:
    """Give the dataset a rule (`keep_last`, `keep_days`), or none. Forbidden for those who may not delete it."""
    dataset_service.refuse_system(dataset)
    with deps.db.write() as tx:
        access.require(actor, access.find_project(tx, actor, dataset.project), Role.ADMIN)
        before = datasets.settings_of(tx, dataset.id)[0]
        datasets.change(tx, dataset.id, retention=rule)
        audit.record_setting(tx, deps, actor, "dataset.retention", dataset, "rule", before, rule)


def _find(deps: Deps, project: Project, name: str) -> Dataset:
    """The one of that name that was deleted last, or the one of that id, while it can be brought back."""
    since = deps.clock.now() - timedelta(days=deps.settings.bin_days)
    with deps.db.read() as tx:
        found = [dataset for dataset, at in datasets.find_deleted(tx, project.id, name) if at >= since]
        if not found:
            names = [card.dataset.name for card in datasets.deleted(tx, among={project.id}, limit=1000)]
            raise access.not_found("deleted dataset", name, names)
    return found[0]
