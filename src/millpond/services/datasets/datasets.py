"""Datasets: found, listed as cards, made, renamed, deleted. Every change is a record of the lake first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from millpond.db import datasets, leases, volumes
from millpond.db.datasets import Card, PendingRecord
from millpond.db.dependents import jobs_using_dataset
from millpond.errors import BadRequest, Forbidden, InUse, NameTaken
from millpond.lake.records import Create, Delete, Rename, Restore, decode_record
from millpond.model.dataset import Dataset, DatasetKind
from millpond.model.ids import new_id
from millpond.model.names import (
    ARTIFACT_DATASET,
    CHECKPOINT_DATASET,
    CODE_DATASET,
    FLOW_DATASET,
    MODEL_PREFIX,
    OUTPUT_DATASET,
    STEP_DATASET,
    SYSTEM_DATASETS,
    WORKSPACE_DATASET,
    DatasetRef,
    check_name,
)
from millpond.model.people import SYSTEM, Actor, ActorKind, Project
from millpond.services.caches import eviction
from millpond.services.commits import records
from millpond.services.computes.presence import connected_since
from millpond.services.deps import Deps
from millpond.services.listing import Listing, decode, page_of
from millpond.services.people import access, audit

# Called in the transaction that reserves a change, with the dataset: it writes the audit record, and what goes with it.
Note = Callable[[Connection, Dataset], None]

_SYSTEM_KINDS = {
    CODE_DATASET: DatasetKind.CODE,
    OUTPUT_DATASET: DatasetKind.OUTPUT,
    ARTIFACT_DATASET: DatasetKind.ARTIFACT,
    CHECKPOINT_DATASET: DatasetKind.CHECKPOINT,
    FLOW_DATASET: DatasetKind.FLOW,
    STEP_DATASET: DatasetKind.STEP,
    WORKSPACE_DATASET: DatasetKind.WORKSPACE,
}


@dataclass(frozen=True, slots=True)
class DatasetView:
    """A dataset as the hub shows it, with the members of its project."""

    card: Card
    members: Sequence[str]


@dataclass(frozen=True, slots=True)
class DatasetTotals:
    """The header of the hub."""

    datasets: int
    bytes: int
    volumes_connected: int
    cached_bytes: int
    volume_bytes: int


def find(tx: Connection, project: Project, name: str) -> Dataset:
    """The dataset of that name in a project the caller is known to see; NotFound with the nearest names."""
    found = datasets.find(tx, project.id, name)
    if found is None:
        raise access.not_found("dataset", name, _choosable(datasets.names(tx, project.id)))
    return found


def find_written(tx: Connection, actor: Actor, text: str, *, project: str | None = None) -> tuple[Dataset, str | None]:
    """The dataset and ref of `dataset@ref` or `project/dataset@ref`, for someone who sees it; BadName for a path.

    Without a project it is the one of that name the actor sees; BadRequest names them if there are several.
    """
    written = DatasetRef.parse_commit(text)
    chosen = written.project or project
    if chosen is not None:
        named = find(tx, access.find_project(tx, actor, chosen), written.dataset)
        refuse_workspaces(actor, named)
        return named, written.ref
    among = access.visible_projects(actor)
    found = datasets.find_everywhere(tx, written.dataset, among=among)
    if not found:
        near = (name.partition("/")[2] for name in datasets.written_names(tx, among=among))
        raise access.not_found("dataset", written.dataset, _choosable(list(near)))
    if len(found) > 1:
        names = ", ".join(dataset.written for dataset in found)
        raise BadRequest(
            f"Several projects have a dataset {written.dataset!r}: {names}.", hint="Add the project: PROJECT/DATASET."
        )
    refuse_workspaces(actor, found[0])
    return found[0], written.ref


def refuse_workspaces(actor: Actor, dataset: Dataset) -> None:
    """Snapshots of workspaces are private to their owners: they are reached through their workspace alone."""
    if dataset.kind is DatasetKind.WORKSPACE and actor.kind not in (ActorKind.WORKSPACE, ActorKind.SYSTEM):
        raise Forbidden(
            f"{dataset.written} holds snapshots of workspaces.",
            hint="Use them by their workspace: mill workspace snapshots NAME",
        )


def card(deps: Deps, dataset: Dataset) -> DatasetView:
    with deps.db.read() as tx:
        found = datasets.cards(tx, among=None, limit=1, only=dataset.id)
        if not found:  # deleted this very moment
            raise access.not_found("dataset", dataset.name)
        return views(tx, found)[0]


def list_visible(
    deps: Deps,
    actor: Actor,
    *,
    project: str | None,
    search: str,
    limit: int,
    cursor: str | None,
    kind: DatasetKind = DatasetKind.DATA,
) -> Listing[DatasetView]:
    """Cards of all projects the actor sees (or of one), by project and name: what people made, or what jobs did."""
    with deps.db.read() as tx:
        among = access.visible_projects(actor)
        if project is not None:
            among = {access.find_project(tx, actor, project).id}
        found = datasets.cards(tx, among=among, limit=limit + 1, after=_place(cursor), search=search, kind=kind)
        shown = views(tx, found)
    return page_of(shown, limit, key=lambda item: [item.card.dataset.project, item.card.dataset.name])


def totals(deps: Deps, actor: Actor, project: str | None = None) -> DatasetTotals:
    """Counts and sizes of what the actor may see, or of one project; volumes that are away do not count."""
    since = connected_since(deps.clock.now())
    with deps.db.read() as tx:
        among = {access.find_project(tx, actor, project).id} if project else access.visible_projects(actor)
        count, size = datasets.totals(tx, among=among)
        connected, capacity = volumes.connected(tx, since=since)
        cached = volumes.cached_bytes(tx, among=among, since=since)
    return DatasetTotals(
        datasets=count, bytes=size, volumes_connected=connected, cached_bytes=cached, volume_bytes=capacity
    )


def create(deps: Deps, actor: Actor, project: Project, *, name: str, description: str = "") -> Dataset:
    """NameTaken if the project has one of that name."""
    return create_of_kind(deps, actor, project, check_name(name, "dataset"), DatasetKind.DATA, description)


def ensure_system_dataset(deps: Deps, project: Project, name: str) -> Dataset:
    """`.code`, `.outputs` or `.artifacts` of a project, made when it is first needed."""
    with deps.db.read() as tx:
        found = datasets.find(tx, project.id, name)
    if found is not None:
        return found
    try:
        return create_of_kind(deps, SYSTEM, project, name, _SYSTEM_KINDS[name])
    except NameTaken:  # somebody else needed it first
        with deps.db.read() as tx:
            return find(tx, project, name)


def change(deps: Deps, actor: Actor, dataset: Dataset, *, name: str | None, description: str | None) -> Dataset:
    """Rename it, or describe it anew (the description is not in the lake)."""
    refuse_system(dataset)
    if name is not None and name != dataset.name:
        rename(deps, actor, dataset, check_name(name, "dataset"))
    if description is not None and description != dataset.description:
        with deps.db.write() as tx:
            datasets.change(tx, dataset.id, description=description)
            was = dataset.description
            audit.record_setting(tx, deps, actor, "dataset.change", dataset, "description", was, description)
    with deps.db.read() as tx:
        changed = datasets.get(tx, dataset.id)
    if changed is None:
        raise access.not_found("dataset", dataset.name)
    _announce(deps, changed, "changed")
    return changed


def delete(deps: Deps, actor: Actor, dataset: Dataset) -> None:
    """Into the bin. InUse, naming them, while jobs that have not ended use it."""
    refuse_system(dataset)
    move_to_bin(deps, actor, dataset)


def move_to_bin(deps: Deps, actor: Actor, dataset: Dataset, note: Note | None = None) -> None:
    """Of any kind. Its caches are cleared; the lake keeps it until the bin is emptied (services/lake/purge.py)."""
    now = deps.clock.now()

    def prepare(tx: Connection) -> PendingRecord:
        records.wait_for_lock(tx, dataset.id, records.DATASET_LOCK)
        if datasets.get(tx, dataset.id) is None:
            raise access.not_found("dataset", dataset.name)
        _check_unused(deps, tx, actor, dataset)
        _note(tx, deps, actor, "dataset.delete", dataset, note)
        return records.reserve(tx, dataset, Delete(), lock=records.DATASET_LOCK, by=actor.name, now=now)

    records.write(deps, prepare)
    _announce(deps, dataset, "deleted")
    eviction.evict_leaving(deps)


def create_of_kind(
    deps: Deps, actor: Actor, project: Project, name: str, kind: DatasetKind, description: str = "",
    note: Note | None = None,
) -> Dataset:  # fmt: skip
    """NameTaken if the project has one of that name."""
    now = deps.clock.now()
    dataset = Dataset(
        id=new_id(),
        project_id=project.id,
        project=project.name,
        name=name,
        kind=kind,
        description=description,
        created_at=now,
        created_by=actor.name,
        active_at=now,
    )

    def prepare(tx: Connection) -> PendingRecord:
        reserve_name(tx, dataset)
        datasets.insert(tx, dataset)
        _note(tx, deps, actor, "dataset.create", dataset, note)
        operation = Create(name=name, project=project.name, kind=kind)
        return records.reserve(tx, dataset, operation, lock=records.DATASET_LOCK, by=actor.name, now=now)

    records.write(deps, prepare)
    _announce(deps, dataset, "created")
    return dataset


def rename(deps: Deps, actor: Actor, dataset: Dataset, name: str, note: Note | None = None) -> None:
    """NameTaken if the project has one of that name."""

    def prepare(tx: Connection) -> PendingRecord:
        records.wait_for_lock(tx, dataset.id, records.DATASET_LOCK)
        current = datasets.get(tx, dataset.id)
        if current is None:
            raise access.not_found("dataset", dataset.name)
        reserve_name(tx, current, name)
        _note(tx, deps, actor, "dataset.rename", current, note, name=name)
        now = deps.clock.now()
        return records.reserve(tx, current, Rename(name), lock=records.DATASET_LOCK, by=actor.name, now=now)

    records.write(deps, prepare)


def reserve_name(tx: Connection, dataset: Dataset, name: str | None = None) -> None:
    """Nobody else has the name, nor is about to get it by a rename that is not visible yet."""
    wanted = name or dataset.name
    datasets.lock_names(tx, dataset.project_id)
    for pending in datasets.pending(tx, project_id=dataset.project_id, lock=records.DATASET_LOCK):
        operation = decode_record(pending.body.encode()).operation
        given = operation.name if isinstance(operation, Create | Rename) else None
        if given == wanted or (isinstance(operation, Restore) and datasets.name_of(tx, pending.dataset_id) == wanted):
            records.wait_for(pending)
    if datasets.taken(tx, dataset.project_id, wanted):
        raise NameTaken(
            f"Project {dataset.project} already has a dataset {wanted!r}.", hint="Choose another name.", name=wanted
        )


def _note(
    tx: Connection, deps: Deps, actor: Actor, action: str, dataset: Dataset, note: Note | None, **details: object
) -> None:
    if note is not None:
        note(tx, dataset)
    else:
        audit.record_dataset(tx, deps, actor, action, dataset, **details)


def _check_unused(deps: Deps, tx: Connection, actor: Actor, dataset: Dataset) -> None:
    held = [
        # People who read it, or hold it, are not asked: nothing new uses it, and it goes when they have ended.
        *(h for found in leases.holders_of_dataset(tx, dataset.id, deps.clock.now()).values() for h in found if h.job),
        *jobs_using_dataset(tx, dataset.id),
    ]
    users = {holder.shown(lambda project_id: access.sees(actor, project_id)) for holder in held}
    if users:
        raise InUse(
            f"Dataset {dataset.written} is used by {', '.join(sorted(users))}.",
            hint="Stop them first, or wait until they have ended.",
            depends=sorted(users),
        )


def refuse_system(dataset: Dataset) -> None:
    if dataset.kind is DatasetKind.MODEL:
        raise BadRequest(f"{dataset.written} holds the versions of a model.", hint="Use mill model … to change it.")
    if dataset.kind is not DatasetKind.DATA:
        raise BadRequest(f"{dataset.written} belongs to the jobs of the project and cannot be changed.")


def views(tx: Connection, found: Sequence[Card]) -> list[DatasetView]:
    members = datasets.member_names(tx, {item.dataset.project_id for item in found})
    return [DatasetView(item, members.get(item.dataset.project_id, ())) for item in found]


def _place(cursor: str | None) -> tuple[str, str]:
    match decode(cursor) if cursor else ["", ""]:
        case [str(project), str(name)]:
            return project, name
        case _:
            raise BadRequest(f"{cursor!r} is not a cursor of this list.")


def _choosable(names: Sequence[str]) -> list[str]:
    return [name for name in names if name not in SYSTEM_DATASETS and not name.startswith(MODEL_PREFIX)]


def _announce(deps: Deps, dataset: Dataset, what: str) -> None:
    data = {"project": dataset.project, "id": dataset.id, "what": what, "dataset": dataset.name}
    deps.events.publish("datasets", project_id=dataset.project_id, data=data)
