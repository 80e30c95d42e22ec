"""The components of a project: commits of `.code`, one branch for each version (docs/design/020)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from millpond.db import commits, datasets
from millpond.library.catalog import FILE
from millpond.model.component import LIBRARY_BRANCHES, Component, ComponentRef
from millpond.model.dataset import Commit, Dataset
from millpond.model.names import CODE_DATASET
from millpond.model.path import to_text
from millpond.model.people import Project
from millpond.services.datasets.files import open_file
from millpond.services.datasets.reading import reader_of
from millpond.services.deps import Deps
from millpond.services.flows.lake_files import find_commit
from millpond.services.flows.library import UsedComponent


@dataclass(frozen=True)
class ProjectLibrary:
    """Reads branches when it is first asked, and a component when it is needed."""

    deps: Deps
    project: Project

    @property
    def origin(self) -> str:
        return f"project {self.project.name}"

    def all(self) -> list[Component]:
        """Every version."""
        found = [self._component(commit_id) for commit_id in self._commits.values()]
        return [one for one in found if one is not None]

    def component(self, ref: ComponentRef) -> Component | None:
        """The newest version that the reference accepts."""
        newest = self._newest(ref)
        return self._component(self._commits[newest]) if newest else None

    def used(self, ref: ComponentRef) -> UsedComponent | None:
        """The same with its files."""
        newest = self._newest(ref)
        component = self.component(ref)
        if newest is None or component is None:
            return None
        dataset, commit = self._opened(self._commits[newest])
        paths = [to_text(entry.path) for entry in reader_of(self.deps, dataset, commit).entries()]
        files = {path: self._read(dataset, commit, path) for path in paths}
        return UsedComponent(component, files[FILE].decode("utf-8"), files, commit.tree, commit)

    def readme(self, ref: ComponentRef) -> str | None:
        used = self.used(ref)
        text = used.files.get(used.component.docs or "README.md") if used else None
        return text.decode("utf-8", "replace") if text is not None else None

    @cached_property
    def _commits(self) -> Mapping[ComponentRef, str]:
        with self.deps.db.read() as tx:
            dataset = datasets.find(tx, self.project.id, CODE_DATASET)
            refs = commits.refs_below(tx, dataset.id, LIBRARY_BRANCHES) if dataset else ()
        named = [(ComponentRef.of_branch(ref.name), ref.commit_id) for ref in refs]
        return {ref: commit_id for ref, commit_id in named if ref is not None}

    def _newest(self, ref: ComponentRef) -> ComponentRef | None:
        fitting = [one for one in self._commits if one.name == ref.name and ref.accepts(one.version)]
        return max(fitting, key=lambda one: one.version, default=None)

    def _component(self, commit_id: str) -> Component | None:
        return self.deps.library.parsed(commit_id, lambda: self._text(commit_id))

    def _text(self, commit_id: str) -> str:
        return self._read(*self._opened(commit_id), FILE).decode("utf-8", "replace")

    def _opened(self, commit_id: str) -> tuple[Dataset, Commit]:
        with self.deps.db.read() as tx:
            dataset = datasets.find(tx, self.project.id, CODE_DATASET)
        assert dataset is not None  # the commit is one of it
        return dataset, find_commit(self.deps, commit_id)

    def _read(self, dataset: Dataset, commit: Commit, path: str) -> bytes:
        file = open_file(self.deps, dataset, commit, path)
        return b"".join(file.read(self.deps, 0, file.size))
