"""Who has a port that is wanted: found in /proc, as far as the account of this process may look there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_LISTENING = "0A"


def port_taken(port: int, proc: Path = Path("/proc")) -> str | None:
    """A sentence that names the port and the process that listens there; None if nobody seems to."""
    sockets = set(_listening(port, proc))
    if not sockets:
        return None
    holder = _holder({f"socket:[{one}]" for one in sockets}, proc)
    return f"port {port} is taken by {holder or 'a process of another account'}"


def _listening(port: int, proc: Path) -> Iterator[str]:
    """Inodes of sockets that listen at this port, at whatever address."""
    for table in ("net/tcp", "net/tcp6"):
        try:
            lines = (proc / table).read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for columns in map(str.split, lines):
            if columns[3] == _LISTENING and int(columns[1].rpartition(":")[2], 16) == port:
                yield columns[9]


def _holder(links: set[str], proc: Path) -> str | None:
    for process in proc.glob("[0-9]*"):
        try:
            if any(str(each.readlink()) in links for each in (process / "fd").iterdir()):
                return f"{(process / 'comm').read_text().strip()} (process {process.name})"
        except OSError:
            continue  # of another account, or gone
    return None
