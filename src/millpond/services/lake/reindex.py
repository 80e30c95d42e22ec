"""Everything back from the lake into an empty database: projects, datasets, refs, commits, pages, packs.

People and roles are not in the lake. A lake that is damaged gives back the rest, and says what is wrong. Cut off at
any moment, it can be run again: only at its end does the lake belong to this database.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from millpond.blobs.store import BlobStore
from millpond.db import commits, datasets, projects, promised, server
from millpond.errors import SetupError
from millpond.lake import keys as lake_keys
from millpond.lake.keys import ProjectKeys
from millpond.model.dataset import Commit, Dataset, Ref
from millpond.model.people import SYSTEM, Project
from millpond.services.deps import Deps
from millpond.services.lake import lake_owner
from millpond.services.lake.reindex_commits import FoundCommits
from millpond.services.lake.reindex_history import History, Say, read_histories
from millpond.services.lake.reindex_pages import PageIndexer
from millpond.services.people import audit


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
    with deps.db.read() as tx:
        row = server.get(tx)
    if row is None or row.lake_id is not None:
        raise SetupError(
            "This database is in use already.", hint="Reindex into an empty one: another --data-dir, or another --db."
        )
    done = Reindexed()
    for project_id in _project_ids(deps.store, done.problems.append):
        _Project(deps, project_id, done).run()
        done.projects += 1
    lake_owner.take_over(deps.db, deps.store, deps.clock.now())
    with deps.db.write() as tx:
        details = {"datasets": done.datasets, "commits": done.commits, "problems": len(done.problems)}
        audit.record(tx, now=deps.clock.now(), actor=SYSTEM, action="lake.reindex", subject="lake", details=details)
    return done


def _project_ids(store: BlobStore, say: Say) -> Iterator[str]:
    """Without listing all objects of each: behind `projects/<id>0`, since `0` follows the slash."""
    after: str | None = None
    while (info := next(iter(store.list(lake_keys.PROJECTS, after)), None)) is not None:
        project_id, slash, _ = info.key.removeprefix(lake_keys.PROJECTS).partition("/")
        if slash and lake_keys.is_id(project_id):
            yield project_id
        else:
            say(f"{info.key} is nothing of the lake's, and stays as it is")
        after = f"{lake_keys.PROJECTS}{project_id}0" if slash else info.key


@dataclass
class _Project:
    deps: Deps
    project_id: str
    done: Reindexed

    def run(self) -> None:
        histories = list(read_histories(self.deps.store, self.project_id, self.say))
        name = next((found.dataset.project for found in histories if found.dataset.project), self.project_id)
        self._add_project(name)
        pages = PageIndexer(self.deps, self.project_id, self.say)
        pages.add_packs()
        for history in histories:
            if history.purged:
                self._remove(history)
            else:
                self._add_dataset(replace(history, dataset=replace(history.dataset, project=name)), pages)
        pages.add_leftovers()
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

    def _add_dataset(self, history: History, pages: PageIndexer) -> None:
        """Pages first, then all rows of the dataset in one transaction: it is there with its history, or not at all."""
        with self.deps.db.read() as tx:
            if datasets.name_of(tx, history.dataset.id) is not None:
                return
        found = FoundCommits(self.deps.store, self.project_id, history, self.say)
        refs = found.refs()
        reached = found.reached_from([ref.commit_id for ref in refs])
        if history.is_damaged or found.is_damaged:
            refs += found.recovered(reached)
            reached = found.reached_from([ref.commit_id for ref in refs])
        if history.is_nameless:
            if not reached:
                self.say(f"dataset {history.dataset.id}: what made it is lost, and so is all that it held")
                return
            self.say(f"dataset {history.dataset.id}: its name is lost; it is {history.dataset.written} now")
        for commit in reached:
            if not pages.add_tree(commit.tree):
                self.say(f"{history.dataset.written}@{commit.id[:12]}: parts of it are damaged")
        with self.deps.db.write() as tx:
            self._insert(tx, history, refs, reached)
        self.done.datasets += 1
        self.done.commits += len(reached)

    def _remove(self, history: History) -> None:
        """It was purged, and a collection was still to come: its objects go, the record that says so last."""
        found = FoundCommits(self.deps.store, self.project_id, history, lambda problem: None)
        keys = ProjectKeys(self.project_id)
        gone = [keys.commit(commit.id) for commit in found.reached_from(history.commit_ids)]
        gone += [keys.record(history.dataset.id, number) for number in range(history.next_record)]
        with self.deps.db.write() as tx:
            promised.doom(tx, self.project_id, gone, self.deps.clock.now())

    def _insert(self, tx: Connection, history: History, refs: Sequence[Ref], reached: Sequence[Commit]) -> None:
        dataset = history.dataset
        if history.deleted_at is None and datasets.taken(tx, self.project_id, dataset.name):
            self.say(f"two datasets are called {dataset.name!r}: {dataset.id} came second, and is named after its id")
            dataset = _renamed(history)
        datasets.insert(tx, dataset, next_record=history.next_record, deleted_at=history.deleted_at)
        for commit in reached:
            commits.insert(tx, commit)
        for ref in refs:
            commits.set_ref(tx, ref)


def _renamed(history: History) -> Dataset:
    dataset = history.dataset
    return replace(dataset, name=f"{dataset.name[:50]}-{dataset.id[:8]}")
