"""The door of a project's directory, and who may pass it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from millpond.volumes.groups import set_apart
from millpond.volumes.probe import probe
from millpond.volumes.volume import CacheVolume, adopt

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give directories to other groups")
GROUP = 70001


@pytest.fixture
def volume(tmp_path: Path) -> CacheVolume:
    made = CacheVolume(tmp_path, "v1")
    adopt(made, "lake")
    return made


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


@needs_root
def test_only_the_projects_group_enters(volume: CacheVolume) -> None:
    set_apart(volume, "project1", GROUP)
    door = volume.commits / "project1"
    assert (mode(door), door.stat().st_gid, door.stat().st_uid) == (0o750, GROUP, os.geteuid())
    assert (mode(volume.commits), mode(volume.identity.parent)) == (0o711, 0o700)


@needs_root
def test_an_older_volume_is_put_right_and_what_is_in_it_stays(volume: CacheVolume) -> None:
    tree = volume.commits / "project1" / "d" / "c"
    tree.mkdir(parents=True)
    (tree / "file").write_text("x")
    (tree / "file").chmod(0o555)
    names = volume.branches / "team" / "xray"
    names.mkdir(parents=True)
    set_apart(volume, "project1", GROUP, ("team", "other"))
    set_apart(volume, "project1", GROUP, ("team", "other"))
    assert (mode(tree / "file"), mode(tree)) == (0o555, 0o755)
    assert (mode(volume.branches), mode(names.parent), names.parent.stat().st_gid) == (0o711, 0o750, GROUP)


@needs_root
def test_whether_groups_can_be_given_is_tried_out(volume: CacheVolume) -> None:
    assert probe(volume, group=GROUP).groups


def test_nothing_is_given_where_nobody_asks(volume: CacheVolume) -> None:
    assert not probe(volume).groups
