"""The commits of one dataset as the lake holds them: those that refs lead to; in a damaged lake all that are whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from millpond.blobs.store import BlobStore
from millpond.errors import BadFormat, BadRequest, Corrupt, NotFound
from millpond.lake.commits import decode_commit
from millpond.lake.keys import ProjectKeys, id_in
from millpond.model.dataset import Commit, Ref, RefType
from millpond.model.ids import is_digest
from millpond.services.lake.reindex_history import History, RefHistory, Say


@dataclass
class FoundCommits:
    """Each is read once. `is_damaged` once one that a ref was at, or that another follows, cannot be used."""

    store: BlobStore
    project_id: str
    history: History
    say: Say
    is_damaged: bool = False
    _read: dict[str, Commit | None] = field(default_factory=dict)

    def refs(self) -> list[Ref]:
        return [ref for kept in self.history.refs.values() if (ref := self._ref(kept)) is not None]

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

    def recovered(self, reached: Sequence[Commit]) -> list[Ref]:
        """Of a damaged dataset: a new branch at each whole commit that nothing leads to any more."""
        known = {commit.id for commit in reached}
        ids = [id_in(self._keys.commits, info.key) for info in self.store.list(self._keys.commits)]
        stray = [self.commit(commit_id, quietly=True) for commit_id in ids if commit_id and commit_id not in known]
        whole = {commit.id: commit for commit in stray if commit is not None}
        followed = {parent for commit in whole.values() for parent in commit.parents}
        return [self._branch(commit) for commit in whole.values() if commit.id not in followed]

    def commit(self, commit_id: str, *, quietly: bool = False) -> Commit | None:
        """None for one that is not there, cannot be used, or is another dataset's; `quietly`: nobody is told."""
        if commit_id not in self._read:
            self._read[commit_id] = self._load(commit_id, quietly)
        return self._read[commit_id]

    @property
    def _keys(self) -> ProjectKeys:
        return ProjectKeys(self.project_id)

    def _ref(self, kept: RefHistory) -> Ref | None:
        """The ref where it was last, or, if that commit is lost, where it was before."""
        if kept.commits[-1] is None:
            return None
        where = f"{self.history.dataset.written}@{kept.name}"
        for commit_id in reversed(kept.commits):
            if commit_id is not None and self.commit(commit_id) is not None:
                if commit_id != kept.commits[-1]:
                    self.is_damaged = True
                    self.say(f"{where} was at {kept.commits[-1]}, which is lost; it is at {commit_id} now")
                return Ref(self.history.dataset.id, kept.name, kept.type, commit_id, kept.moved_at)
        self.is_damaged = True
        self.say(f"{where} was at {kept.commits[-1]}, which is lost")
        return None

    def _branch(self, commit: Commit) -> Ref:
        name = f"recovered-{commit.id[:12]}"
        self.say(
            f"{self.history.dataset.written}@{name}: the history of commit {commit.id} is lost, but "
            "the commit is intact and has this branch now; delete the branch if you do not need it"
        )
        return Ref(self.history.dataset.id, name, RefType.BRANCH, commit.id, commit.time)

    def _load(self, commit_id: str, quietly: bool) -> Commit | None:
        try:
            if not is_digest(commit_id):
                raise BadFormat("That is not the id of a commit.")
            commit = decode_commit(self.store.get(self._keys.commit(commit_id)), commit_id)
        except NotFound:
            return None
        except (Corrupt, BadRequest) as error:
            if not quietly:
                self.is_damaged = True
                self.say(f"commit {commit_id} cannot be used: {error.message}")
            return None
        return commit if commit.dataset_id == self.history.dataset.id else None
