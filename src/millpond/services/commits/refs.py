"""What a ref means: a branch, a tag, or the first digits of a commit's id; making, moving and removing refs."""

from __future__ import annotations

import re
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import commits, datasets, jobs, models, projects
from millpond.db.datasets import PendingRecord
from millpond.errors import BadName, BadRequest, NameTaken, NotFound, RefMoved
from millpond.lake.records import Move
from millpond.model.dataset import Commit, Dataset, DatasetKind, Ref, RefType
from millpond.model.ids import is_digest
from millpond.model.job import Job
from millpond.model.model import LATEST
from millpond.model.names import DEFAULT_BRANCH, SYSTEM_DATASETS, check_ref_name, split_ref
from millpond.model.people import Actor
from millpond.services.commits import records
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import access, audit

_PREFIX = re.compile(r"[0-9a-f]{4,64}")
_NAMED_CANDIDATES = 5
# Datasets whose commits are found by the names of jobs.
_OF_JOBS = (DatasetKind.CODE, DatasetKind.OUTPUT, DatasetKind.ARTIFACT, DatasetKind.CHECKPOINT)
# Commits that `~N` may lead back: each is one look into the database.
_BACK_MOST = 10_000


def resolve(tx: Connection, dataset: Dataset, text: str | None) -> Commit:
    """The commit that `text` names: a branch or tag of that name, else the one commit whose id begins so.

    Of code and outputs it may also be a job, by its id or name. A whole id is always that commit, whatever refs are
    called. Behind each of them `~N` means N commits before it, `^` one. NotFound with the nearest refs; BadRequest
    naming the candidates when several commits begin so.
    """
    name, steps = split_ref(text or DEFAULT_BRANCH)
    return _before(tx, dataset, name, _resolve(tx, dataset, name), steps)


def _before(tx: Connection, dataset: Dataset, name: str, commit: Commit, steps: int) -> Commit:
    """The commit so many steps before, each time by the first parent."""
    if steps > _BACK_MOST:
        raise BadRequest(f"{name}~{steps} is too far back: at most {_BACK_MOST:,} commits.", hint="Give its id.")
    for step in range(steps):
        parent = commits.get(tx, commit.parents[0]) if commit.parents else None
        if parent is None:
            why = "is no longer in the lake" if commit.parents else "does not exist"
            raise NotFound(
                f"{dataset.written}@{name}~{steps} {why}: the history of {name} goes back to {name}~{step}.",
                hint=f"List it: mill data commits {dataset.name}@{name}",
                noun="commit",
                name=f"{name}~{steps}",
            )
        commit = parent
    return commit


def _resolve(tx: Connection, dataset: Dataset, name: str) -> Commit:
    ref = None if is_digest(name) else commits.find_ref(tx, dataset.id, name)
    if ref is None and dataset.kind is DatasetKind.MODEL and name in (DEFAULT_BRANCH, LATEST):
        ref = _newest_version(tx, dataset)
    if ref is not None:
        return _get(tx, ref.commit_id)
    found = commits.by_prefix(tx, dataset.id, name, limit=_NAMED_CANDIDATES) if _PREFIX.fullmatch(name) else []
    if len(found) > 1:
        shown = ", ".join(commit.id[: len(name) + 8] for commit in found)
        raise BadRequest(
            f"Several commits of {dataset.written} begin with {name!r}: {shown}.",
            hint="Give more digits.",
            candidates=[commit.id for commit in found],
        )
    commit = found[0] if found else _of_job(tx, dataset, name)
    if commit is None:
        raise not_found(tx, dataset, name)
    return commit


def _newest_version(tx: Connection, dataset: Dataset) -> Ref | None:
    newest = models.newest(tx, [dataset.id]).get(dataset.id)
    return commits.find_ref(tx, dataset.id, str(newest.number)) if newest else None


def _of_job(tx: Connection, dataset: Dataset, name: str) -> Commit | None:
    """The code, outputs, artifacts or checkpoint of a job of the project; of several with that name, the newest's."""
    job = find_job(tx, dataset, name) if dataset.kind in _OF_JOBS else None
    if job is None:
        return None
    if dataset.kind is DatasetKind.ARTIFACT:
        return head_commit(tx, dataset, job.run_id)
    own = {DatasetKind.CODE: job.spec.code_commit, DatasetKind.CHECKPOINT: job.status.checkpoint_commit}
    commit_id = own.get(dataset.kind, job.status.output_commit)
    return commits.get(tx, commit_id) if commit_id else None


def find_job(tx: Connection, dataset: Dataset, name: str) -> Job | None:
    """A job of the dataset's project by its id or name; the newest of that name."""
    job = jobs.get(tx, name)
    if job is None or job.project_id != dataset.project_id:
        job = jobs.find_numbered(tx, dataset.project_id, name, None)
    return job


def head_commit(tx: Connection, dataset: Dataset, branch: str) -> Commit | None:
    """The newest commit of a branch; None when there is no such branch."""
    ref = commits.find_ref(tx, dataset.id, branch)
    return _get(tx, ref.commit_id) if ref else None


def branch_head(tx: Connection, dataset: Dataset, branch: str) -> Commit:
    """The newest commit of a branch that is there and may move."""
    ref = commits.find_ref(tx, dataset.id, branch)
    if ref is None:
        raise not_found(tx, dataset, branch)
    refuse_tag(dataset, ref)
    return _get(tx, ref.commit_id)


def reserve_move(
    tx: Connection,
    dataset: Dataset,
    *,
    branch: str,
    commit: Commit,
    expected: str | None,
    by: str,
    now: datetime,
) -> PendingRecord:
    """The first transaction of moving a branch to a commit that is durable. RefMoved unless it is at `expected`."""
    records.wait_for_lock(tx, dataset.id, branch)
    current = commits.find_ref(tx, dataset.id, branch)
    at = current.commit_id if current else None
    if current is not None:
        refuse_tag(dataset, current)
    if at != expected:
        raise moved(dataset, branch, at)
    if current is None:
        check_new_name(branch)
    move = Move(ref=branch, type=RefType.BRANCH, commit=commit.id, previous=at)
    return records.reserve(tx, dataset, move, lock=branch, by=by, now=now)


def refuse_tag(dataset: Dataset, ref: Ref) -> None:
    if ref.type is RefType.TAG:
        raise BadRequest(f"{ref.name!r} is a tag of {dataset.written}, and tags cannot be moved.")


def moved(dataset: Dataset, branch: str, head: str | None) -> RefMoved:
    where = f"is at {head[:8]}" if head else "does not exist"
    return RefMoved(
        f"Branch {branch!r} of {dataset.written} {where}: somebody else committed first.",
        hint="Fetch the new state first, then commit again.",
        head=head,
        branch=branch,
    )


def check_new_name(name: str) -> str:
    """`name` itself if a new ref may have it: not what could be taken for the id of a commit."""
    if is_digest(name):
        raise BadName(f"{name[:12]}… looks like the id of a commit.", hint="Choose another name.")
    return check_ref_name(name)


def create(deps: Deps, actor: Actor, dataset: Dataset, *, name: str, type: RefType, at: str) -> Ref:
    """A new branch or tag at the commit that `at` names. NameTaken unless there is none of that name.

    Making it again, of the same type and at the same commit, is the same as once.
    """
    refuse_system(dataset)
    check_new_name(name)
    now = deps.clock.now()
    with deps.db.read() as tx:
        wanted = Ref(dataset.id, name, type, resolve(tx, dataset, at).id, now)
        there = commits.find_ref(tx, dataset.id, name)
    if there is not None and _is_same(there, wanted):
        return there

    def prepare(tx: Connection) -> PendingRecord:
        lock(tx, dataset, name)
        if (current := commits.find_ref(tx, dataset.id, name)) is not None:
            raise NameTaken(
                f"{dataset.written} already has a {current.type.value} {name!r}, at {current.commit_id[:8]}.",
                hint="Choose another name, or delete it first.",
                name=name,
                commit=current.commit_id,
            )
        projects.raise_sequence(tx, dataset.project_id)  # the commit may have been about to go
        if commits.get(tx, wanted.commit_id) is None:
            raise not_found(tx, dataset, at)
        _audit(tx, deps, actor, dataset, "create", wanted)
        move = Move(ref=name, type=type, commit=wanted.commit_id, previous=None)
        return records.reserve(tx, dataset, move, lock=name, by=actor.name, now=now)

    records.write(deps, prepare)
    _announce(deps, dataset, name)
    return wanted


def delete(deps: Deps, actor: Actor, dataset: Dataset, *, name: str, expected: str | None) -> None:
    """Remove a branch or tag; the commits stay. RefMoved unless it is at `expected`, where that is given."""
    refuse_system(dataset)
    if name == DEFAULT_BRANCH:
        raise BadRequest(f"{DEFAULT_BRANCH!r} is the default branch and cannot be deleted.")

    def prepare(tx: Connection) -> PendingRecord:
        lock(tx, dataset, name)
        current = commits.find_ref(tx, dataset.id, name)
        if current is None:
            raise not_found(tx, dataset, name)
        if expected is not None and current.commit_id != expected:
            raise moved(dataset, name, current.commit_id)
        _audit(tx, deps, actor, dataset, "delete", current)
        move = Move(ref=name, type=current.type, commit=None, previous=current.commit_id)
        return records.reserve(tx, dataset, move, lock=name, by=actor.name, now=deps.clock.now())

    records.write(deps, prepare)
    _announce(deps, dataset, name)


def list_refs(deps: Deps, dataset: Dataset, *, limit: int, cursor: str | None) -> Listing[Ref]:
    with deps.db.read() as tx:
        found = commits.refs(tx, dataset.id, limit=limit + 1, after=text_of(cursor))
    return page_of(found, limit, key=lambda ref: ref.name)


def lock(tx: Connection, dataset: Dataset, name: str) -> None:
    """Nobody else changes this ref until the transaction ends; NotFound if the dataset was deleted meanwhile."""
    records.wait_for_lock(tx, dataset.id, name)
    if datasets.get(tx, dataset.id) is None:
        raise access.not_found("dataset", dataset.name)


def _is_same(one: Ref, other: Ref) -> bool:
    return (one.type, one.commit_id) == (other.type, other.commit_id)


def refuse_system(dataset: Dataset) -> None:
    if dataset.kind is DatasetKind.MODEL:
        raise BadRequest(f"The refs of {dataset.written} are versions and aliases.", hint="Use mill model … instead.")
    if dataset.kind is not DatasetKind.DATA:
        raise BadRequest(f"The refs of {dataset.written} belong to jobs and cannot be changed.")


def _announce(deps: Deps, dataset: Dataset, name: str) -> None:
    data = {"project": dataset.project, "id": dataset.id, "what": "ref", "dataset": dataset.name, "ref": name}
    deps.events.publish("datasets", project_id=dataset.project_id, data=data)
    deps.events.wake("branches")


def _audit(tx: Connection, deps: Deps, actor: Actor, dataset: Dataset, verb: str, ref: Ref) -> None:
    audit.record(
        tx,
        now=deps.clock.now(),
        actor=actor,
        action=f"{ref.type.value}.{verb}",
        subject=f"{dataset.written}@{ref.name}",
        project_id=dataset.project_id,
        details={"commit": ref.commit_id},
    )


def _get(tx: Connection, commit_id: str) -> Commit:
    commit = commits.get(tx, commit_id)
    assert commit is not None  # refs have a foreign key
    return commit


def not_found(tx: Connection, dataset: Dataset, name: str) -> NotFound:
    """For a ref that is not there: the nearest ones, or how to make the first commit, or that jobs are meant."""
    if dataset.name in SYSTEM_DATASETS:
        who = "run, by its id: .artifacts@RUN" if dataset.kind is DatasetKind.ARTIFACT else f"job: {dataset.name}@JOB"
        hint = f"Name a {who}."
        return NotFound(f"{dataset.written} has nothing of job {name!r}.", hint=hint, noun="ref", name=name, near=[])
    names = [ref.name for ref in commits.refs(tx, dataset.id, limit=1000)]
    if not names and dataset.kind is DatasetKind.MODEL:
        return NotFound(
            f"{dataset.written} has no versions yet.", hint="Register one: mill model register NAME --from …"
        )
    if not names:
        return NotFound(
            f"Dataset {dataset.written} has no commits yet.",
            hint="Create the first one: mill data sync",
            noun="ref",
            name=name,
            near=[],
        )
    return access.not_found("ref", name, names, within=dataset.written)
