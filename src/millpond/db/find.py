"""Finding things by a part of their name or the beginning of their id.

Names of jobs and runs are read from indexes that hold nothing else (`ix_job_search`, `ix_run_search`): 100,000 of them
take about a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, case, func, literal, or_, select

from millpond.db.tables import (
    commit,
    connection,
    dataset,
    job,
    project,
    ref,
    run,
    search,
    site,
    source,
    user,
    volume,
)
from millpond.model.dataset import DatasetKind
from millpond.model.find import FindText, Found, Match, Noun
from millpond.model.names import MODEL_PREFIX

Among = Collection[str] | None
_MATCHES = (Match.EXACT, Match.PREFIX, Match.PART)
_OF_PEOPLE = and_(
    dataset.c.deleted_at.is_(None), dataset.c.next_record > 0, dataset.c.kind == DatasetKind.DATA.value
)  # fmt: skip


def projects(tx: Connection, asked: FindText, among: Among, limit: int) -> Iterator[Found]:
    if asked.project is not None or asked.number is not None:
        return
    query = select(project.c.id, project.c.name, project.c.description, _rank(project.c.name, asked))
    query = query.where(_named(project.c.name, asked), *_only(project.c.id, among))
    for row in tx.execute(query.order_by("rank", project.c.name).limit(limit)):
        yield _found(Noun.PROJECT, row, project=row.name, detail=row.description or None)


def datasets(tx: Connection, asked: FindText, among: Among, limit: int) -> Iterator[Found]:
    query: Select[Any] = select(dataset.c.id, dataset.c.name, dataset.c.description, dataset.c.active_at.label("at"))
    query = _in_project(query, dataset.c, asked, among).where(_OF_PEOPLE)
    for row in tx.execute(query.order_by("rank", dataset.c.active_at.desc(), dataset.c.name).limit(limit)):
        yield _found(Noun.DATASET, row, project=row.project, dataset=row.name, detail=row.description or None)


def jobs(tx: Connection, asked: FindText, among: Among, limit: int) -> Iterator[Found]:
    """The best first, and of equally good ones the newest."""
    wanted = select(job.c.id, _rank(job.c.name, asked)).where(_named(job.c.name, asked), job.c.deleted_at.is_(None))
    wanted = wanted.where(*_only(job.c.project_id, among), *_of_project(job.c.project_id, asked))
    if asked.number is not None:
        wanted = wanted.where(job.c.number == asked.number)
    ids = [row.id for row in tx.execute(wanted.order_by("rank", job.c.queued_at.desc(), job.c.id).limit(limit))]
    ids += _by_id(tx, job.c, asked, among, limit)
    columns = (job.c.id, job.c.name, job.c.number, job.c.state, job.c.queued_at.label("at"), _rank(job.c.name, asked))
    query = select(*columns, project.c.name.label("project")).join(project).where(job.c.id.in_(ids))
    rows = {row.id: row for row in tx.execute(query)}
    for row in (rows[job_id] for job_id in dict.fromkeys(ids)):
        match = Match.EXACT if asked.number is not None and row.name == asked.name else _match(row, asked)
        yield Found(Noun.JOB, row.id, f"{row.name}#{row.number}", match, row.project, None, row.state, row.at)


def runs(tx: Connection, asked: FindText, among: Among, limit: int) -> Iterator[Found]:
    """Runs of scripts and of jobs, newest first among equally good matches."""
    if asked.number is not None:
        return
    wanted = select(run.c.id, _rank(run.c.name, asked)).where(_named(run.c.name, asked), run.c.deleted_at.is_(None))
    wanted = wanted.where(*_only(run.c.project_id, among), *_of_project(run.c.project_id, asked))
    ids = [row.id for row in tx.execute(wanted.order_by("rank", run.c.started_at.desc(), run.c.id).limit(limit))]
    ids += _by_id(tx, run.c, asked, among, limit)
    columns = (run.c.id, run.c.name, run.c.state, run.c.started_at.label("at"), _rank(run.c.name, asked))
    query = select(*columns, project.c.name.label("project")).join(project).where(run.c.id.in_(ids))
    rows = {row.id: row for row in tx.execute(query)}
    for row in (rows[run_id] for run_id in dict.fromkeys(ids)):
        yield Found(Noun.RUN, row.id, row.name or row.id, _match(row, asked), row.project, None, row.state, row.at)


def searches(tx: Connection, asked: FindText, among: Among, limit: int) -> Iterator[Found]:
    """By name or the beginning of an id, newest first among equally good matches."""
    if asked.number is not None:
        return
    named = _in_project(
        select(search.c.id, search.c.name, search.c.state, search.c.created_at.label("at")), search.c, asked, among
    )
    named = named.order_by("rank", search.c.created_at.desc()).limit(limit)
    rows = [*tx.execute(named)]
    if asked.id_prefix is not None:
        columns = (search.c.id, search.c.name, search.c.state, search.c.created_at.label("at"))
        by_id = select(*columns, project.c.name.label("project"), _rank(search.c.name, asked)).join(project)
        by_id = by_id.where(_begins(search.c.id, asked.id_prefix), *_only(search.c.project_id, among))
        rows += tx.execute(by_id.order_by(search.c.id).limit(limit))
    for row in {row.id: row for row in rows}.values():
        yield Found(Noun.SEARCH, row.id, row.name, _match(row, asked), row.project, None, row.state, row.at)


def models(tx: Connection, asked: FindText, among: Among, limit: int) -> Iterator[Found]:
    """By the name that people know, without the prefix of the dataset that holds them."""
    if asked.number is not None:
        return
    name = func.substr(dataset.c.name, len(MODEL_PREFIX) + 1)
    query: Select[Any] = select(
        dataset.c.id, name.label("name"), dataset.c.description, dataset.c.active_at.label("at")
    )
    query = query.add_columns(project.c.name.label("project"), _rank(name, asked)).join(project)
    query = query.where(_named(name, asked), *_only(dataset.c.project_id, among))
    query = query.where(*_of_project(dataset.c.project_id, asked), dataset.c.kind == DatasetKind.MODEL.value)
    query = query.where(dataset.c.deleted_at.is_(None), dataset.c.next_record > 0)
    for row in tx.execute(query.order_by("rank", dataset.c.active_at.desc()).limit(limit)):
        yield _found(Noun.MODEL, row, project=row.project, detail=row.description or None)


def refs(tx: Connection, asked: FindText, among: Among, limit: int) -> Iterator[Found]:
    """Tags, and branches that are not called like everybody's first one."""
    if asked.number is not None:
        return
    query: Select[Any] = select(
        ref.c.commit_id.label("id"), ref.c.name, ref.c.type, ref.c.moved_at.label("at"), dataset.c.name.label("dataset")
    )
    query = query.add_columns(project.c.name.label("project"), _rank(ref.c.name, asked))
    query = query.join(dataset, dataset.c.id == ref.c.dataset_id).join(project, project.c.id == dataset.c.project_id)
    query = query.where(_named(ref.c.name, asked), _OF_PEOPLE, ref.c.name != "main")
    query = query.where(*_only(dataset.c.project_id, among), *_of_project(dataset.c.project_id, asked))
    for row in tx.execute(query.order_by("rank", ref.c.moved_at.desc()).limit(limit)):
        yield _found(Noun(row.type), row, project=row.project, dataset=row.dataset)


def commits(tx: Connection, asked: FindText, among: Among, limit: int) -> Iterator[Found]:
    """By the beginning of their id alone; also those of jobs' code and outputs."""
    if asked.id_prefix is None:
        return
    query = select(commit.c.id, commit.c.message, commit.c.time.label("at"), dataset.c.name.label("dataset"))
    query = query.add_columns(project.c.name.label("project"))
    query = query.join(dataset, dataset.c.id == commit.c.dataset_id).join(project, project.c.id == dataset.c.project_id)
    query = query.where(_begins(commit.c.id, asked.id_prefix), dataset.c.deleted_at.is_(None))
    query = query.where(*_only(dataset.c.project_id, among))
    for row in tx.execute(query.order_by(commit.c.id).limit(limit)):
        match = Match.EXACT if row.id == asked.id_prefix else Match.PREFIX
        yield Found(Noun.COMMIT, row.id, row.id, match, row.project, row.dataset, row.message or None, row.at)


def imports(tx: Connection, asked: FindText, among: Among, limit: int) -> Iterator[Found]:
    """Sources and connections."""
    if asked.number is not None:
        return
    for noun, table in ((Noun.SOURCE, source), (Noun.CONNECTION, connection)):
        query = _in_project(select(table.c.id, table.c.name), table.c, asked, among)
        for row in tx.execute(query.order_by("rank", table.c.name).limit(limit)):
            yield _found(noun, row, project=row.project)


def places(tx: Connection, asked: FindText, limit: int) -> Iterator[Found]:
    """Volumes and sites: everybody's."""
    if asked.project is not None or asked.number is not None:
        return
    query = select(volume.c.id, volume.c.name, site.c.name.label("site"), _rank(volume.c.name, asked)).join(site)
    for row in tx.execute(query.where(_named(volume.c.name, asked)).order_by("rank", volume.c.name).limit(limit)):
        yield _found(Noun.VOLUME, row, detail=row.site)
    sites = select(site.c.id, site.c.name, _rank(site.c.name, asked)).where(_named(site.c.name, asked))
    for row in tx.execute(sites.order_by("rank", site.c.name).limit(limit)):
        yield _found(Noun.SITE, row)


def users(tx: Connection, asked: FindText, limit: int) -> Iterator[Found]:
    """Only for those who may list them."""
    if asked.project is not None or asked.number is not None:
        return
    named = or_(_named(user.c.name, asked), _named(user.c.full_name, asked))
    query = select(user.c.id, user.c.name, user.c.full_name, _rank(user.c.name, asked)).where(named)
    for row in tx.execute(query.order_by("rank", user.c.name).limit(limit)):
        yield _found(Noun.USER, row, detail=row.full_name or None)


# Parts -----------------------------------------------------------------------------------------------


def _named(name: ColumnElement[str], asked: FindText) -> ColumnElement[bool]:
    return and_(literal(True), *(name.icontains(word, autoescape=True) for word in asked.words))


def _rank(name: ColumnElement[str], asked: FindText) -> ColumnElement[int]:
    """0 for the name itself, 1 for its beginning, 2 for any other part."""
    begins = name.istartswith(asked.name, autoescape=True)
    return case((name == asked.name, 0), (begins, 1), else_=2).label("rank")


def _in_project(query: Select[Any], columns: Any, asked: FindText, among: Among) -> Select[Any]:
    query = query.add_columns(project.c.name.label("project"), _rank(columns.name, asked))
    query = query.join(project, project.c.id == columns.project_id)
    query = query.where(_named(columns.name, asked), *_only(columns.project_id, among))
    return query.where(*_of_project(columns.project_id, asked))


def _only(project_id: ColumnElement[str], among: Among) -> list[ColumnElement[bool]]:
    return [] if among is None else [project_id.in_(sorted(among))]


def _of_project(project_id: ColumnElement[str], asked: FindText) -> list[ColumnElement[bool]]:
    if asked.project is None:
        return []
    named = project.c.name.istartswith(asked.project, autoescape=True)
    return [project_id.in_(select(project.c.id).where(named))]


def _by_id(tx: Connection, columns: Any, asked: FindText, among: Among, limit: int) -> Sequence[str]:
    if asked.id_prefix is None:
        return ()
    query = select(columns.id).where(_begins(columns.id, asked.id_prefix), columns.deleted_at.is_(None))
    return tx.scalars(query.where(*_only(columns.project_id, among)).order_by(columns.id).limit(limit)).all()


def _begins(column: ColumnElement[str], prefix: str) -> ColumnElement[bool]:
    """A range, which the primary key answers at once; ids have small letters and digits only."""
    return and_(column >= prefix, column <= prefix.ljust(64, "z"))


def _match(row: Row[Any], asked: FindText) -> Match:
    """One found by its id may have a name that matches not at all."""
    if asked.id_prefix is not None and row.id.startswith(asked.id_prefix):
        return Match.EXACT if row.id == asked.id_prefix else Match.PREFIX
    return _MATCHES[row.rank]


def _found(noun: Noun, row: Row[Any], **known: Any) -> Found:
    return Found(noun, row.id, row.name, _MATCHES[row.rank], at=row._mapping.get("at"), **known)
