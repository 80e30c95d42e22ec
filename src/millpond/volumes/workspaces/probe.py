"""What a volume can do for workspaces, tried out in a directory of its own."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from millpond.lake.nursery import Nursery
from millpond.volumes.remove import remove_tree
from millpond.volumes.volume import CacheVolume, explained
from millpond.volumes.workspaces import btrfs
from millpond.volumes.workspaces.overlay import why_no_overlay
from millpond.volumes.workspaces.removal import remove_made

_LIMIT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class WorkspaceFeatures:
    """See `VolumeFeatures` of the agent protocol."""

    subvolumes: bool
    overlay: bool
    overlay_problem: str
    quota: str


def probe_workspaces(volume: CacheVolume, *, uid: int | None) -> WorkspaceFeatures:
    """Try it out; `uid` is an account that something is given to, None for the agent's own."""
    with explained(volume):
        directory = volume.probing / secrets.token_hex(8)
        volume.probing.mkdir(exist_ok=True)
        directory.mkdir()
        try:
            subvolumes, quota = _try_subvolumes(directory)
            (directory / "overlay").mkdir()
            problem = why_no_overlay(directory / "overlay", os.geteuid() if uid is None else uid)
            return WorkspaceFeatures(subvolumes, not problem, problem, quota)
        finally:
            remove_tree(directory)


def _try_subvolumes(directory: Path) -> tuple[bool, str]:
    """True if subvolumes can be made, frozen, exchanged for each other and removed; and what limits their size."""
    one, other, nursery = directory / "one", directory / "other", Nursery()
    try:
        if not btrfs.is_btrfs(directory):
            return False, "measured"
        btrfs.create(one)
        (one / "file").write_bytes(b"probe")
        btrfs.snapshot(one, other, read_only=True)
        quota = "measured"
        with suppress(OSError):
            btrfs.limit(one, _LIMIT_BYTES)
            quota = "qgroup"
        is_whole = (other / "file").read_bytes() == b"probe"
        btrfs.destroy(one)
        return is_whole, quota
    except OSError:
        return False, "measured"
    finally:
        with suppress(OSError):
            remove_made(one, nursery)
            remove_made(other, nursery)
        nursery.close()
