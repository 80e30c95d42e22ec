"""What a file system can do is tried out, and nothing is left of it."""

from __future__ import annotations

import os
from pathlib import Path

from millpond.volumes.probe import probe
from millpond.volumes.volume import CacheVolume, adopt


def test_an_ordinary_disk_can_do_all_that_is_needed(tmp_path: Path) -> None:
    volume = CacheVolume(root=tmp_path, id="v1")
    adopt(volume, "lake")
    found = probe(volume)
    assert found.link and found.symlink and found.chmod and found.times and found.case_sensitive
    assert (found.name_bytes, found.squashed) == (255, False)
    assert found.block_bytes % 512 == 0
    assert os.listdir(volume.probing) == []


def test_what_an_agent_left_that_was_killed_is_removed_by_the_next(tmp_path: Path) -> None:
    volume = CacheVolume(root=tmp_path, id="v1")
    adopt(volume, "lake")
    for name in ("old", "new"):
        (volume.probing / name).mkdir(parents=True)
        (volume.probing / f"{name}.renamed").write_bytes(b"probe")
    for path in volume.probing.glob("old*"):
        os.utime(path, (0, 0))
    probe(volume)
    assert sorted(os.listdir(volume.probing)) == ["new", "new.renamed"], "somebody else may be at it"
