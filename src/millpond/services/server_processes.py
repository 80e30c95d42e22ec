"""Which servers share the database: each notes every few seconds that it runs, and where the others reach it."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timedelta

from millpond.db import server, server_processes
from millpond.db.engine import Database
from millpond.model.server_process import GONE, ServerProcess
from millpond.services.deps import Deps
from millpond.services.event_bus import EventBus
from millpond.services.events import EventHub
from millpond.services.leadership import Leadership, OnlyServer, SharedLeadership
from millpond.settings import Settings

SECONDS = 5.0
_KEPT = timedelta(minutes=10)
_EVERYWHERE = ("0.0.0.0", "::", "")


def address_of(settings: Settings, db: Database) -> str | None:
    """Where other servers reach this one, with the port that it listens on; None with SQLite, where there are none."""
    if db.is_sqlite:
        return None
    if settings.advertised_url is not None:
        return settings.advertised_url
    if settings.host not in _EVERYWHERE:
        return settings.local_url
    return f"{'https' if settings.tls else 'http'}://{_own_address(db)}:{settings.port}"


@contextmanager
def beside_others(deps: Deps, hub: EventHub) -> Iterator[Leadership]:
    """Tell the other servers of the database of this one and hear of them, as long as this lasts."""
    if deps.db.is_sqlite:
        yield OnlyServer()
        return
    note(deps, deps.clock.now())
    with deps.db.read() as tx:
        row = server.get(tx)
    assert row is not None  # made at the first start
    bus = EventBus(deps.db, hub, server_id=deps.server_id, database_id=row.database_id)
    bus.start()
    try:
        with closing(SharedLeadership(deps.db)) as leadership:
            yield leadership
    finally:
        bus.stop()
        leave(deps)


def note(deps: Deps, now: datetime) -> None:
    """That this server runs."""
    if deps.address is None:
        return
    own = ServerProcess(deps.server_id, socket.gethostname()[:200], deps.address, deps.version, deps.seal.mark)
    with deps.db.write() as tx:
        server_processes.put(tx, own)
        server_processes.forget(tx, before=server_processes.now(tx) - _KEPT)


def leave(deps: Deps) -> None:
    """This server ends."""
    if deps.address is not None:
        with suppress(*deps.db.errors), deps.db.write() as tx:
            server_processes.remove(tx, deps.server_id)


def living(deps: Deps) -> Sequence[ServerProcess]:
    """Those that were heard of lately, the oldest first; none with SQLite."""
    if deps.db.is_sqlite:
        return ()
    with deps.db.read() as tx:
        since = server_processes.now(tx) - GONE
        return [one for one in server_processes.all_of(tx) if one.seen_at is not None and one.seen_at >= since]


def _own_address(db: Database) -> str:
    """This machine's address on the way to the database: other servers are on that network, too."""
    with closing(db.connection_alone()) as connection, socket.socket(fileno=connection.fileno()) as way:
        try:
            name = way.getsockname() if way.family in (socket.AF_INET, socket.AF_INET6) else ("127.0.0.1",)
        finally:
            way.detach()
    host = str(name[0])
    return f"[{host}]" if ":" in host else host
