"""Everything back from the lake into an empty database: projects, datasets, refs, commits, pages, packs, flows.

People and roles are not in the lake. A lake that is damaged gives back the rest, and says what is wrong. Cut off at
any moment, it can be run again, and no server starts on the database before it is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.blobs.store import BlobStore
from millpond.db import collecting, commits, datasets, projects, promised_pages, server
from millpond.db.engine import Database
from millpond.errors import SetupError
from millpond.lake import keys as lake_keys
from millpond.lake.keys import ProjectKeys
from millpond.model.dataset import Commit, Dataset, Ref
from millpond.model.people import SYSTEM, Project
from millpond.services.deps import Deps
from millpond.services.lake import lake_owner, reindex_flows, reindex_models
from millpond.services.lake.reindex_commits import FoundCommits
from millpond.services.lake.reindex_history import History, Say, read_histories
from millpond.services.lake.reindex_pages import PageIndexer
from millpond.services.people import audit

_ALL = 1_000_000


@dataclass
class Reindexed:
    """What came back, and what is wrong with the lake."""

    projects: int = 0
    datasets: int = 0
    commits: int = 0
    pages: int = 0
    packs: int = 0
    problems: list[str] = field(default_factory=list)


def reindex(deps: Deps) -> Reindexed:
    """Read the whole lake and make it this database's. SetupError for a database that belongs to a lake already."""
    check_is_empty(deps.db)
    # First of all: whoever owned the lake stops writing, so that what is read here is all there is.
    lake_owner.become_owner(deps.db, deps.store, deps.clock.now())
    done = Reindexed()
    for project_id in project_ids(deps.store, done.problems.append):
        ProjectIndexer(deps, project_id, done).run()
        done.projects += 1
    lake_owner.reindexed(deps.db, deps.store)
    with deps.db.write() as tx:
        details = {"datasets": done.datasets, "commits": done.commits, "problems": len(done.problems)}
        audit.record(tx, now=deps.clock.now(), actor=SYSTEM, action="lake.reindex", subject="lake", details=details)
    return done


def check_is_empty(db: Database) -> None:
    with db.read() as tx:
        row = server.get(tx)
    if row is None or row.lake_id is not None:
        raise SetupError(
            "This database is not empty.", hint="Reindex into an empty one: another --data-dir, or another --db."
        )


def project_ids(store: BlobStore, say: Say) -> Iterator[str]:
    """Without listing all objects of each: behind `projects/<id>0`, since `0` follows the slash."""
    after: str | None = None
    while (info := next(iter(store.list(lake_keys.PROJECTS, after)), None)) is not None:
        project_id, slash, _ = info.key.removeprefix(lake_keys.PROJECTS).partition("/")
        if slash and lake_keys.is_id(project_id):
            yield project_id
        else:
            say(f"{info.key} is not part of the lake format and stays as it is")
        after = f"{lake_keys.PROJECTS}{project_id}0" if slash else info.key


@dataclass(frozen=True, slots=True)
class Indexed:
    """A dataset whose pages are in the database, and the rows that are to follow."""

    history: History
    refs: Sequence[Ref]
    commits: Sequence[Commit]


@dataclass
class ProjectIndexer:
    """Brings the datasets of one project from the lake into the database."""

    deps: Deps
    project_id: str
    done: Reindexed

    def run(self, *, update: bool = False) -> None:
        """Add the project with all its datasets; `update` those, too, that the database knows."""
        histories = list(read_histories(self.deps.store, self.project_id, self.say))
        name = next((found.dataset.project for found in histories if found.dataset.project), self.project_id)
        self._add_project(name)
        pages = PageIndexer(self.deps, self.project_id, self.say)
        pages.add_packs()
        for history in histories:
            if history.purged:
                self._remove(history)
            else:
                written = replace(history, dataset=replace(history.dataset, project=name))
                self._add_dataset(written, pages, update=update)
        pages.add_leftovers()
        reindex_flows.index(self.deps, self.project_id, self.say)
        self.done.pages += pages.pages
        self.done.packs += pages.packs

    def say(self, problem: str) -> None:
        self.done.problems.append(f"project {self.project_id}: {problem}")

    def _add_project(self, name: str) -> None:
        with self.deps.db.write() as tx:
            if projects.get(tx, self.project_id) is not None:
                return
            taken = projects.find(tx, name)
            if taken is not None and not projects.contents(tx, taken.id):
                projects.delete(tx, taken.id)  # made by a first start, and nothing is in it
                taken = None
            free = name if taken is None else f"{name[:50]}-{self.project_id[:8]}"
            projects.insert(tx, Project(self.project_id, free, "", self.deps.clock.now()))

    def _add_dataset(self, history: History, pages: PageIndexer, *, update: bool) -> None:
        """Pages first, then all rows of the dataset in one transaction: it is there with its history, or not at all."""
        with self.deps.db.read() as tx:
            is_known = datasets.name_of(tx, history.dataset.id) is not None
            others = collecting.commits_of(tx, history.dataset.id) if is_known else []
        if is_known and not update:
            return
        indexed = self._index(history, pages)
        if indexed is None:
            return
        reached = {commit.id for commit in indexed.commits}
        lost = [row.commit.id for row in others if row.commit.id not in reached and not pages.add_tree(row.tree)]
        with self.deps.db.write() as tx:
            if is_known:
                self._update(tx, indexed, lost)
            else:
                self._insert(tx, indexed)

    def _index(self, history: History, pages: PageIndexer) -> Indexed | None:
        """Bring the pages of all its commits into the database; None for a dataset of which nothing is left."""
        found = FoundCommits(self.deps.store, self.project_id, history, self.say)
        refs = found.refs()
        reached = found.reached_from([ref.commit_id for ref in refs])
        if history.is_damaged or found.is_damaged:
            refs += found.recovered(reached)
            reached = found.reached_from([ref.commit_id for ref in refs])
        if history.is_nameless:
            if not reached:
                self.say(f"dataset {history.dataset.id}: its first record is lost, and so is its content")
                return None
            self.say(f"dataset {history.dataset.id}: its name is lost; it is now {history.dataset.written}")
        for commit in reached:
            if not pages.add_tree(commit.tree):
                self.say(f"{history.dataset.written}@{commit.id[:12]}: parts of it are damaged")
        self.done.datasets += 1
        self.done.commits += len(reached)
        return Indexed(history, refs, reached)

    def _remove(self, history: History) -> None:
        """It was purged, and a collection was still to come: its objects go, the record that says so last."""
        found = FoundCommits(self.deps.store, self.project_id, history, lambda problem: None)
        keys = ProjectKeys(self.project_id)
        gone = [keys.commit(commit.id) for commit in found.reached_from(history.commit_ids)]
        gone += [info.key for info in self.deps.store.list(keys.records(history.dataset.id))]
        now = self.deps.clock.now()
        with self.deps.db.write() as tx:
            datasets.drop_records(tx, history.dataset.id)
            try:
                with tx.begin_nested():
                    collecting.delete_dataset(tx, history.dataset.id)
            except IntegrityError:  # known here, and a cache or a job names one of its commits
                datasets.change(tx, history.dataset.id, deleted_at=now, next_record=history.next_record)
                self.say(f"dataset {history.dataset.id}: it was purged, but is still in use here; it is in the bin")
                return
            promised_pages.doom(tx, self.project_id, gone, now)

    def _named(self, tx: Connection, history: History) -> Dataset:
        """The dataset under a name that is free: its own, or one after its id."""
        dataset = history.dataset
        if history.deleted_at is None and datasets.taken(tx, self.project_id, dataset.name, besides=dataset.id):
            self.say(f"two datasets are named {dataset.name!r}: {dataset.id} came second and is named after its id")
            return replace(dataset, name=f"{dataset.name[:50]}-{dataset.id[:8]}")
        return dataset

    def _insert(self, tx: Connection, indexed: Indexed) -> None:
        history = indexed.history
        dataset = self._named(tx, history)
        datasets.insert(tx, dataset, next_record=history.next_record, deleted_at=history.deleted_at)
        for commit in indexed.commits:
            commits.insert(tx, commit)
        for ref in indexed.refs:
            commits.set_ref(tx, ref)
        reindex_models.index(tx, history, indexed.refs, indexed.commits)

    def _update(self, tx: Connection, indexed: Indexed, lost: Sequence[str]) -> None:
        """Make a dataset what the lake says. Commits that only the database knows stay, unless they are `lost`."""
        history, keys = indexed.history, ProjectKeys(self.project_id)
        dataset = self._named(tx, history)
        datasets.drop_records(tx, dataset.id)
        datasets.change(
            tx, dataset.id, name=dataset.name, deleted_at=history.deleted_at, next_record=history.next_record,
            active_at=dataset.active_at,
        )  # fmt: skip
        for commit in indexed.commits:
            commits.insert(tx, commit)
        promised_pages.removed(tx, [keys.commit(commit.id) for commit in indexed.commits])
        for ref in commits.refs(tx, dataset.id, limit=_ALL):
            commits.delete_ref(tx, dataset.id, ref.name)
        for ref in indexed.refs:
            commits.set_ref(tx, ref)
        reindex_models.index(tx, history, indexed.refs, indexed.commits)
        try:
            with tx.begin_nested():
                collecting.delete_commits(tx, lost)
        except IntegrityError:
            self.say(f"{dataset.written}: {len(lost)} commits are lost, though a cache or a job names one of them")
