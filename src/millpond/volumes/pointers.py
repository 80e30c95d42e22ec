"""Names for people: `branches/<project>/<dataset>/<branch>` leads to the commit that the branch had when it came."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from millpond.volumes.volume import CacheVolume, CommitPlace, explained, make_passable


@dataclass(frozen=True, slots=True)
class Pointer:
    project: str
    dataset: str
    branch: str
    place: CommitPlace


def point(volume: CacheVolume, pointers: Sequence[Pointer]) -> None:
    """Make these names lead where they should, each in one step; remove those that lead nowhere any more.

    A name that is not among them stays while its commit does: its branch has moved on, and the new one is not here
    yet. Jobs are given the paths of commits, never these.
    """
    with explained(volume):
        for pointer in pointers:
            _point(_path_of(volume, pointer), _target_of(pointer))
        for link in _links(volume.branches):
            if not link.exists():
                link.unlink(missing_ok=True)
                for directory in (link.parent, link.parent.parent):
                    with suppress(OSError):  # not empty
                        directory.rmdir()


def _path_of(volume: CacheVolume, pointer: Pointer) -> Path:
    return volume.branches.joinpath(*map(path_name, (pointer.project, pointer.dataset, pointer.branch)))


def path_name(text: str) -> str:
    """One name of a directory, whatever the text; most are left as they are."""
    return text.replace(".", "%2E") if text in (".", "..") else quote(text, safe=" @+,=")


def _target_of(pointer: Pointer) -> str:
    """Relative, so that it holds wherever the volume is mounted."""
    place = pointer.place
    return f"../../../commits/{place.project_id}/{place.dataset_id}/{place.commit_id}"


def _point(path: Path, target: str) -> None:
    with suppress(OSError):
        if os.readlink(path) == target:  # noqa: PTH115 - a text, not a path to be normalised
            return
    make_passable(path.parent)
    fresh = path.parent / f".{secrets.token_hex(8)}"
    fresh.symlink_to(target)
    fresh.replace(path)


def _links(branches: Path) -> Iterator[Path]:
    for path in sorted(branches.glob("*/*/*")):
        if path.is_symlink():
            yield path
