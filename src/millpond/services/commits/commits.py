"""Commits: accepted once everything they name is durable and checked, then made visible by moving a branch.

Every step can be done again: a client that lost the answer asks again and gets the same commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection

from millpond.db import commits, jobs
from millpond.errors import BadRequest, Forbidden
from millpond.model.dataset import Commit, Dataset, DatasetKind
from millpond.model.job import Job
from millpond.model.names import (
    ARTIFACT_DATASET,
    CHECKPOINT_DATASET,
    CODE_DATASET,
    DEFAULT_BRANCH,
    FLOW_DATASET,
    OUTPUT_DATASET,
    STEP_DATASET,
    WORKSPACE_DATASET,
    check_ref_name,
)
from millpond.model.people import Actor, ActorKind, Project
from millpond.services.commits import refs
from millpond.services.commits.accept import Proposal, accept
from millpond.services.commits.origins import ORIGIN, lineage_of_origin
from millpond.services.commits.uploads import uploads as upload_service
from millpond.services.datasets import datasets as dataset_service
from millpond.services.deps import Deps
from millpond.services.jobs import checkpoints
from millpond.services.people import access
from millpond.services.workspaces import kept_commits

_OF_JOBS = (OUTPUT_DATASET, CHECKPOINT_DATASET)


@dataclass(frozen=True, slots=True)
class NewCommit:
    """A tree that was uploaded, to be committed to a branch."""

    upload: str
    tree: str
    branch: str = DEFAULT_BRANCH
    expected: str | None = None  # the commit the branch must still be at; None: it must not exist yet
    parent: str | None = None  # of a new branch: the commit of this dataset that it grows from
    message: str = ""
    origin: str | None = None  # of an import: the document of the commit of another server


def create(deps: Deps, actor: Actor, project: Project, dataset_name: str, asked: NewCommit) -> tuple[Dataset, Commit]:
    """Commit an uploaded tree to a branch. People commit to data and `.code`, a job to `.outputs` and `.checkpoints` on
    its own branch, a workspace to `.workspaces` on those of its snapshots.

    Incomplete names what must be sent first, BadFormat what is wrong with the tree, RefMoved (`details["head"]`)
    that somebody else came first. Asking again for what is done already returns that commit.
    """
    upload_service.check_page_id(asked.tree)
    check_ref_name(asked.branch)
    dataset = _dataset(deps, actor, project, dataset_name, asked.branch)
    with deps.db.read() as tx:
        upload = upload_service.find(tx, actor, project, asked.upload)
        head = refs.head_commit(tx, dataset, asked.branch)
        if asked.parent is not None and actor.kind is not ActorKind.USER:
            raise Forbidden("A job commits on top of its own outputs only.")
        parent = _parent(tx, dataset, asked)
        lineage = _lineage(tx, actor, asked.branch)
    if asked.origin is not None:
        lineage = lineage_of_origin(actor, asked.origin, asked.tree)
    if head is not None and _is_done(head, actor, asked, lineage):
        return dataset, head
    if (head.id if head else None) != asked.expected:
        raise refs.moved(dataset, asked.branch, head.id if head else None)
    before = head or parent
    is_checkpoint = dataset.kind is DatasetKind.CHECKPOINT
    noted_by = partial(checkpoints.note, actor=actor) if is_checkpoint else None
    if dataset.kind is DatasetKind.WORKSPACE:
        noted_by = partial(_note_kept, branch=asked.branch)
    proposal = Proposal(
        tree=asked.tree,
        branch=asked.branch,
        expected=asked.expected,
        # A checkpoint replaces the one before, which may then be collected.
        parents=[before] if before and not is_checkpoint else [],
        origins=[before.tree] if before and is_checkpoint else [],
        message=asked.message,
        owner=upload.owner,
        upload_id=upload.id,
        lineage=lineage,
        noted_by=noted_by,
    )
    commit = accept(deps, actor, dataset, proposal)
    if is_checkpoint:
        checkpoints.announce(deps, actor)
    return dataset, commit


def _dataset(deps: Deps, actor: Actor, project: Project, name: str, branch: str) -> Dataset:
    """The dataset, if this actor may commit there."""
    is_job = actor.kind is ActorKind.PLACEMENT
    if actor.kind is ActorKind.WORKSPACE or name == WORKSPACE_DATASET:
        owner, _, number = branch.rpartition("/")
        if name != WORKSPACE_DATASET or owner != (actor.workspace_id or "?") or not number.isdecimal():
            raise Forbidden(
                f"Only snapshots of workspaces are committed to {WORKSPACE_DATASET}, each on its own branch.",
                hint="Take a snapshot: mill workspace snapshot NAME",
            )
        return dataset_service.ensure_system_dataset(deps, project, name)
    if is_job and (name not in _OF_JOBS or branch != actor.job_id):
        raise Forbidden(f"A job can only commit to {' and '.join(_OF_JOBS)}, on the branch named after its id.")
    if not is_job and name in _OF_JOBS:
        raise Forbidden(f"Only jobs can commit to {name}.")
    if name == ARTIFACT_DATASET:
        raise Forbidden(f"{ARTIFACT_DATASET} holds the artifacts of runs.", hint="Use millpond.log_artifact(…).")
    if name in (FLOW_DATASET, STEP_DATASET):
        raise Forbidden(f"{name} is written by the server alone.", hint="Save a flow: mill flow save FILE")
    if name in (CODE_DATASET, *_OF_JOBS):
        return dataset_service.ensure_system_dataset(deps, project, name)
    with deps.db.read() as tx:
        found = dataset_service.find(tx, project, name)
    if found.kind is DatasetKind.MODEL:
        raise Forbidden(f"{name} holds the versions of a model.", hint="Use mill model register NAME --from …")
    return found


def _parent(tx: Connection, dataset: Dataset, asked: NewCommit) -> Commit | None:
    """The commit a new branch grows from; one of the same dataset."""
    if asked.parent is None:
        return None
    if asked.expected is not None:
        raise BadRequest(
            "The parent of a commit on an existing branch is always the branch's newest commit.",
            hint="Leave `parent` out.",
        )
    found = commits.get(tx, asked.parent)
    if found is None or found.dataset_id != dataset.id:
        raise access.not_found("commit", asked.parent)
    return found


def _note_kept(tx: Connection, commit: Commit, *, branch: str) -> None:
    workspace_id, _, number = branch.rpartition("/")
    kept_commits.note_kept(tx, workspace_id, int(number), commit.id)


def _is_done(head: Commit, actor: Actor, asked: NewCommit, lineage: Mapping[str, Any]) -> bool:
    """The branch is at this tree already: nothing has changed, or the answer to an earlier request was lost.

    What is imported is done when it was imported: a commit of the same tree that was made here has another history.
    """
    if head.tree != asked.tree:
        return False
    if asked.origin is not None:
        return bool(head.lineage.get(ORIGIN) == lineage[ORIGIN])
    parent = asked.expected or asked.parent
    was_asked_before = head.author == actor.name and list(head.parents) == ([parent] if parent else [])
    return head.id == asked.expected or was_asked_before


def _lineage(tx: Connection, actor: Actor, branch: str) -> Mapping[str, Any]:
    """Said by the server for jobs and workspaces, from their own rows: nobody can claim another origin."""
    if actor.kind is ActorKind.WORKSPACE:
        return kept_commits.lineage_of(tx, actor.workspace_id or "", int(branch.rpartition("/")[2]))
    if actor.kind is not ActorKind.PLACEMENT:
        return {}
    job = jobs.get(tx, actor.job_id or "")
    if job is None:
        raise access.not_found("job", actor.job_id or "")
    return lineage_of_job(job)


def lineage_of_job(job: Job) -> dict[str, Any]:
    """What a commit of the job says of its origin."""
    lineage: dict[str, Any] = {
        "job": job.id,
        "inputs": [f"{entry.dataset}@{entry.commit_id}" for entry in job.spec.inputs],
    }
    return lineage | ({"code": job.spec.code_commit} if job.spec.code_commit else {})
