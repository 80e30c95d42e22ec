"""Components as the server knows them: those of its installation, those added to it, a project's and a flow's own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from millpond.decide.flows.component_reader import read_component
from millpond.lake.scan import scan
from millpond.library.catalog import FILE, Catalog
from millpond.library.digest import PUSH_OPTIONS
from millpond.model.component import Component, ComponentRef
from millpond.model.dataset import Commit
from millpond.model.program import content
from millpond.model.tree import Kind

# Components that a flow brings lie in folders of this one, beside `flow.yaml`.
OWN = "components"
# Components of projects that are kept in memory.
_MOST_PARSED = 2_000


class ServerLibrary:
    """The catalog of this server, read when it is first needed and again when components were added."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._catalog: Catalog | None = None
        self._read_at = 0.0
        self._parsed: dict[str, Component | None] = {}

    def parsed(self, commit_id: str, read: Callable[[], str]) -> Component | None:
        """The component of a commit, whose `component.yaml` is read once; None for one that is not valid."""
        with self._lock:
            if commit_id in self._parsed:
                return self._parsed[commit_id]
        component, _ = read_component(read())
        with self._lock:
            if len(self._parsed) >= _MOST_PARSED:
                self._parsed.clear()
            self._parsed[commit_id] = component
        return component

    def catalog(self, added: Path) -> Catalog:
        """`added` is the folder that an administrator puts components into; it need not exist."""
        changed_at = added.stat().st_mtime if added.is_dir() else 0.0
        with self._lock:
            if self._catalog is None or changed_at != self._read_at:
                self._catalog = Catalog([added] if changed_at else [])
                self._read_at = changed_at
            return self._catalog


@dataclass(frozen=True, slots=True)
class UsedComponent:
    """A component with its files, by their paths inside its folder."""

    component: Component
    text: str
    files: Mapping[str, bytes]
    # The id of its tree, where that is known; and its commit, if it is one of `.code` already.
    digest: str = ""
    commit: Commit | None = None


class ProjectComponents(Protocol):
    """The components of a project (project_library.py)."""

    def component(self, ref: ComponentRef) -> Component | None: ...

    def used(self, ref: ComponentRef) -> UsedComponent | None: ...


class FlowLibrary:
    """What the steps of one flow may name: the newest version; at equal ones the flow's own, then the project's."""

    def __init__(self, catalog: Catalog, files: Mapping[str, bytes], project: ProjectComponents) -> None:
        self._catalog = catalog
        self._own = list(_own_components(files))
        self._project = project

    def component(self, ref: ComponentRef) -> Component | None:
        own = self._find_own(ref)
        places = (own.component if own else None, self._project.component(ref), self._catalog.component(ref))
        return max((one for one in places if one is not None), key=lambda one: one.version, default=None)

    def used(self, ref: ComponentRef) -> UsedComponent | None:
        """The same with its files."""
        chosen, own = self.component(ref), self._find_own(ref)
        if chosen is None or (own is not None and own.component is chosen):
            return own
        if chosen == self._project.component(ref):
            return self._project.used(ref)
        found = self._catalog.find(ref)
        if found is None:
            return None
        files = _files_of(found.folder)
        return UsedComponent(found.component, files[FILE].decode("utf-8"), files, found.digest)

    def _find_own(self, ref: ComponentRef) -> UsedComponent | None:
        fitting = [one for one in self._own if one.component.name == ref.name and ref.accepts(one.component.version)]
        return max(fitting, key=lambda one: one.component.version, default=None)


def _own_components(files: Mapping[str, bytes]) -> list[UsedComponent]:
    found = []
    for path in sorted(files):
        top, _, rest = path.partition("/")
        name, _, file = rest.partition("/")
        if top != OWN or file != FILE:
            continue
        folder = f"{OWN}/{name}/"
        text = files[path].decode("utf-8", "replace")
        component, _ = read_component(text)
        if component is not None:
            inside = {one.removeprefix(folder): data for one, data in files.items() if one.startswith(folder)}
            found.append(UsedComponent(component, text, inside))
    return found


def _files_of(folder: Path) -> dict[str, bytes]:
    """What its digest is made of."""
    found = scan(folder, ignore_files=PUSH_OPTIONS.ignore_files, ignore=PUSH_OPTIONS.ignore)
    files = {os.fsdecode(one.path): one.kind is Kind.EXECUTABLE for one in found if one.kind.is_file}
    return {path: content((folder / path).read_bytes(), executable=program) for path, program in files.items()}
