"""Finds components: those that come with Millpond, those of installed packages, and folders of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from millpond.decide.flows.component_reader import read_component
from millpond.errors import BadFormat
from millpond.model.component import Component, ComponentRef

FILE = "component.yaml"
# Entry points of other packages name a module whose folder holds components, one folder each.
GROUP = "millpond.components"
_BUILT_IN = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class FoundComponent:
    """`origin`: "built-in", the package that brings it, or the folder it lies in."""

    component: Component
    folder: Path
    origin: str


class Catalog:
    """All components of this installation and of some folders, which come first where versions are equal."""

    def __init__(self, folders: Iterable[Path] = ()) -> None:
        self._all = [*_of_folders(folders), *_of_packages(), *_inside(_BUILT_IN, "built-in")]

    def all(self) -> list[FoundComponent]:
        """By name, the newest version first."""
        return sorted(self._all, key=lambda one: (one.component.name, [-part for part in one.component.version]))

    def find(self, ref: ComponentRef) -> FoundComponent | None:
        """The newest version that the reference accepts."""
        fitting = [one for one in self._all if one.component.name == ref.name and ref.accepts(one.component.version)]
        return max(fitting, key=lambda one: one.component.version, default=None)

    def component(self, ref: ComponentRef) -> Component | None:
        found = self.find(ref)
        return found.component if found else None


def load_component(folder: Path) -> Component:
    """The component of a folder. BadFormat with everything that is wrong with it."""
    path = folder / FILE
    try:
        component, problems = read_component(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadFormat(f"Cannot read {path}: {error}") from error
    if component is None:
        listed = "\n".join(f"  {path}:{one.line}:{one.column}: {one.message} {one.hint}".rstrip() for one in problems)
        raise BadFormat(f"{folder.name} is not a valid component.\n{listed}")
    return component


def _of_folders(folders: Iterable[Path]) -> Iterator[FoundComponent]:
    for folder in folders:
        if (folder / FILE).is_file():
            yield FoundComponent(load_component(folder), folder, str(folder.parent))
        else:
            yield from _inside(folder, str(folder))


def _of_packages() -> Iterator[FoundComponent]:
    for point in sorted(metadata.entry_points(group=GROUP), key=lambda one: one.name):
        module = point.load()
        for place in getattr(module, "__path__", ()):
            yield from _inside(Path(place), point.dist.name if point.dist else point.name)


def _inside(folder: Path, origin: str) -> Iterator[FoundComponent]:
    for path in sorted(folder.glob(f"*/{FILE}")):
        yield FoundComponent(load_component(path.parent), path.parent, origin)
