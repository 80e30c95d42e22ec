"""The two ends of a mirror, from how people write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from millpond.db import caches, connections, datasets, mirrors, sites, volumes, workspaces
from millpond.errors import BadRequest, InUse, NotFound, VolumeProblem
from millpond.model.connection import ProjectConnection
from millpond.model.dataset import Dataset, DatasetKind
from millpond.model.names import DEFAULT_BRANCH, DatasetRef
from millpond.model.people import Actor, Project
from millpond.model.volume import Volume
from millpond.model.workspace import Workspace, check_snapshot_name, split_workspace
from millpond.services.caches.admission import volume_choice
from millpond.services.caches.admission.admit import check_usable
from millpond.services.commits import refs
from millpond.services.computes import trust
from millpond.services.datasets import datasets as dataset_service
from millpond.services.deps import Deps
from millpond.services.people import access
from millpond.services.places.geography import rule_of
from millpond.services.sources.connections import find as find_connection
from millpond.services.sources.connections import require_writable
from millpond.services.workspaces import access as workspace_access

_KINDS = ("dataset", "workspace")


@dataclass(frozen=True, slots=True)
class DatasetEnd:
    dataset: Dataset
    branch: str


@dataclass(frozen=True, slots=True)
class WorkspaceEnd:
    """Without a label, snapshots that the mirror takes itself."""

    workspace: Workspace
    label: str


@dataclass(frozen=True, slots=True)
class BucketEnd:
    connection: ProjectConnection
    uri: str


@dataclass(frozen=True, slots=True)
class VolumeEnd:
    volume: Volume


def source_of(
    tx: Connection, actor: Actor, project: Project, written: str, *, label: str = ""
) -> DatasetEnd | WorkspaceEnd:
    """`DATASET[@BRANCH]`, `WORKSPACE` or `WORKSPACE@LABEL`; with `dataset:` or `workspace:` before a name of both.

    NotFound with the nearest names; BadRequest for what could be either.
    """
    kind, separator, rest = written.partition(":")
    if not separator or kind not in _KINDS:
        kind, rest = "", written
    name = rest.partition("@")[0].rpartition("/")[2]
    is_dataset = kind != "workspace" and datasets.find(tx, project.id, name) is not None
    is_workspace = kind != "dataset" and "/" not in rest and _sees_workspace(tx, actor, project, name)
    if is_dataset and is_workspace and not label:
        raise BadRequest(
            f"Project {project.name} has a dataset and a workspace {name!r}.",
            hint=f"Write dataset:{rest} or workspace:{rest}.",
        )
    if is_workspace or kind == "workspace" or (label and not is_dataset):
        return _workspace(tx, actor, project, rest, label)
    if not is_dataset and kind != "dataset":
        near = [*datasets.names(tx, project.id), *workspaces.names(tx, project.id)]
        raise access.not_found("dataset or workspace", name, [one for one in near if not one.startswith(".")])
    if label:
        raise BadRequest(f"{rest} is a dataset: only snapshots of workspaces have labels.", hint="Leave out --label.")
    return _dataset(tx, actor, project, rest)


def target_of(
    deps: Deps, tx: Connection, actor: Actor, project: Project, written: str, source: DatasetEnd | WorkspaceEnd, *,
    connection: str | None = None, volume: str | None = None,
) -> BucketEnd | VolumeEnd:  # fmt: skip
    """`s3://bucket/prefix`, or the name of a site. A volume of the site is chosen unless one is named.

    NotFound for names that there are not, Forbidden for a connection that is not writable, InUse for a prefix that
    another mirror writes to, VolumeProblem where no volume can take it.
    """
    if "://" in written:
        if volume is not None:
            raise BadRequest("A bucket has no volumes.", hint="Leave out --volume, or name a site as the target.")
        return _bucket(tx, project, written, connection)
    if connection is not None:
        raise BadRequest(
            f"{written[:200]!r} is no place of a connection.", hint="Write s3://bucket/prefix, or leave --connection."
        )
    return _volume(deps, tx, project, written.removeprefix("site:"), source, volume)


def _dataset(tx: Connection, actor: Actor, project: Project, written: str) -> DatasetEnd:
    parsed = DatasetRef.parse_commit(written)
    if parsed.project not in (None, project.name):
        raise BadRequest(
            f"{written} is not in project {project.name}.", hint=f"Work in its project: -p {parsed.project}"
        )
    found = dataset_service.find(tx, project, parsed.dataset)
    dataset_service.refuse_workspaces(actor, found)
    if found.kind is not DatasetKind.DATA:
        raise BadRequest(f"{found.written} has no branches that people move.", hint="Mirror a dataset or a workspace.")
    branch = parsed.ref or DEFAULT_BRANCH
    refs.branch_head(tx, found, branch)
    return DatasetEnd(found, branch)


def _workspace(tx: Connection, actor: Actor, project: Project, written: str, label: str) -> WorkspaceEnd:
    name, snapshot = split_workspace(written)
    found = workspace_access.find_used(tx, actor, project, name)
    if snapshot is not None and label:
        raise BadRequest(f"{written} and --label name snapshots twice.", hint=f"Write {name} --label {label}.")
    chosen = label or (snapshot or "").removesuffix("*").rstrip(".")
    return WorkspaceEnd(found, check_snapshot_name(chosen) if chosen else "")


def _sees_workspace(tx: Connection, actor: Actor, project: Project, name: str) -> bool:
    found = workspaces.find(tx, project.id, name)
    return found is not None and workspace_access.sees(tx, actor, found)


def _bucket(tx: Connection, project: Project, written: str, connection: str | None) -> BucketEnd:
    if not written.startswith("s3://"):
        raise BadRequest(f"{written[:200]!r} cannot be mirrored to.", hint="Mirrors write to s3:// and to other sites.")
    uri = written.rstrip("/") + "/"
    found = find_connection(tx, project, connection) if connection else _covering(tx, project, uri)
    if not found.place.covers(uri) or "//" in uri.removeprefix("s3://"):
        raise BadRequest(f"{uri[:200]!r} is not a prefix below {found.place.root}, the root of {found.name}.")
    require_writable(found)
    for other, name in mirrors.prefixes(tx, found.id).items():
        if other.startswith(uri) or uri.startswith(other):
            raise InUse(
                f"Mirror {name!r} writes to {other}.", hint="Choose a prefix of its own.", depends=[f"mirror {name}"]
            )
    return BucketEnd(found, uri)


def _covering(tx: Connection, project: Project, uri: str) -> ProjectConnection:
    """The one that leads nearest there; of several the one that is writable."""
    found = [one for one in connections.page(tx, project.id, limit=1000) if one.place.covers(uri)]
    if not found:
        raise NotFound(
            f"No connection of project {project.name!r} covers {uri}.",
            hint=f"A project administrator can add one: mill connection add NAME {uri} --writable",
        )
    found = [one for one in found if one.writable] or found
    longest = max(len(one.place.root) for one in found)
    nearest = sorted((one for one in found if len(one.place.root) == longest), key=lambda one: one.name)
    if len(nearest) > 1:
        names = ", ".join(one.name for one in nearest)
        raise BadRequest(f"Several connections cover {uri}: {names}.", hint="Choose one with --connection.")
    return nearest[0]


def _volume(
    deps: Deps, tx: Connection, project: Project, name: str, source: DatasetEnd | WorkspaceEnd, volume: str | None
) -> VolumeEnd:
    site = sites.find(tx, name)
    if site is None:
        raise access.not_found("site", name, sites.names(tx))
    if isinstance(source, WorkspaceEnd) and source.workspace.site_id == site.id:
        raise BadRequest(
            f"Workspace {source.workspace.name!r} is at {site.name} itself.",
            hint=f"Its snapshots lie there: mill workspace snapshots {source.workspace.name}",
        )
    there = [one for one in volumes.all_of(tx, site.id) if volume in (None, one.name)]
    if volume is not None and not there:
        raise access.not_found(f"volume of {site.name}", volume, [one.name for one in volumes.all_of(tx, site.id)])
    if not there:
        raise VolumeProblem(
            f"Site {site.name} has no volume.", hint=f"Add one: mill volume add NAME PATH --site {site.name}"
        )
    if volume is None:
        there = _best_first(deps, tx, there, source)
    check_usable(there[0])
    trust.check_volume(tx, there[0], project.id, project.name)
    return VolumeEnd(there[0])


def _best_first(deps: Deps, tx: Connection, there: Sequence[Volume], source: DatasetEnd | WorkspaceEnd) -> list[Volume]:
    """As the choice of a volume for the commit ranks them; by their room where it is not known yet what comes."""
    ordered = sorted(there, key=lambda one: (one.problem is not None, -(one.disk_free_bytes or 0), one.name))
    head = refs.head_commit(tx, source.dataset, source.branch) if isinstance(source, DatasetEnd) else None
    size = caches.size_of(tx, head.id) if head else None
    if size is None or len(ordered) < 2:
        return ordered
    looked = volume_choice.look_at_all(
        tx, size, near=None, rule=rule_of(deps.settings), now=deps.clock.now(), sees=lambda project_id: True
    )
    ranked = [one.id for one in looked.choice.ranked]
    return sorted(ordered, key=lambda one: ranked.index(one.id) if one.id in ranked else len(ranked))
