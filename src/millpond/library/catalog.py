"""Finds components: those that come with Millpond, those of installed packages, and folders of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from millpond.decide.flows.component_reader import read_component
from millpond.decide.flows.fields import nearest
from millpond.errors import BadFormat, NotFound, SetupError
from millpond.library.digest import tree_digest
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

    @property
    def digest(self) -> str:
        """The id of its tree in the lake."""
        return tree_digest(self.folder)

    @property
    def docs(self) -> str:
        """Its page of docs, as Markdown; empty if it has none."""
        path = self.folder / (self.component.docs or "README.md")
        return path.read_text("utf-8") if path.is_file() else ""


class Catalog:
    """All components of this installation, of some folders and of a project, which come first where versions are equal.

    `own`: the project's components.
    """

    def __init__(self, folders: Iterable[Path] = (), own: Iterable[FoundComponent] = ()) -> None:
        self._all = [*_of_folders(folders), *own, *_of_packages(), *_built_in()]

    def all(self) -> list[FoundComponent]:
        """By name, the newest version first."""
        return sorted(self._all, key=lambda one: (one.component.name, [-part for part in one.component.version]))

    def find(self, ref: ComponentRef) -> FoundComponent | None:
        """The newest version that the reference accepts."""
        fitting = [one for one in self._all if one.component.name == ref.name and ref.accepts(one.component.version)]
        return max(fitting, key=lambda one: one.component.version, default=None)

    def require(self, ref: ComponentRef) -> FoundComponent:
        """NotFound with the nearest names, or the versions there are."""
        found = self.find(ref)
        if found is None:
            raise no_component(ref, [one.component.ref for one in self._all])
        return found

    def component(self, ref: ComponentRef) -> Component | None:
        found = self.find(ref)
        return found.component if found else None


def no_component(ref: ComponentRef, known: Iterable[ComponentRef]) -> NotFound:
    """The error for a component that is not, or no longer, in the library."""
    versions = sorted({one.version for one in known if one.name == ref.name}, reverse=True)
    if versions:
        hint = f"Versions there are: {', '.join('.'.join(map(str, version)) for version in versions)}."
    else:
        hint = f"{nearest(ref.name, {one.name for one in known})} List them: mill library list"
    return NotFound(f"There is no component {str(ref)!r} in the library.", hint=hint, noun="component", name=str(ref))


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
        try:
            module = point.load()
        except Exception as error:
            name = point.dist.name if point.dist else point.value
            raise SetupError(
                f"Cannot load the components of package {name}: {type(error).__name__}: {error}",
                hint=f"Reinstall the package, or remove it: pip uninstall {name}",
            ) from error
        for place in getattr(module, "__path__", ()):
            yield from _inside(Path(place), point.dist.name if point.dist else point.name)


@cache
def _built_in() -> tuple[FoundComponent, ...]:
    """They do not change while a process runs."""
    return tuple(_inside(_BUILT_IN, "built-in"))


def _inside(folder: Path, origin: str) -> Iterator[FoundComponent]:
    for path in sorted(folder.glob(f"*/{FILE}")):
        yield FoundComponent(load_component(path.parent), path.parent, origin)
