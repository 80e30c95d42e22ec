"""The name of a branch leads to its newest commit that is there, and to nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from millpond.volumes.pointers import Pointer, point
from millpond.volumes.volume import CacheVolume, CommitPlace

OLD, NEW = (CommitPlace("p1", "d1", letter * 64) for letter in "ab")


def a_volume(root: Path) -> CacheVolume:
    volume = CacheVolume(root=root, id="v1")
    for place in (OLD, NEW):
        volume.commit(place).mkdir(parents=True)
        (volume.commit(place) / "which").write_text(place.commit_id[0])
    return volume


def main_at(place: CommitPlace) -> Pointer:
    return Pointer("team", "xray", "main", place)


def test_a_branch_moves_and_stays_until_its_commit_goes(tmp_path: Path) -> None:
    volume = a_volume(tmp_path)
    which = tmp_path / "branches/team/xray/main/which"
    point(volume, [main_at(OLD)])
    assert which.read_text() == "a"
    point(volume, [main_at(NEW)])
    assert which.read_text() == "b"
    point(volume, [])
    assert which.read_text() == "b", "the branch has moved on; what was there is still there"
    volume.commit(NEW).rename(tmp_path / "evicted")
    point(volume, [])
    assert os.listdir(volume.branches) == []


def test_names_of_branches_are_one_name_each(tmp_path: Path) -> None:
    volume = a_volume(tmp_path)
    point(volume, [Pointer("team", "xray", branch, NEW) for branch in ("a", "a/b", "..", "%2F")])
    assert sorted(os.listdir(volume.branches / "team/xray")) == ["%252F", "%2E%2E", "a", "a%2Fb"]
