"""Names of branches go with the commits that they lead to, whichever is told first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from millpond.agent.branch_pointers import Pointing
from millpond.agent.volumes import Volumes
from millpond.volumes.volume import CacheVolume, CommitPlace
from millpond.wire.desired import DesiredPointer, DesiredVolume
from millpond.wire.observed import CommitSeen


class Disk:
    """The volumes of an agent: one, and what is published there."""

    def __init__(self, root: Path) -> None:
        self.volume = CacheVolume(root=root, id="v1")

    def healthy(self, volume_id: str) -> CacheVolume:
        return self.volume

    def published(self, volume_id: str) -> Sequence[CommitSeen]:
        return [CommitSeen(project_id=p, dataset_id=d, commit_id=c) for p, d, c in map(_parts, self.volume.published())]


def _parts(place: CommitPlace) -> tuple[str, str, str]:
    return place.project_id, place.dataset_id, place.commit_id


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def test_a_name_whose_commit_goes_after_the_name_was_given_up_goes_too(disk: Disk) -> None:
    commit = disk.volume.commit(CommitPlace("p", "d", "c"))
    commit.mkdir(parents=True)
    link = disk.volume.branches / "team/xray/main"
    told = {"project": "team", "dataset": "xray", "branch": "main"}
    pointer = DesiredPointer(**told, project_id="p", dataset_id="d", commit_id="c")

    async def scene() -> None:
        pointing = Pointing(cast(Volumes, disk))
        await carry_out(pointing, [pointer])
        assert link.resolve() == commit.resolve()
        await carry_out(pointing, [])
        assert link.is_symlink(), "its commit is still there"
        commit.rmdir()
        await carry_out(pointing, [])
        assert not link.is_symlink()

    asyncio.run(scene())


async def carry_out(pointing: Pointing, pointers: list[DesiredPointer]) -> None:
    pointing.reconcile([DesiredVolume(id="v1", path="/", new=False, lake="l", tended=True, pointers=pointers)])
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=30)
