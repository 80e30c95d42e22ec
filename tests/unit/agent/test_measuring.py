from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from millpond.agent import measuring
from millpond.agent.measuring import Measuring
from millpond.volumes.measure import Share
from millpond.volumes.volume import CacheVolume, CommitPlace
from millpond.wire.desired import DesiredMeasure, DesiredVolume

LONG = 10.0


class World:
    """A volume on which every look takes long, and what was looked at."""

    def __init__(self, root: Path) -> None:
        self.now = 0.0
        self.looks: list[tuple[str, int]] = []
        self._root = root

    def healthy(self, volume_id: str) -> CacheVolume:
        return CacheVolume(self._root, volume_id)

    def look(self, volume: CacheVolume, places: Sequence[CommitPlace]) -> list[Share]:
        self.looks.append((places[0].project_id, len(places)))
        self.now += LONG
        return []

    async def looked(self, *expected: tuple[str, int]) -> None:
        async with asyncio.timeout(10):
            while self.looks != list(expected):
                await asyncio.sleep(0.001)


def wanted(**commits: int) -> list[DesiredVolume]:
    measure = [
        DesiredMeasure(project_id=project, commits=[("d", f"c{number}") for number in range(count)])
        for project, count in commits.items()
    ]
    return [DesiredVolume(id="v", path="/v", new=False, lake="", measure=measure)]


def test_a_project_that_takes_long_rests_before_it_is_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "_LOOK_SECONDS", 0.001)
    asyncio.run(_measure(World(tmp_path)))


async def _measure(world: World) -> None:
    measure = Measuring(world, lambda: None, look=world.look, clock=lambda: world.now)
    measure.reconcile(wanted(large=1))
    await world.looked(("large", 1))
    assert [found.project_id for found in measure.shares_on("v")] == ["large"]

    measure.reconcile(wanted(large=2, other=1))
    await world.looked(("large", 1), ("other", 1))
    for _ in range(20):
        await asyncio.sleep(0.001)
    assert world.looks == [("large", 1), ("other", 1)], "it is at rest"

    world.now += 9 * LONG
    await world.looked(("large", 1), ("other", 1), ("large", 2))
    measure.end()
