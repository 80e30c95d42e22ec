"""Which of several servers does what is to be done once: whoever holds a lock of the database by that name.

PostgreSQL gives an advisory lock back when its holder's connection ends, so nothing is decided by clocks: a server that
is killed is followed by another one within seconds. What is done under it must still be safe to be done twice, because
a server that loses its connection in the middle of a round finishes that round.
"""

from __future__ import annotations

import threading
import zlib
from logging import getLogger
from typing import TYPE_CHECKING, Any, Protocol

from millpond.db.engine import Database

if TYPE_CHECKING:
    import psycopg

logger = getLogger(__name__)

_LOCKS = 8422
# PostgreSQL notices within so many seconds that the machine of a holder is gone.
_NOTICED = "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"


class Leadership(Protocol):
    def is_ours(self, name: str) -> bool:
        """Whether this server does `name`, now. False while the database is away."""
        ...


class OnlyServer:
    """There is no other."""

    def is_ours(self, name: str) -> bool:
        return True


class SharedLeadership:
    """Of servers on one PostgreSQL. Used from any thread; closed once."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._turn = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None
        self._held: set[str] = set()

    def is_ours(self, name: str) -> bool:
        with self._turn:
            try:
                return self._take(name)
            except self._db.errors as error:
                if self._held:
                    logger.warning("leadership_lost of=%s reason=%s", ",".join(sorted(self._held)), error)
                self._drop()
                return False

    def close(self) -> None:
        with self._turn:
            self._drop()

    def _take(self, name: str) -> bool:
        if self._connection is None:
            self._connection = self._db.connection_alone()
            self._connection.execute(_NOTICED)
        if name in self._held:
            self._connection.execute("SELECT 1")
            return True
        lock = (_LOCKS, zlib.crc32(name.encode()) - (1 << 31))
        row = self._connection.execute("SELECT pg_try_advisory_lock(%s, %s)", lock).fetchone()
        if row is not None and row[0]:
            self._held.add(name)
            logger.info("leadership_taken of=%s", name)
            return True
        return False

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        self._held.clear()
        if connection is not None:
            connection.close()
