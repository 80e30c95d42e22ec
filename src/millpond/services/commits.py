"""Commits: accepted once everything they name is durable and checked, then made visible by moving a branch.

Every step can be done again: a client that lost the answer asks again and gets the same commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from millpond.db import blobs, commits, datasets, jobs, uploads
from millpond.db.datasets import PendingRecord
from millpond.errors import Forbidden, Incomplete
from millpond.lake.commits import encode_commit, new_commit
from millpond.lake.keys import ProjectKeys
from millpond.model.dataset import Commit, Dataset, DatasetKind, PackState, Upload
from millpond.model.names import CODE_DATASET, OUTPUT_DATASET, check_ref_name
from millpond.model.people import Actor, ActorKind, Project
from millpond.services import access, audit, records, refs
from millpond.services import datasets as dataset_service
from millpond.services import uploads as upload_service
from millpond.services.deps import Deps
from millpond.services.tree_check import CheckedTree, check_tree
from millpond.wire import data as wire


def create(
    deps: Deps, actor: Actor, project: Project, dataset_name: str, asked: wire.CommitCreate
) -> tuple[Dataset, Commit]:
    """Commit an uploaded tree to a branch. People commit to data and `.code`, a job to `.outputs` on its own branch.

    Incomplete names what must be sent first, BadFormat what is wrong with the tree, RefMoved (`details["head"]`)
    that somebody else came first. Asking again for what is done already returns that commit.
    """
    upload_service.check_page_id(asked.tree)
    check_ref_name(asked.branch)
    dataset = _dataset(deps, actor, project, dataset_name, asked.branch)
    with deps.db.read() as tx:
        upload = upload_service.find(tx, actor, project, asked.upload)
        head = _head(tx, dataset, asked)
        lineage = _lineage(tx, actor)
    if head is not None and _is_done(head, actor, asked):
        return dataset, head
    if (head.id if head else None) != asked.expected:
        raise refs.moved(dataset, asked.branch, head.id if head else None)
    checked = check_tree(
        deps, project.id, upload.owner, root=asked.tree, settled=head.tree if head is not None else None
    )
    commit = new_commit(
        dataset_id=dataset.id,
        tree=asked.tree,
        parents=[head.id] if head else [],
        author=actor.name,
        time=deps.clock.now(),
        message=asked.message,
        files=checked.root.files,
        bytes=checked.root.size,
        lineage=lineage,
    )
    deps.store.put(ProjectKeys(project.id).commit(commit.id), encode_commit(commit))
    _make_visible(deps, actor, dataset, upload, checked, commit, asked.branch)
    return dataset, commit


def _dataset(deps: Deps, actor: Actor, project: Project, name: str, branch: str) -> Dataset:
    """The dataset, if this actor may commit there."""
    is_job = actor.kind is ActorKind.PLACEMENT
    if is_job and (name != OUTPUT_DATASET or branch != actor.job_id):
        raise Forbidden(f"A job commits to {OUTPUT_DATASET}, on the branch of its own id.")
    if not is_job and name == OUTPUT_DATASET:
        raise Forbidden(f"Only jobs commit to {OUTPUT_DATASET}.")
    if name in (CODE_DATASET, OUTPUT_DATASET):
        return dataset_service.ensure_system_dataset(deps, project, name)
    with deps.db.read() as tx:
        return dataset_service.find(tx, project, name)


def _head(tx: Connection, dataset: Dataset, asked: wire.CommitCreate) -> Commit | None:
    ref = commits.find_ref(tx, dataset.id, asked.branch)
    return commits.get(tx, ref.commit_id) if ref else None


def _is_done(head: Commit, actor: Actor, asked: wire.CommitCreate) -> bool:
    """The branch is at this tree already: nothing has changed, or the answer to an earlier request was lost."""
    if head.tree != asked.tree:
        return False
    was_asked_before = head.author == actor.name and list(head.parents) == ([asked.expected] if asked.expected else [])
    return head.id == asked.expected or was_asked_before


def _lineage(tx: Connection, actor: Actor) -> Mapping[str, Any]:
    """Said by the server for jobs, from their own rows: nobody can claim another origin."""
    if actor.kind is not ActorKind.PLACEMENT:
        return {}
    job = jobs.get(tx, actor.job_id or "")
    if job is None:
        raise access.not_found("job", actor.job_id or "")
    lineage: dict[str, Any] = {
        "job": job.id,
        "inputs": [f"{entry.project}/{entry.dataset}@{entry.commit_id}" for entry in job.inputs],
    }
    return lineage | ({"code": job.code_commit} if job.code_commit else {})


def _make_visible(
    deps: Deps, actor: Actor, dataset: Dataset, upload: Upload, checked: CheckedTree, commit: Commit, branch: str
) -> None:
    now = deps.clock.now()

    def prepare(tx: Connection) -> PendingRecord:
        # First of all: rows that refer to the dataset share a lock on it, and two who share it cannot both go on.
        records.wait_for_lock(tx, dataset.id, branch)
        if datasets.get(tx, dataset.id) is None:
            raise access.not_found("dataset", dataset.name)
        _check_packs_live(tx, dataset.project_id, checked)
        blobs.insert_pages(tx, dataset.project_id, checked.pages)
        blobs.set_page_packs(tx, dataset.project_id, checked.packs)
        commits.insert(tx, commit)
        uploads.touch(tx, upload.id, now)
        expected = commit.parents[0] if commit.parents else None
        pending = refs.reserve_move(
            tx, dataset, branch=branch, commit=commit, expected=expected, by=actor.name, now=now
        )
        if dataset.kind is DatasetKind.DATA:
            _audit(tx, deps, actor, dataset, commit, branch)
        return pending

    records.write(deps, prepare)
    data = {
        "project": dataset.project,
        "id": dataset.id,
        "what": "commit",
        "dataset": dataset.name,
        "commit": commit.id,
    }
    deps.events.publish("datasets", project_id=dataset.project_id, data=data)


def _check_packs_live(tx: Connection, project_id: str, checked: CheckedTree) -> None:
    """In the transaction that makes the commit visible: packs that were condemned meanwhile must be sent again."""
    needed = {pack_id for packs in checked.packs.values() for pack_id in packs}
    live = {pack.id for pack in uploads.packs(tx, project_id, needed) if pack.state is PackState.LIVE}
    if lost := sorted(needed - live):
        raise Incomplete(f"{len(lost)} packs are no longer there; send their content again.", packs=lost)


def _audit(tx: Connection, deps: Deps, actor: Actor, dataset: Dataset, commit: Commit, branch: str) -> None:
    audit.record(
        tx,
        now=deps.clock.now(),
        actor=actor,
        action="dataset.commit",
        subject=dataset.written,
        project_id=dataset.project_id,
        details={"commit": commit.id, "branch": branch},
    )
