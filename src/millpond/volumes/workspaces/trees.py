"""Making the tree of a workspace, in a directory where nobody sees it yet: by each way that a volume may allow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from millpond.errors import NotFound
from millpond.lake.nursery import Nursery
from millpond.volumes.volume import CacheVolume, CommitPlace
from millpond.volumes.workspaces import btrfs
from millpond.volumes.workspaces.identities import IdentityWriter
from millpond.volumes.workspaces.layout import VIEWS, WorkspaceDocument, WorkspaceFolder, read_snapshot, read_workspace
from millpond.volumes.workspaces.overlay import (
    MOST_LAYERS,
    commit_layers,
    layer_path,
    make_overlay_places,
    make_owners,
    mount_overlay,
    snapshot_layer,
    unmount,
)
from millpond.volumes.workspaces.tree_crew import Noted, TreeProgress, work_on_tree
from millpond.volumes.workspaces.tree_process import Done, Task

# Writes a commit of the lake into an empty directory, every byte checked.
FetchCommit = Callable[[Path], None]


@dataclass(frozen=True, slots=True)
class TreeTools:
    """What trees of one volume are made with. `uid` is the account of the project; None: everything is the agent's."""

    volume: CacheVolume
    nursery: Nursery
    uid: int | None = None
    # What was tried out on this volume.
    subvolumes: bool = False
    overlay: bool = False
    progress: TreeProgress = lambda done: None


@dataclass(frozen=True, slots=True)
class Origin:
    """What a tree is made from, as it lies on the volume.

    `path` is a tree, or the uppermost layer of an overlay whose others are `layers`. Nothing: an empty tree.
    """

    name: str = "empty"
    path: Path | None = None
    layers: tuple[str, ...] = ()
    is_overlay: bool = False
    is_subvolume: bool = False
    # Jobs may write to it meanwhile.
    is_live: bool = False
    # A cached commit: read-only files of root.
    commit: CommitPlace | None = None
    # Set where it lies in the lake alone.
    fetch: FetchCommit | None = None
    # The layer that it would be for others.
    as_layer: str = ""
    # What is remembered of its files; the inodes of a subvolume's clone, and of layers, are the same.
    kept_stat: Path | None = None


@dataclass(frozen=True, slots=True)
class MadeTree:
    """What lies in the new directory: `part` is `tree`, or `upper` of an overlay."""

    how: str
    part: str = "tree"
    layers: tuple[str, ...] = ()
    is_subvolume: bool = False
    reason: str = ""
    done: Done = field(default_factory=Done)


def of_commit(volume: CacheVolume, place: CommitPlace) -> Origin:
    """A cached commit. NotFound if it is not on the volume (any more)."""
    path = volume.commit(place)
    if not path.is_dir():
        raise NotFound(
            f"Commit {place.commit_id[:12]} is not cached on {volume.root}.", hint="Cache it: mill cache add"
        )
    return Origin(name=f"commit:{place.dataset_id}/{place.commit_id}", path=path, commit=place)


def of_snapshot(folder: WorkspaceFolder, number: int) -> Origin:
    """A near snapshot. NotFound if there is none."""
    found, path = read_snapshot(folder, number), folder.snapshot(number)
    if found is None or not path.is_dir():
        raise NotFound(f"Snapshot {number} of workspace {folder.id} is not on the volume at {folder.volume.root}.")
    layer = snapshot_layer(folder.id, number)
    return Origin(
        name=layer,
        path=path,
        layers=found.layers,
        is_overlay=bool(found.layers),
        is_subvolume=found.is_subvolume,
        as_layer=layer,
        kept_stat=folder.kept_stat,
    )


def of_workspace(folder: WorkspaceFolder) -> Origin:
    """The tree of a workspace as it is. NotFound if there is none."""
    found = read_workspace(folder)
    if found is None:
        raise NotFound(f"Workspace {folder.id} is not on the volume at {folder.volume.root}.")
    return Origin(
        name=f"workspace:{folder.id}",
        path=folder.upper if found.is_overlay else folder.tree,
        layers=found.layers,
        is_overlay=found.is_overlay,
        is_subvolume=found.is_subvolume,
        is_live=True,
        kept_stat=folder.kept_stat,
    )


def make_tree(
    tools: TreeTools, folder: WorkspaceFolder, making: Path, origin: Origin, how: str, *, only_tree: bool = False
) -> MadeTree:
    """Make in `making`, a new directory, what `origin` holds; by the way `how`, or by another one that says why.

    `only_tree`: what has no layers, even where the origin has some.
    """
    if origin.fetch is not None:
        return _fetched(tools, making, origin.fetch)
    if origin.path is None:
        new_tree(tools, making / "tree")
        give(making / "tree", tools.uid, 0o755)
        return MadeTree("empty", is_subvolume=tools.subvolumes)
    if origin.is_subvolume and tools.subvolumes:
        btrfs.snapshot(origin.path, making / "tree", read_only=False)
        return MadeTree("subvolume", is_subvolume=True)
    if origin.is_overlay and only_tree:
        made = _merged(tools, folder, making, origin)
        return replace(made, reason="it no longer has the layers of the snapshot")
    if origin.is_overlay and how == "copy":
        return _merged(tools, folder, making, origin)
    if origin.is_overlay:
        return _over_layers(tools, folder, making, origin, how)
    if how == "overlay" and not only_tree and not origin.is_live:
        if tools.overlay:
            return _over(tools, folder, making, origin)
        made = _copied(tools, making, origin.path, origin, "reflink")
        return replace(made, reason="its agent cannot make layers on this volume")
    return _copied(tools, making, origin.path, origin, how)


def new_tree(tools: TreeTools, path: Path) -> None:
    """An empty directory; on btrfs a subvolume, of which snapshots and clones are made at once."""
    if tools.subvolumes:
        btrfs.create(path)
    else:
        path.mkdir()


def give(path: Path, uid: int | None, mode: int) -> None:
    path.chmod(mode)
    if uid is not None:
        os.chown(path, uid, uid)


def copy_files(
    tools: TreeTools,
    origin: Origin,
    source: Path,
    target: Path,
    how: str,
    noted: Noted | None = None,
    *,
    is_merged: bool = False,
) -> Done:
    """Every file of `source` into the empty directory `target`: shared where the file system can, unless by `copy`.

    `is_merged`: it is what several layers are together.
    """
    from_commit = origin.commit is not None
    # Files of commits, also as a layer, share inodes with others that merely hold the same: copies are apart.
    keep_links = not from_commit and not is_merged
    task = Task(
        "copy" if how == "copy" else "clone",
        uid=tools.uid if from_commit else None,
        plain_modes=from_commit,
        whole=not from_commit,
        made_numbers=from_commit,
    )
    return work_on_tree(
        source, target, task, tools.nursery, progress=tools.progress, noted=noted, keep_links=keep_links
    )


def _copied(
    tools: TreeTools, making: Path, source: Path, origin: Origin, how: str, *, is_merged: bool = False
) -> MadeTree:
    new_tree(tools, making / "tree")
    with _noting(making, wanted=origin.commit is not None) as noted:
        done = copy_files(tools, origin, source, making / "tree", how, noted, is_merged=is_merged)
    really, reason = how, ""
    if how != "copy":
        really = "copy" if done.copied else "reflink"
        reason = "the file system cannot share blocks between these files" if done.copied else ""
    return MadeTree(really, is_subvolume=tools.subvolumes, reason=reason, done=done)


def _fetched(tools: TreeTools, making: Path, fetch: FetchCommit) -> MadeTree:
    new_tree(tools, making / "tree")
    fetch(making / "tree")
    give(making / "tree", tools.uid, 0o755)
    with _noting(making, wanted=True) as noted:
        task = Task("give", uid=tools.uid, made_numbers=True)
        done = work_on_tree(making / "tree", None, task, tools.nursery, noted=noted)
    return MadeTree("fill", is_subvolume=tools.subvolumes, done=done)


def _over(tools: TreeTools, folder: WorkspaceFolder, making: Path, origin: Origin) -> MadeTree:
    """An empty layer over a cached commit or a snapshot."""
    layers: tuple[str, ...] = (origin.as_layer,)
    if origin.commit is not None:
        layers = commit_layers(origin.commit)
        uid = os.geteuid() if tools.uid is None else tools.uid
        make_owners(folder, origin.commit, uid, making / "owners", tools.nursery, tools.progress)
    make_overlay_places(making, tools.uid)
    return MadeTree("overlay", "upper", layers)


def _over_layers(tools: TreeTools, folder: WorkspaceFolder, making: Path, origin: Origin, how: str) -> MadeTree:
    """Of a tree that is an overlay itself: over the same layers, with its uppermost one below or copied."""
    assert origin.path is not None
    if how == "overlay" and origin.as_layer and len(origin.layers) < MOST_LAYERS:
        make_overlay_places(making, tools.uid)
        return MadeTree("overlay", "upper", (origin.as_layer, *origin.layers))
    (making / "upper").mkdir()
    done = copy_files(tools, origin, origin.path, making / "upper", "reflink")
    make_overlay_places(making, tools.uid)
    reason = "" if how == "overlay" else "what it is cloned from is a layer over other files"
    return MadeTree("overlay", "upper", origin.layers, reason=reason, done=done)


def _merged(tools: TreeTools, folder: WorkspaceFolder, making: Path, origin: Origin) -> MadeTree:
    """A tree without layers, copied from what the layers are together."""
    assert origin.path is not None
    plain, tree = replace(origin, is_overlay=False), origin.path.with_name("tree")
    if origin.is_live and tree.is_mount():  # a layer that is written to cannot be mounted a second time
        return _copied(tools, making, tree, plain, "copy", is_merged=True)
    with MergedView(folder, origin, making / "merged") as view:
        made = _copied(tools, making, view, plain, "copy", is_merged=True)
    (making / "merged").rmdir()
    return made


@contextmanager
def _noting(making: Path, *, wanted: bool) -> Iterator[Noted | None]:
    """Keep what the files of a new tree are, where their content is known from a commit."""
    if not wanted:
        yield None
        return
    with IdentityWriter(making / "made.files") as writer:
        yield writer


class MergedView:
    """What an overlay holds, mounted to be read at `place`, while the block lasts."""

    def __init__(self, folder: WorkspaceFolder, origin: Origin, place: Path) -> None:
        assert origin.path is not None
        self._lowers = [origin.path, *(layer_path(folder, layer) for layer in origin.layers)]
        self._place = place

    def __enter__(self) -> Path:
        self._place.mkdir(exist_ok=True)
        mount_overlay(self._lowers, self._place)
        return self._place

    def __exit__(self, *_: object) -> None:
        unmount(self._place)


class LayersView(MergedView):
    """The same without its uppermost layer: what the workspace began with."""

    def __init__(self, folder: WorkspaceFolder, layers: Sequence[str], beside: Path) -> None:
        self._lowers = [layer_path(folder, layer) for layer in layers]
        self._place = beside / VIEWS / "began"
        self._place.parent.mkdir(mode=0o700, exist_ok=True)
        unmount(self._place)


def described(document: WorkspaceDocument, made: MadeTree) -> WorkspaceDocument:
    """The document of a workspace whose tree was made so."""
    return replace(document, how=made.how, reason=made.reason, layers=made.layers, is_subvolume=made.is_subvolume)
