"""Volumes of a site as the archive of request logs sees them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from millpond.volumes.volume import CacheVolume


@dataclass
class _Watched:
    volume: CacheVolume
    tended: bool


class FakeVolumes:
    """One volume, which may stop working or be looked after by another agent."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self._volume = CacheVolume(root, "v")
        self.works = self.tended = True

    def working(self) -> list[_Watched]:
        return [_Watched(self._volume, self.tended)] if self.works else []
