"""Outputs that jobs have just made are filled from the disk: found by digest, copied, checked, forgotten in time."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from millpond.agent import kept_outputs
from millpond.agent.kept_outputs import KEPT_SECONDS, FilesNoted, KeptOutputs
from millpond.lake.push import PushOptions, push_directory
from millpond.model.fill_source import SourceKind
from millpond.testing.lake import DirectLake, Thing, read_things, write_things
from millpond.volumes.attempt import begin_attempt
from millpond.volumes.fill import Filled, fill
from millpond.volumes.volume import CacheVolume, CommitPlace, adopt

OUTPUTS = [
    Thing(b"model/large", random.Random(1).randbytes(3_000_000)),
    Thing(b"model/tool", b"#!/bin/sh", executable=True),
    Thing(b"report/empty", b""),
    Thing(b"report/text", b"0.93"),
]
# What the next step reads: one output, without its name in front.
MODEL = [replace(thing, path=thing.path.removeprefix(b"model/")) for thing in OUTPUTS[:2]]
PLACE = CommitPlace("project", "dataset", "1" * 64)


class Site:
    """A job has committed its outputs, which the agent keeps; the volume is empty."""

    def __init__(self, root: Path) -> None:
        self.lake, self.now = DirectLake(), 0.0
        self.volume = CacheVolume(root=root / "volume", id="v1")
        self.volume.root.mkdir()
        adopt(self.volume, "lake")
        self.output, self.kept = root / "output", KeptOutputs(root / "kept", lambda: self.now)
        noted = FilesNoted()
        write_things(self.output, OUTPUTS)
        self.tree = self.push(self.output, PushOptions(note=noted))
        self.noted = noted.files
        self.kept.keep("vision", "p1", self.output, noted.files)

    def push(self, directory: Path, options: PushOptions | None = None) -> str:
        root = push_directory(directory, self.lake, options=options).tree.root
        self.lake.accept(root)
        self.lake.ranges.clear()
        return root

    def fill(self, tree: str, project: str = "vision") -> Filled:
        return fill(begin_attempt(self.volume, PLACE, 1), tree, self.lake, made_here=self.kept.find(project))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_outputs_are_filled_from_the_disk(site: Site) -> None:
    filled = site.fill(site.tree)
    assert read_things(site.volume.commit(PLACE)) == OUTPUTS
    assert (filled.gave(SourceKind.LAKE).bytes, filled.gave(SourceKind.DISK).files, site.lake.ranges) == (0, 3, [])


def test_one_output_of_them_under_other_paths(site: Site, tmp_path: Path) -> None:
    write_things(tmp_path / "model", MODEL)
    filled = site.fill(site.push(tmp_path / "model"))
    assert read_things(site.volume.commit(PLACE)) == MODEL
    assert (filled.gave(SourceKind.LAKE).bytes, site.lake.ranges) == (0, [])


def test_what_changed_since_comes_from_the_lake(site: Site, tmp_path: Path) -> None:
    with open(tmp_path / "kept/p1/model/large", "r+b") as file:
        file.write(b"other")
    filled = site.fill(site.tree)
    assert read_things(site.volume.commit(PLACE)) == OUTPUTS
    assert filled.gave(SourceKind.LAKE).bytes > 0 and filled.gave(SourceKind.DISK).files == 2


def test_a_kept_file_is_never_linked(site: Site, tmp_path: Path) -> None:
    site.fill(site.tree)
    published = site.volume.commit(PLACE) / "model/large"
    assert published.stat().st_ino != (tmp_path / "kept/p1/model/large").stat().st_ino


def test_another_project_gets_nothing(site: Site) -> None:
    assert site.fill(site.tree, project="speech").gave(SourceKind.DISK).files == 0
    assert site.lake.ranges


def test_outputs_are_forgotten_in_time(site: Site, tmp_path: Path) -> None:
    site.now = KEPT_SECONDS
    site.kept.forget_old()
    assert os.listdir(tmp_path / "kept") == []
    assert site.fill(site.tree).gave(SourceKind.DISK).files == 0


def test_outputs_give_way_on_a_full_disk(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_outputs, "LEAST_FREE", 1.1)
    site.kept.forget_old()
    assert os.listdir(tmp_path / "kept") == []


def test_a_restart_forgets_all(site: Site, tmp_path: Path) -> None:
    KeptOutputs(tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
    assert site.fill(site.tree).gave(SourceKind.LAKE).bytes, "what is gone comes from the lake"


def test_outputs_with_too_many_files_are_not_kept(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_outputs, "MOST_FILES", 2)
    noted = FilesNoted()
    rows = [(digest, 1, 1, 1, digest) for digest in (b"a", b"b", b"c")]
    noted(rows[:2])
    noted(rows[2:])
    assert noted.files == {}
