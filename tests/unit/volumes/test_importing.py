"""An export becomes cached commits of a volume, whole or not at all, without a server."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from millpond.errors import BadFormat, Conflict, Corrupt, DiskFull, VolumeProblem
from millpond.lake.exports.manifest import Side
from millpond.lake.exports.reading import ExportFile
from millpond.lake.target import Target
from millpond.testing.lake import Thing, read_things
from millpond.volumes.groups import set_apart
from millpond.volumes.importing import commits_on, import_onto
from millpond.volumes.volume import CacheVolume, adopt
from tests.unit.lake.export_files import Exporter

FIRST = [Thing(b"a/b.txt", b"b" * 3000), Thing(b"empty"), Thing(b"large", os.urandom(3_000_000))]
SECOND = [Thing(b"a/b.txt", b"b" * 3000), Thing(b"a/new.txt", b"n" * 4000), *FIRST[1:]]


@pytest.fixture
def exporter(tmp_path: Path) -> Exporter:
    return Exporter(tmp_path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = tmp_path / "volume"
    found.mkdir()
    return found


def bring(path: Path, root: Path) -> list[bool]:
    with ExportFile(path) as file:
        return [one.is_new for one in import_onto(root, file)]


def test_an_empty_directory_becomes_a_volume_with_the_commits(exporter: Exporter, root: Path) -> None:
    first, second = exporter.commit(FIRST), exporter.commit(SECOND)
    path = exporter.export(first, second)
    assert bring(path, root) == [True, True]
    published = root / "commits/project1/xray1"
    assert read_things(published / first.id) == FIRST
    assert read_things(published / second.id) == SECOND
    assert (root / "branches/default/xray/main").resolve() == published / second.id
    assert stat.S_IMODE((published / second.id / "a/b.txt").stat().st_mode) == 0o444
    # What both have is stored once.
    assert (published / first.id / "large").stat().st_ino == (published / second.id / "large").stat().st_ino
    assert os.listdir(root / ".millpond/imports") == []
    assert bring(path, root) == [False, False]
    assert commits_on(root).commits == {"xray1": sorted([first.id, second.id])}


def test_only_what_the_volume_lacks_is_needed(exporter: Exporter, root: Path) -> None:
    first, second = exporter.commit(FIRST), exporter.commit(SECOND)
    bring(exporter.export(first), root)
    path = exporter.export(second, base=first, side=Side.VOLUME)
    assert path.stat().st_size < 20_000
    assert bring(path, root) == [True]
    assert read_things(root / "commits/project1/xray1" / second.id) == SECOND


def test_a_base_that_is_not_there_is_named(exporter: Exporter, root: Path) -> None:
    first, second = exporter.commit(FIRST), exporter.commit(SECOND)
    with pytest.raises(Conflict, match=f"differs from commit {first.id[:12]}"):
        bring(exporter.export(second, base=first, side=Side.VOLUME), root)
    assert commits_on(root).commits == {}
    with pytest.raises(Conflict, match="what a server lacked"):
        bring(exporter.export(second, base=first, side=Side.SERVER), root)


def test_a_base_that_was_altered_is_not_built_on(exporter: Exporter, root: Path) -> None:
    first, second = exporter.commit(FIRST), exporter.commit(SECOND)
    bring(exporter.export(first), root)
    torn = root / "commits/project1/xray1" / first.id / "large"
    torn.chmod(0o644)
    torn.write_bytes(b"altered")
    with pytest.raises(Corrupt, match="Cannot make xray@main"):
        bring(exporter.export(second, base=first, side=Side.VOLUME), root)
    assert not (root / "commits/project1/xray1" / second.id).exists()


def test_a_volume_of_another_lake_or_with_foreign_files_is_left_alone(exporter: Exporter, tmp_path: Path) -> None:
    path = exporter.export(exporter.commit(FIRST))
    other = CacheVolume(tmp_path / "other", "v1")
    other.root.mkdir()
    adopt(other, "lake2")
    with pytest.raises(VolumeProblem, match="another lake"):
        bring(path, other.root)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("mine")
    with pytest.raises(VolumeProblem, match="not empty"):
        bring(path, foreign)
    with pytest.raises(VolumeProblem, match="does not exist"):
        bring(path, tmp_path / "nowhere")
    with pytest.raises(VolumeProblem, match="not a volume"):
        commits_on(foreign)


def test_a_full_disk_leaves_nothing_behind(exporter: Exporter, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = exporter.export(exporter.commit(FIRST))

    def full(*_: object) -> None:
        raise DiskFull("No space left on device.") from OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Target, "write_part", full)
        with pytest.raises(DiskFull, match="full"):
            bring(path, root)
    assert commits_on(root).commits == {}
    assert os.listdir(root / ".millpond/imports") == []
    assert bring(path, root) == [True]


def test_a_commit_that_cannot_fit_is_refused_first(
    exporter: Exporter, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = exporter.export(exporter.commit(FIRST))
    space = CacheVolume(root, "").space()
    monkeypatch.setattr(CacheVolume, "space", lambda volume: type(space)(space.total_bytes, 1_000_000))
    with pytest.raises(DiskFull, match=r"takes 3\.0 MB, and 1\.0 MB are free"):
        bring(path, root)


def test_a_new_project_is_closed_where_projects_are_kept_apart(exporter: Exporter, root: Path) -> None:
    volume = CacheVolume(root, "v1")
    adopt(volume, "lake1")
    set_apart(volume, "project0", os.getgid())
    bring(exporter.export(exporter.commit(FIRST)), root)
    assert stat.S_IMODE((volume.commits / "project1").stat().st_mode) == 0o700


def test_a_tree_that_the_commit_does_not_name_is_refused(exporter: Exporter, root: Path) -> None:
    """A file that someone made by hand cannot put other files in the place of a commit."""
    first, second = exporter.commit(FIRST), exporter.commit(SECOND)
    path = exporter.export(first, second)
    with ExportFile(path) as file:
        lying = replace(file.manifest.commits[0], tree=second.tree)
        file.manifest = replace(file.manifest, commits=[lying])
        with pytest.raises(BadFormat, match="names another tree"):
            import_onto(root, file)
    assert commits_on(root).commits == {}


_KILLED = """
import os, signal, sys
from pathlib import Path
from millpond.lake.exports.reading import ExportFile
from millpond.volumes import fill, importing
def dies(attempt):
    os.kill(os.getpid(), signal.SIGKILL)
fill.publish = dies
with ExportFile(Path(sys.argv[1])) as file:
    importing.import_onto(Path(sys.argv[2]), file)
"""


def test_an_import_that_was_killed_goes_on(exporter: Exporter, root: Path) -> None:
    commit = exporter.commit(FIRST)
    path = exporter.export(commit)
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(path), str(root)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert commits_on(root).commits == {}
    [left] = (root / ".millpond/imports").iterdir()
    made_before = (left / "tree/large").stat().st_ino
    assert bring(path, root) == [True]
    published = root / "commits/project1/xray1" / commit.id
    assert read_things(published) == FIRST
    assert (published / "large").stat().st_ino == made_before
    assert os.listdir(root / ".millpond/imports") == []
