"""Components as the server knows them: those of its installation, those added to it, and a flow's own."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from millpond.decide.flows.component_reader import read_component
from millpond.library.catalog import FILE, Catalog
from millpond.model.component import Component, ComponentRef

# Components that a flow brings lie in folders of this one, beside `flow.yaml`.
OWN = "components"
# What lies in a component's folder and is no part of it.
_IGNORED = ("__pycache__", ".git", ".venv")


class ServerLibrary:
    """The catalog of this server, read when it is first needed and again when components were added."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._catalog: Catalog | None = None
        self._read_at = 0.0

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


class FlowLibrary:
    """What the steps of one flow may name; its own components come before the server's."""

    def __init__(self, catalog: Catalog, files: Mapping[str, bytes]) -> None:
        self._catalog = catalog
        self._own = list(_own_components(files))

    def component(self, ref: ComponentRef) -> Component | None:
        own = self._find_own(ref)
        return own.component if own else self._catalog.component(ref)

    def used(self, ref: ComponentRef) -> UsedComponent | None:
        own = self._find_own(ref)
        if own is not None:
            return own
        found = self._catalog.find(ref)
        if found is None:
            return None
        files = _files_of(found.folder)
        return UsedComponent(found.component, files[FILE].decode("utf-8"), files)

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
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part in _IGNORED for part in path.relative_to(folder).parts)
    }
