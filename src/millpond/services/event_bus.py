"""Events of several servers on one PostgreSQL: every server sends what happens in it and tells its readers all of them.

One thread writes what this server has to say, in batches; another is woken by `NOTIFY`, or looks every few seconds,
and hands what all servers wrote to the hub (docs/design/033). While the database is away what is to be sent waits.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import closing, suppress
from logging import getLogger

from millpond.db import events
from millpond.db.engine import Database
from millpond.db.events import EventRow
from millpond.services.events import HELD_EVENTS, EventHub, Signal, SignalKind

logger = getLogger(__name__)

# Signals that come within so many seconds are written together, and read together.
_SPACING = 0.02
# NOTIFY wakes at once; this is for what it did not tell, and for poolers that do not pass it on.
_LOOK_SECONDS = 2.0
_REST_SECONDS = 1.0
_MOST_AT_ONCE = 1_000
# While the database is away. More is replaced by one word: load everything anew.
_MOST_WAITING = 10_000
_FORGET_EVERY = 1_000


class EventBus:
    """Started once the database is migrated, stopped once."""

    def __init__(self, db: Database, hub: EventHub, *, server_id: str, database_id: str) -> None:
        self._db = db
        self._hub = hub
        self._server = server_id
        self._database = database_id
        self._waiting: deque[Signal] = deque()
        self._turn = threading.Lock()
        self._news = threading.Event()
        self._stopping = threading.Event()
        self._read_to = 0
        self._sent = 0
        self._threads = [
            threading.Thread(target=self._going_on, args=(work,), name=f"events {name}", daemon=True)
            for name, work in (("sender", self._send_waiting), ("reader", self._listen))
        ]

    def start(self) -> None:
        with self._db.read() as tx:
            known = events.newest(tx, limit=HELD_EVENTS)
        self._read_to = known[-1].number if known else 0
        self._hub.join(self._database, self._read_to, [(row.number, _signal(row)) for row in known], send=self.send)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._news.set()
        with suppress(*self._db.errors), self._db.write() as tx:
            events.notify(tx)  # the reader waits for it
        for thread in self._threads:
            thread.join(_LOOK_SECONDS + 1)

    def send(self, signal: Signal) -> None:
        """From any thread; never blocks."""
        with self._turn:
            if len(self._waiting) >= _MOST_WAITING:
                self._waiting.clear()
                signal = Signal(SignalKind.RESET)
            self._waiting.append(signal)
        self._news.set()

    def _going_on(self, work: Callable[[], None]) -> None:
        """Do it again and again; while the database is away, once a second."""
        is_away = False
        while not self._stopping.is_set():
            try:
                work()
                is_away = False
            except self._db.errors as error:
                if not is_away:
                    logger.warning("events_held_up reason=%s", str(error).splitlines()[0])
                is_away = True
                self._stopping.wait(_REST_SECONDS)
            except Exception:
                logger.exception("events_failed")
                self._stopping.wait(_REST_SECONDS)

    def _send_waiting(self) -> None:
        self._news.wait()
        self._news.clear()
        with self._turn:
            taken = list(self._waiting)
        # What two of one batch say alike is said once: woken twice is woken.
        told = dict.fromkeys(one for one in taken if one.kind is not SignalKind.EVENT)
        rows = [*(one for one in taken if one.kind is SignalKind.EVENT), *told]
        if rows:
            try:
                with self._db.write() as tx:
                    events.add(tx, self._server, [(one.kind, one.topic, one.project_id, one.data) for one in rows])
            except BaseException:
                self._news.set()
                raise
            with self._turn:
                for one in taken:
                    if self._waiting and self._waiting[0] is one:
                        self._waiting.popleft()
            self._forget(len(rows))
        self._stopping.wait(_SPACING)

    def _forget(self, sent: int) -> None:
        self._sent += sent
        if self._sent >= _FORGET_EVERY:
            self._sent = 0
            with self._db.write() as tx:
                events.forget(tx, keep=HELD_EVENTS)

    def _listen(self) -> None:
        with closing(self._db.connection_alone()) as connection:
            connection.execute(f"LISTEN {events.CHANNEL}")
            while not self._stopping.is_set():
                self._read()
                for _ in connection.notifies(timeout=_LOOK_SECONDS, stop_after=1):
                    self._stopping.wait(_SPACING)
                for _ in connection.notifies(timeout=0):
                    pass  # their events are committed, and read together with the first

    def _read(self) -> None:
        while not self._stopping.is_set():
            with self._db.read() as tx:
                rows = events.after(tx, self._read_to, limit=_MOST_AT_ONCE)
            if not rows:
                return
            own = {row.number for row in rows if row.server == self._server}
            self._hub.deliver([(row.number, _signal(row)) for row in rows], own=own)
            self._read_to = rows[-1].number
            if len(rows) < _MOST_AT_ONCE:
                return  # what has come since then is told by a word of its own


def _signal(row: EventRow) -> Signal:
    return Signal(SignalKind(row.kind), row.topic, row.project_id, row.data)
