"""Eviction frees everything, follows nothing, and may be interrupted and repeated."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from millpond.errors import VolumeProblem
from millpond.volumes import fill
from millpond.volumes.attempt import begin_attempt, empty_trash, set_aside_attempts
from millpond.volumes.evict import evict
from millpond.volumes.remove import remove_tree
from millpond.volumes.volume import CacheVolume, CommitPlace, adopt, make_passable

PLACE = CommitPlace("project", "dataset", "c" * 64)


def a_volume(root: Path) -> CacheVolume:
    volume = CacheVolume(root=root / "volume", id="v1")
    volume.root.mkdir(exist_ok=True)
    adopt(volume, "lake")
    return volume


def a_tree(root: Path) -> Path:
    """As a fill leaves it: read-only files, nested directories, a link that leads outside."""
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_bytes(b"data")
    (root / "a" / "b" / "file").chmod(0o444)
    (root / "empty").mkdir()
    return root


def test_an_evicted_commit_is_gone_with_its_bytes(tmp_path: Path) -> None:
    volume = a_volume(tmp_path)
    a_tree(volume.commit(PLACE))
    assert evict(begin_attempt(volume, PLACE, 7))
    assert volume.published() == []
    assert os.listdir(volume.attempts) == []


def test_the_directory_of_a_dataset_goes_with_its_last_commit(tmp_path: Path) -> None:
    volume, other = a_volume(tmp_path), CommitPlace(PLACE.project_id, PLACE.dataset_id, "d" * 64)
    for place in (PLACE, other):
        a_tree(volume.commit(place))
    dataset = volume.commit(PLACE).parent
    assert evict(begin_attempt(volume, PLACE, 7))
    assert dataset.is_dir()
    assert evict(begin_attempt(volume, other, 8))
    assert not dataset.exists()
    assert dataset.parent.is_dir(), "the door of a project stays: whoever fills has closed it before"


def test_a_commit_is_published_while_the_last_other_of_its_dataset_is_evicted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume, other = a_volume(tmp_path), CommitPlace(PLACE.project_id, PLACE.dataset_id, "d" * 64)
    a_tree(volume.commit(PLACE))
    attempt = begin_attempt(volume, other, 8)
    a_tree(attempt.tree)
    evictions = iter([7, 9])

    def passable(directory: Path) -> None:
        make_passable(directory)
        if (number := next(evictions, None)) is not None:
            assert evict(begin_attempt(volume, PLACE, number))

    monkeypatch.setattr(fill, "make_passable", passable)
    fill.publish(attempt)
    assert volume.published() == [other]
    assert (volume.commit(other) / "a" / "b" / "file").read_bytes() == b"data"


def test_evicting_what_is_not_there_is_success(tmp_path: Path) -> None:
    volume = a_volume(tmp_path)
    assert evict(begin_attempt(volume, PLACE, 7))
    assert evict(begin_attempt(volume, PLACE, 7))


def test_an_interrupted_eviction_is_finished_by_the_next(tmp_path: Path) -> None:
    volume = a_volume(tmp_path)
    a_tree(begin_attempt(volume, PLACE, 7).tree)
    a_tree(volume.commit(PLACE))
    assert evict(begin_attempt(volume, PLACE, 7))
    assert os.listdir(volume.attempts) == []


def test_links_are_removed_and_never_followed(tmp_path: Path) -> None:
    outside = a_tree(tmp_path / "outside")
    tree = a_tree(tmp_path / "trash" / "tree")
    (tree / "link").symlink_to(outside)
    top = tmp_path / "trash" / "link"
    top.symlink_to(outside)
    assert remove_tree(tree) and remove_tree(top)
    assert os.listdir(tmp_path / "trash") == []
    assert (outside / "a" / "b" / "file").read_bytes() == b"data"


def test_directories_without_permissions_are_no_obstacle(tmp_path: Path) -> None:
    tree = a_tree(tmp_path / "trash" / "tree")
    (tree / "a" / "b").chmod(0o000)
    (tree / "a").chmod(0o500)
    assert remove_tree(tree)


def test_depth_does_not_matter(tmp_path: Path) -> None:
    """Deeper than Python recurses, and longer than any path may be."""
    top = tmp_path / "trash" / "deep"
    top.mkdir(parents=True)
    descriptor = os.open(top, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("directory", dir_fd=descriptor)
        below = os.open("directory", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
    assert remove_tree(top)
    assert os.listdir(tmp_path / "trash") == []


def test_attempts_that_are_not_wanted_go(tmp_path: Path) -> None:
    volume = a_volume(tmp_path)
    kept = [
        a_tree(begin_attempt(volume, CommitPlace("project", "dataset", f"{number}" * 32), number).tree)
        for number in (3, 4, 11)
    ][1]
    (volume.attempts / "7").mkdir()  # as earlier versions named them
    set_aside_attempts(volume, wanted={4})
    assert os.listdir(volume.attempts) == [kept.parent.name]
    assert len(os.listdir(volume.trash)) == 3
    assert empty_trash(volume)
    assert os.listdir(volume.trash) == []
    assert (kept / "a" / "b" / "file").exists()


def test_an_eviction_that_was_overtaken_evicts_nothing(tmp_path: Path) -> None:
    """A process that was stopped before its rename wakes up when the commit has been evicted and filled anew."""
    volume = a_volume(tmp_path)
    stopped = begin_attempt(volume, PLACE, 7)
    assert evict(begin_attempt(volume, PLACE, 8))
    a_tree(volume.commit(PLACE))
    with pytest.raises(VolumeProblem):
        evict(stopped)
    assert (volume.commit(PLACE) / "a" / "b" / "file").exists()


def test_nothing_was_evicted_from_a_volume_that_is_not_there_any_more(tmp_path: Path) -> None:
    """Unmounted after the attempt began: what is missing below the mount point is not gone."""
    volume = a_volume(tmp_path)
    a_tree(volume.commit(PLACE))
    attempt = begin_attempt(volume, PLACE, 7)
    volume.root.rename(tmp_path / "unmounted")
    volume.root.mkdir()
    with pytest.raises(VolumeProblem, match="identity file is missing"):
        evict(attempt)
    volume.root.rmdir()
    (tmp_path / "unmounted").rename(volume.root)
    assert volume.published() == [PLACE]
    assert evict(begin_attempt(volume, PLACE, 7))
    assert volume.published() == []
