"""A directory on a volume that a service has for as long as it runs: workers of clusters spill there."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from millpond.volumes.volume import CacheVolume

log = logging.getLogger(__name__)


def make(volume: CacheVolume, placement_id: str) -> Path | None:
    """New and empty, for its owner alone; None where the volume takes no directory now."""
    path = volume.scratch / placement_id
    try:
        volume.scratch.mkdir(mode=0o711, exist_ok=True)
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(mode=0o700)
    except OSError as error:
        log.warning("no scratch directory: placement=%s %s", placement_id, error)
        return None
    return path


def remove(path: str) -> None:
    shutil.rmtree(path, ignore_errors=True)
