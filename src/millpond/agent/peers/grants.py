"""What others may read here: grants of the server, each of which opens one session, once, for one commit."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from millpond.volumes.volume import CommitPlace

# A fill that takes longer gets the rest elsewhere, or asks for another grant with its next attempt.
SESSION_SECONDS = 12 * 3600.0
# Connections of one session: a fill uses a few side by side.
MOST_CONNECTIONS = 8


class Refused(Exception):
    """The other end may not read this. The message is told to it."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A published commit that another agent may read."""

    volume_id: str
    place: CommitPlace
    # The site it goes to.
    site_id: str = ""


@dataclass(slots=True)
class _Session:
    shared: Shared
    until: float
    connections: int = 0


class Grants:
    """Used by many threads at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._granted: Mapping[str, Shared] = {}
        self._used: set[str] = set()
        self._sessions: dict[str, _Session] = {}

    def replace(self, granted: Mapping[str, Shared]) -> None:
        """These are all grants that the server has given, by the SHA-256 of their tokens."""
        with self._lock:
            self._granted = granted
            self._used &= granted.keys()

    def open(self, token: str) -> str:
        """Use up a grant: the session that it opens. Refused for one that is unknown or was used."""
        key = hashlib.sha256(token.encode()).hexdigest()
        with self._lock:
            self._forget_old()
            known = next((one for one in self._granted if hmac.compare_digest(one, key)), None)
            if known is None:
                raise Refused("The server has granted nothing of the kind.")
            if known in self._used:
                raise Refused("This grant was used before.")
            self._used.add(known)
            session = secrets.token_hex(32)
            self._sessions[session] = _Session(self._granted[known], self._clock() + SESSION_SECONDS)
            return session

    def enter(self, session: str) -> Shared:
        """Count one more connection of a session. `leave` it afterwards."""
        with self._lock:
            self._forget_old()
            found = self._sessions.get(session)
            if found is None:
                raise Refused("This session is over.")
            if found.connections >= MOST_CONNECTIONS:
                raise Refused("This session has too many connections.")
            found.connections += 1
            return found.shared

    def leave(self, session: str) -> None:
        with self._lock:
            if (found := self._sessions.get(session)) is not None:
                found.connections -= 1

    def _forget_old(self) -> None:
        now = self._clock()
        self._sessions = {key: one for key, one in self._sessions.items() if one.until > now}
