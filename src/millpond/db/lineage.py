"""Edges of lineage: kept beside commits and jobs, and asked who still needs a commit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, func, or_, select

from millpond.db.batches import batches
from millpond.db.tables import commit, dataset, job, lineage_edge, project
from millpond.model.lineage import LineageEdge, LineageRole
from millpond.model.names import STEP_DATASET

_edge = lineage_edge
_OF_JOB = _edge.c.maker_kind == "job"
# What a job reads and runs, as it was submitted.
_READ_BY_JOB = and_(_OF_JOB, _edge.c.made_id.is_(None))


@dataclass(frozen=True, slots=True)
class CommitJob:
    """A job as the page of a commit names it."""

    id: str
    name: str
    number: int


def add(tx: Connection, edges: Iterable[LineageEdge]) -> None:
    rows = [
        {
            "source_id": edge.source,
            "made_id": edge.made,
            "role": edge.role.value,
            "maker_kind": edge.maker.kind,
            "maker_id": edge.maker.id,
        }
        for edge in edges
    ]
    if rows:
        tx.execute(_edge.insert(), rows)


def forget_commits(tx: Connection, commit_ids: Collection[str]) -> None:
    """These commits are gone, and so is how they were made. What was made from them still names them."""
    for batch in batches(commit_ids):
        tx.execute(_edge.delete().where(_edge.c.made_id.in_(batch)))


def forget_dataset(tx: Connection, dataset_id: str) -> None:
    """As `forget_commits`, for all commits of a dataset."""
    own = select(commit.c.id).where(commit.c.dataset_id == dataset_id)
    tx.execute(_edge.delete().where(_edge.c.made_id.in_(own)))


def forget_job(tx: Connection, job_id: str) -> None:
    """The job is gone. What it made keeps its lineage."""
    tx.execute(_edge.delete().where(_edge.c.maker_id == job_id, _READ_BY_JOB))


def forget_run(tx: Connection, run_id: str) -> None:
    """The run is gone. What it made keeps its lineage."""
    read = and_(_edge.c.maker_kind == "run", _edge.c.made_id.is_(None))
    tx.execute(_edge.delete().where(_edge.c.maker_id == run_id, read))


def read_by_run(tx: Connection, run_id: str) -> frozenset[str]:
    """Commits that the script of a run has read."""
    query = select(_edge.c.source_id).where(
        _edge.c.maker_id == run_id, _edge.c.maker_kind == "run", _edge.c.made_id.is_(None)
    )
    return frozenset(tx.scalars(query))


def is_named_by_job(tx: Connection, commit_id: str, *, besides: str) -> bool:
    """True if a job other than `besides` reads this commit, runs it or made it."""
    reads = and_(_edge.c.source_id == commit_id, _READ_BY_JOB)
    made = and_(_edge.c.made_id == commit_id, _OF_JOB)
    query = select(job.c.id).join(_edge, _edge.c.maker_id == job.c.id).where(or_(reads, made), job.c.id != besides)
    return tx.execute(query.limit(1)).first() is not None


def is_used(tx: Connection, commit_id: str, *, besides: str) -> bool:
    """True if a job other than `besides` names this commit, or another commit was made from it.

    What is passed from step to step of a flow has its own files and does not count.
    """
    made = (
        select(_edge.c.id)
        .join(commit, commit.c.id == _edge.c.made_id)
        .join(dataset, dataset.c.id == commit.c.dataset_id)
        .where(_edge.c.source_id == commit_id, dataset.c.name != STEP_DATASET)
    )
    return is_named_by_job(tx, commit_id, besides=besides) or tx.execute(made.limit(1)).first() is not None


def jobs_of_commits(tx: Connection, commit_ids: Collection[str], *, most: int = 3) -> Mapping[str, Sequence[CommitJob]]:
    """The newest few jobs that ran each of these commits or made it; none of the bin."""
    found: dict[str, list[CommitJob]] = defaultdict(list)
    runs_it = and_(_READ_BY_JOB, _edge.c.role == LineageRole.CODE.value)
    named = (
        select(_edge.c.source_id.label("commit_id"), _edge.c.maker_id)
        .where(_edge.c.source_id.in_(commit_ids), runs_it)
        .union(select(_edge.c.made_id, _edge.c.maker_id).where(_edge.c.made_id.in_(commit_ids), _OF_JOB))
        .subquery()
    )
    newest = func.row_number().over(partition_by=named.c.commit_id, order_by=(job.c.queued_at.desc(), job.c.id))
    ranked = (
        select(named.c.commit_id, job.c.id, job.c.name, job.c.number, newest.label("place"))
        .join(job, job.c.id == named.c.maker_id)
        .where(job.c.deleted_at.is_(None))
        .subquery()
    )
    for row in tx.execute(select(ranked).where(ranked.c.place <= most).order_by(ranked.c.place)):
        found[row.commit_id].append(CommitJob(row.id, row.name, row.number))
    return found


def made_from(tx: Connection, project_id: str) -> Mapping[str, str]:
    """Commits of a project that others, in any project, name in their lineage: each with one of those."""
    parent = LineageRole.PARENT.value
    query = (
        select(_edge.c.source_id, func.min(_edge.c.made_id).label("made_id"))
        .join(commit, commit.c.id == _edge.c.source_id)
        .join(dataset, dataset.c.id == commit.c.dataset_id)
        .where(dataset.c.project_id == project_id, _edge.c.made_id.is_not(None), _edge.c.role != parent)
        .group_by(_edge.c.source_id)
    )
    return {row.source_id: row.made_id for row in tx.execute(query)}


def jobs_naming(tx: Connection, dataset_id: str) -> Mapping[str, str]:
    """Commits of a dataset that jobs read, run or made: each with the first such job, as `project/name`."""
    own = select(commit.c.id).where(commit.c.dataset_id == dataset_id)
    reads = select(_edge.c.source_id.label("commit_id"), _edge.c.maker_id).where(
        _READ_BY_JOB, _edge.c.source_id.in_(own)
    )
    made = select(_edge.c.made_id, _edge.c.maker_id).where(_OF_JOB, _edge.c.made_id.in_(own))
    named = reads.union(made).subquery()
    query = (
        select(named.c.commit_id, job.c.name, project.c.name.label("project"))
        .join(job, job.c.id == named.c.maker_id)
        .join(project, project.c.id == job.c.project_id)
        .order_by(job.c.id)
    )
    found: dict[str, str] = {}
    for row in tx.execute(query):
        found.setdefault(row.commit_id, f"{row.project}/{row.name}")
    return found
