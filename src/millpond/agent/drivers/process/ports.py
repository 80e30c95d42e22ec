"""Which ports of this machine a placement listens at: the kernel's table of sockets held against its processes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_LISTEN = "0A"
_TABLES = (("/proc/net/tcp", "127.0.0.1"), ("/proc/net/tcp6", "::1"))


def listening_at(port: int, processes: Iterable[int]) -> str | None:
    """The local address by which `port` is reached, if one of these processes listens there; None otherwise."""
    found = {inode: address for table, address in _TABLES for inode in _listeners(Path(table), port)}
    if not found:
        return None
    for pid in processes:
        for inode in _sockets(pid):
            if inode in found:
                return found[inode]
    return None


def _listeners(table: Path, port: int) -> list[int]:
    """Inodes of the sockets that listen at `port`."""
    try:
        lines = table.read_text().splitlines()[1:]
    except FileNotFoundError:  # a machine without IPv6
        return []
    fields = [line.split() for line in lines]
    return [int(one[9]) for one in fields if one[3] == _LISTEN and int(one[1].rpartition(":")[2], 16) == port]


def _sockets(pid: int) -> list[int]:
    found = []
    try:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            target = str(descriptor.readlink())
            if target.startswith("socket:["):
                found.append(int(target[8:-1]))
    except OSError:  # ended meanwhile
        return found
    return found
