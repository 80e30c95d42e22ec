"""Everything back from the lake into an empty database: projects, datasets, refs, commits, pages, packs.

People and roles are not in the lake. A lake that is damaged gives back the rest, and says what is wrong. Cut off at
any moment, it can be run again: only at its end does the lake belong to this database.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from millpond.blobs.store import BlobStore
from millpond.db import commits, datasets, projects, server
from millpond.errors import BadFormat, Corrupt, NotFound, SetupError
from millpond.lake import keys as lake_keys
from millpond.lake.commits import decode_commit
from millpond.lake.keys import ProjectKeys
from millpond.model.dataset import Commit, Dataset, Ref
from millpond.model.people import SYSTEM, Project
from millpond.services.deps import Deps
from millpond.services.lake import lake_owner
from millpond.services.lake.reindex_history import History, RefHistory, Say, read_histories
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
    for project_id in _project_ids(deps.store):
        _Project(deps, project_id, done).run()
        done.projects += 1
    lake_owner.take_over(deps.db, deps.store, deps.clock.now())
    with deps.db.write() as tx:
        details = {"datasets": done.datasets, "commits": done.commits, "problems": len(done.problems)}
        audit.record(tx, now=deps.clock.now(), actor=SYSTEM, action="lake.reindex", subject="lake", details=details)
    return done


def _project_ids(store: BlobStore) -> Iterator[str]:
    """Without listing all objects of each: behind `projects/<id>/` with `~`, which sorts behind every key below it."""
    after: str | None = None
    while (info := next(iter(store.list(lake_keys.PROJECTS, after)), None)) is not None:
        project_id = info.key.split("/")[1]
        yield project_id
        after = f"{lake_keys.PROJECTS}{project_id}/~"


@dataclass
class _Project:
    deps: Deps
    project_id: str
    done: Reindexed

    def run(self) -> None:
        histories = list(read_histories(self.deps.store, self.project_id, self.say))
        name = next((history.dataset.project for history in histories), self.project_id)
        self._add_project(name)
        pages = PageIndexer(self.deps, self.project_id, self.say)
        pages.add_packs()
        for history in histories:
            self._add_dataset(history, pages)
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
        found = _Commits(self.deps.store, self.project_id, history, self.say)
        refs = [ref for kept in history.refs.values() if (ref := found.ref(kept)) is not None]
        reached = found.reached_from([ref.commit_id for ref in refs])
        for commit in reached:
            if not pages.add_tree(commit.tree):
                self.say(f"{history.dataset.written}@{commit.id[:12]}: parts of it are damaged")
        with self.deps.db.write() as tx:
            self._insert(tx, history, refs, reached)
        self.done.datasets += 1
        self.done.commits += len(reached)

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


@dataclass
class _Commits:
    """The commits of one dataset; each is read once."""

    store: BlobStore
    project_id: str
    history: History
    say: Say
    read: dict[str, Commit | None] = field(default_factory=dict)

    def ref(self, kept: RefHistory) -> Ref | None:
        """The ref where it was last, or, if that commit is lost, where it was before."""
        if kept.commits[-1] is None:
            return None
        where = f"{self.history.dataset.written}@{kept.name}"
        for commit_id in reversed(kept.commits):
            if commit_id is not None and self.commit(commit_id) is not None:
                if commit_id != kept.commits[-1]:
                    self.say(f"{where} was at {kept.commits[-1]}, which is lost; it is at {commit_id} now")
                return Ref(self.history.dataset.id, kept.name, kept.type, commit_id, kept.moved_at)
        self.say(f"{where} was at {kept.commits[-1]}, which is lost")
        return None

    def reached_from(self, starts: Sequence[str]) -> list[Commit]:
        found: dict[str, Commit] = {}
        waiting = list(starts)
        while waiting:
            commit_id = waiting.pop()
            # A parent that is not there was let go by a retention rule.
            if commit_id not in found and (commit := self.commit(commit_id)) is not None:
                found[commit_id] = commit
                waiting.extend(commit.parents)
        return list(found.values())

    def commit(self, commit_id: str) -> Commit | None:
        if commit_id not in self.read:
            self.read[commit_id] = self._load(commit_id)
        return self.read[commit_id]

    def _load(self, commit_id: str) -> Commit | None:
        try:
            return decode_commit(self.store.get(ProjectKeys(self.project_id).commit(commit_id)), commit_id)
        except NotFound:
            return None
        except (Corrupt, BadFormat) as error:
            self.say(f"commit {commit_id} cannot be used: {error.message}")
            return None


def _renamed(history: History) -> Dataset:
    dataset = history.dataset
    return replace(dataset, name=f"{dataset.name[:50]}-{dataset.id[:8]}")
