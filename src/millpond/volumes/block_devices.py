"""The disks below a directory: what the kernel can limit the throughput of."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SYS_BLOCK = Path("/sys/dev/block")
_SYS_BTRFS = Path("/sys/fs/btrfs")
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "glusterfs", "9p", "virtiofs"})


@dataclass(frozen=True, slots=True)
class BlockDevices:
    """Numbers like `8:0`, of whole disks; none with the `problem`, a part of a sentence."""

    numbers: tuple[str, ...]
    problem: str | None = None


def block_devices(path: Path) -> BlockDevices:
    """The disks that the file system of `path` lies on. OSError where it cannot be looked at."""
    number = path.stat().st_dev
    if os.major(number):
        return BlockDevices((_whole(_written(number)),))
    kind, source = _mounted(_written(number))
    found = tuple(dict.fromkeys(_whole(one) for one in _named(kind, source)))
    if found:
        return BlockDevices(found)
    where = "on a file server" if kind in _NETWORK else f"on a {kind or 'nameless'} file system without a disk"
    return BlockDevices((), f"it lies {where}")


def _named(kind: str, source: str) -> Iterator[str]:
    """The numbers of a file system that has none of a disk itself, as btrfs."""
    if not source.startswith("/dev/") or not Path(source).is_block_device():
        return
    own = _written(Path(source).stat().st_rdev)
    yield own
    if kind == "btrfs":
        for one in _SYS_BTRFS.glob("*/devices"):
            numbers = [(path / "dev").read_text().strip() for path in one.iterdir()]
            if own in numbers:
                yield from numbers


def _mounted(number: str) -> tuple[str, str]:
    """The kind of the file system with this number, and what is mounted."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if before.split()[2] == number:
            kind, source, *_ = after.split()
            return kind, source
    return "", ""


def _whole(number: str) -> str:
    """The disk of a partition: only whole disks have limits."""
    entry = Path(os.path.realpath(_SYS_BLOCK / number))
    return (entry.parent / "dev").read_text().strip() if (entry / "partition").exists() else number


def _written(number: int) -> str:
    return f"{os.major(number)}:{os.minor(number)}"
