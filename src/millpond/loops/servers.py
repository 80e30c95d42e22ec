"""Where several servers share one database, each notes that it runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from millpond.loops.runner import Loop
from millpond.services import server_processes
from millpond.services.deps import Deps


def loops(deps: Deps) -> Sequence[Loop]:
    """None with SQLite: there is one server."""
    if deps.address is None:
        return []
    return [Loop("server", "server", server_processes.SECONDS, partial(server_processes.note, deps))]
