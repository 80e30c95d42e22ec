"""The components of a project: commits of `.code`, one branch for each version."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from millpond.client.commits import create_commit, find_commit, find_refs
from millpond.client.dataset import Dataset
from millpond.client.git import checked_out, split_written
from millpond.client.http import Api
from millpond.client.retrying_sender import until_complete
from millpond.client.transfer import ApiUploader
from millpond.errors import BadRequest, NameTaken, NotFound
from millpond.lake.push import push_directory
from millpond.library.catalog import FILE, FoundComponent, load_component
from millpond.library.digest import PUSH_OPTIONS, tree_digest
from millpond.model.component import Component, ComponentRef
from millpond.model.names import CODE_DATASET
from millpond.wire.quick.data import Commit, CommitCreate


@dataclass(frozen=True, slots=True)
class AddedComponent:
    """`is_new` is False if the project had exactly this version before."""

    component: Component
    commit: Commit
    is_new: bool


def own_components(api: Api, project: str, server: str) -> list[FoundComponent]:
    """All versions that the project has, as folders in this user's cache."""
    found = []
    for ref in _refs(api, project):
        with Dataset(f"{project}/{CODE_DATASET}@{ref.branch}", server=server) as dataset:
            folder = dataset.path()
        found.append(FoundComponent(load_component(folder), folder, f"project {project}"))
    return found


def add_component(api: Api, project: str, folder: Path) -> AddedComponent:
    """Commit the component of a folder to the project. NameTaken if that version is there with other files."""
    component = load_component(folder)
    before = _head(api, project, component.ref)
    if before is not None:
        if before.tree != tree_digest(folder):
            raise NameTaken(
                f"Project {project} has {component.name} {component.version_text} with other files.",
                hint=f"Raise the version in {folder / FILE} and add it again.",
            )
        return AddedComponent(component, before, False)
    return AddedComponent(component, until_complete(lambda: _commit(api, project, folder, component)), True)


@contextmanager
def component_folders(source: str, subfolder: str | None) -> Iterator[list[Path]]:
    """The folders with components of a local folder or of a Git repository (`URL@REV`), as long as the block lasts."""
    if Path(source).is_dir():
        yield _inside(Path(source), subfolder, source)
    elif "://" in source or split_written(source)[0].endswith(".git") or source.startswith("git@"):
        with checked_out(source, Path.cwd()) as checkout:
            yield _inside(checkout.folder, subfolder, source)
    else:
        raise BadRequest(
            f"{source!r} is neither a folder nor a Git repository.",
            hint="Give a folder with component.yaml, or a URL like https://example.org/components.git@main.",
        )


def _inside(root: Path, subfolder: str | None, source: str) -> list[Path]:
    folder = root / subfolder if subfolder else root
    if (folder / FILE).is_file():
        return [folder]
    found = sorted(path.parent for path in folder.glob(f"*/{FILE}"))
    if not found:
        where = f"{source} in {subfolder}" if subfolder else source
        raise BadRequest(
            f"No component in {where}: no {FILE} there or one level below.", hint="Name its folder with --path."
        )
    return found


def _refs(api: Api, project: str) -> list[ComponentRef]:
    try:
        refs = list(find_refs(api, project, CODE_DATASET))
    except NotFound:
        return []  # no job has run there yet
    return [found for ref in refs if (found := ComponentRef.of_branch(ref.name)) is not None]


def _head(api: Api, project: str, ref: ComponentRef) -> Commit | None:
    try:
        return find_commit(api, project, CODE_DATASET, ref.branch)
    except NotFound:
        return None


def _commit(api: Api, project: str, folder: Path, component: Component) -> Commit:
    with ApiUploader(api, project) as uploader:
        pushed = push_directory(folder, uploader, options=PUSH_OPTIONS)
        request = CommitCreate(
            upload=uploader.id,
            tree=pushed.tree.root,
            branch=component.ref.branch,
            message=f"Component {component.name} {component.version_text}",
        )
        return create_commit(api, project, CODE_DATASET, request)
