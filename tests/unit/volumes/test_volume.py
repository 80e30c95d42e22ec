"""A volume is used only when it is the right one and can be written to; the rest is said in words."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from millpond.errors import DiskFull, MillError, VolumeProblem
from millpond.volumes.volume import CacheVolume, CommitPlace, adopt, check, explain, recognise

PLACE = CommitPlace("project", "dataset", "c" * 64)
NOBODY = 65_534


def a_volume(root: Path, volume_id: str = "v1") -> CacheVolume:
    return CacheVolume(root=root, id=volume_id)


def an_adopted_volume(root: Path) -> CacheVolume:
    volume = a_volume(root)
    root.mkdir(exist_ok=True)
    adopt(volume, "lake")
    return volume


def test_an_empty_directory_becomes_a_volume(tmp_path: Path) -> None:
    volume = an_adopted_volume(tmp_path / "new")
    adopt(volume, "lake")
    check(volume)
    assert json.loads(volume.identity.read_text()) == {"format": 1, "lake": "lake", "volume": "v1"}
    assert volume.published() == []
    assert volume.space().total_bytes >= volume.space().free_bytes > 0


def test_several_look_at_a_volume_at_once(tmp_path: Path) -> None:
    volume = an_adopted_volume(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(lambda _: check(volume), range(400)):
            pass
    assert os.listdir(volume.probing) == []


def test_what_a_fresh_file_system_holds_is_not_foreign(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    adopt(a_volume(tmp_path), "lake")


def test_an_interrupted_adoption_is_finished(tmp_path: Path) -> None:
    (tmp_path / ".millpond").mkdir()
    check(an_adopted_volume(tmp_path))


def test_a_volume_that_lost_its_identity_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    volume = an_adopted_volume(tmp_path)
    volume.commit(PLACE).mkdir(parents=True)
    volume.identity.unlink()
    with pytest.raises(VolumeProblem, match="not empty"):
        adopt(volume, "lake")


def test_a_directory_with_foreign_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(VolumeProblem, match=r"not empty.*thesis\.tex"):
        adopt(a_volume(tmp_path), "lake")
    assert os.listdir(tmp_path) == ["thesis.tex"]


def test_a_mistyped_mount_point_is_not_made_into_a_volume(tmp_path: Path) -> None:
    with pytest.raises(VolumeProblem, match="does not exist") as refused:
        adopt(a_volume(tmp_path / "nfs0"), "lake")
    assert "mkdir" in (refused.value.hint or "")
    assert os.listdir(tmp_path) == []


def test_a_file_is_no_directory_for_a_volume(tmp_path: Path) -> None:
    path = tmp_path / "disk.img"
    path.write_bytes(b"")
    with pytest.raises(VolumeProblem, match="is not a directory"):
        adopt(CacheVolume(path, "v1"), "lake")


def test_what_the_file_system_keeps_for_itself_is_not_taken_by_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = os.statvfs_result((4096, 4096, 1000, 300, 250, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: found)
    space = a_volume(tmp_path).space()
    assert space.free_bytes == 250 * 4096
    assert space.total_bytes - space.free_bytes == 700 * 4096


def test_a_directory_that_vanished(tmp_path: Path) -> None:
    volume = an_adopted_volume(tmp_path / "v")
    volume.root.rename(tmp_path / "elsewhere")
    with pytest.raises(VolumeProblem, match="does not exist"):
        check(volume)


def test_an_empty_mount_point_is_not_the_volume(tmp_path: Path) -> None:
    with pytest.raises(VolumeProblem, match="identity file is missing"):
        check(a_volume(tmp_path))
    assert os.listdir(tmp_path) == []


def test_another_volume_at_the_same_path(tmp_path: Path) -> None:
    an_adopted_volume(tmp_path)
    with pytest.raises(VolumeProblem, match=r"another volume \(v1\)"):
        check(a_volume(tmp_path, "v2"))


@pytest.mark.parametrize("is_empty", [True, False])
def test_a_volume_that_somebody_has_is_not_taken_over(tmp_path: Path, is_empty: bool) -> None:
    """Neither by another server nor by the same one, which sees it at another path; filled, or about to be."""
    first = an_adopted_volume(tmp_path)
    if not is_empty:
        first.commit(PLACE).mkdir(parents=True)
    second = a_volume(tmp_path, "v2")
    with pytest.raises(VolumeProblem, match=r"another volume \(v1\)"):
        adopt(second, "lake", others=["v1"])
    with pytest.raises(VolumeProblem, match="another volume of another lake") as refused:
        adopt(second, "other lake", others=[])
    assert "empty the directory" in (refused.value.hint or "")
    check(first)


def test_the_directory_of_a_removed_and_empty_volume_may_be_used_again(tmp_path: Path) -> None:
    left = an_adopted_volume(tmp_path).commit(PLACE)
    left.parent.mkdir(parents=True)  # what evictions leave: directories of projects and datasets
    adopt(a_volume(tmp_path, "v2"), "lake", others=[])
    check(a_volume(tmp_path, "v2"))


@pytest.mark.parametrize("text", ["", "[]", '{"volume": "v1"}', "\x00"])
def test_a_damaged_identity_file(tmp_path: Path, text: str) -> None:
    volume = an_adopted_volume(tmp_path)
    volume.identity.write_text(text)
    with pytest.raises(VolumeProblem, match="Cannot read"):
        check(volume)


def test_a_newer_format_is_left_alone(tmp_path: Path) -> None:
    volume = an_adopted_volume(tmp_path)
    volume.identity.write_text(json.dumps({"format": 2, "volume": "v1"}))
    with pytest.raises(VolumeProblem, match="newer version"):
        check(volume)


def test_published_commits_are_listed_and_foreign_names_are_not(tmp_path: Path) -> None:
    volume = an_adopted_volume(tmp_path)
    volume.commit(PLACE).mkdir(parents=True)
    (volume.commits / "README").touch()
    (tmp_path / "somebody-elses").mkdir()
    assert volume.published() == [PLACE]
    check(volume)


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (errno.ENOSPC, DiskFull, "full"),
        (errno.EDQUOT, DiskFull, "full"),
        (errno.EROFS, VolumeProblem, "read-only"),
        (errno.EACCES, VolumeProblem, "cannot write"),
        (errno.ESTALE, VolumeProblem, "missing or changed"),
        (errno.EIO, VolumeProblem, "Input/output error"),
    ],
)
def test_what_the_system_says_becomes_words(tmp_path: Path, number: int, kind: type, words: str) -> None:
    error = explain(OSError(number, os.strerror(number)), a_volume(tmp_path))
    assert type(error) is kind
    assert words in error.message and str(tmp_path) in error.message


def test_root_is_not_told_to_give_the_directory_to_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for user, words in ((0, "no_root_squash"), (1000, "Give the directory")):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        assert words in (explain(PermissionError(errno.EPERM, "no"), a_volume(tmp_path)).hint or "")


def test_a_volume_of_a_database_that_is_gone_is_taken_over_with_its_commits(tmp_path: Path) -> None:
    an_adopted_volume(tmp_path).commit(PLACE).mkdir(parents=True)
    new = a_volume(tmp_path, "v2")
    adopt(new, "lake", others=["v3"])
    check(new)
    assert new.published() == [PLACE]


def as_nobody(call: Callable[[], None]) -> str:
    """What `call` is told in a process of another user; nothing when it succeeds."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        told = b"it did not end"
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            call()
            told = b""
        except MillError as error:
            told = error.message.encode()
        finally:
            os.write(writing, told)
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return told


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_a_directory_of_somebody_else_is_used_once_it_is_given_to_the_agent() -> None:
    # Not below what pytest makes, which only its own user may enter.
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        volume = an_adopted_volume(root / "volume")
        assert as_nobody(lambda: check(volume)) == f"The agent, which runs as nobody, cannot write to {volume.root}."
        volume.root.chmod(0o700)
        assert (
            as_nobody(lambda: recognise(volume)) == f"The agent, which runs as nobody, cannot write to {volume.root}."
        )
        for path in (volume.root, *volume.root.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        assert as_nobody(lambda: check(volume)) == ""
