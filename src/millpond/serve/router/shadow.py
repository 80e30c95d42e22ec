"""Shadow traffic: copies of some requests to a version whose answers nobody sees, sent after the client has its own."""

from __future__ import annotations

import threading
import time

from .dispatch import Dispatcher, Target
from .replicas import Replica
from .upstream import UpstreamAnswer

MIB = 1024 * 1024
_MOST_UNDER_WAY = 64
_MOST_BYTES = 64 * MIB


class Shadow:
    """Says which requests are copied, and to whom. Copies without room or replica are dropped and counted."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._lock = threading.Lock()
        self._credits: dict[str, int] = {}
        self._under_way = 0
        self._bytes = 0

    def copy(self, target: Target, size: int) -> ShadowCopy | None:
        """The copy to send of this request, if it is its turn: exactly `percent` of every hundred are copied."""
        rule = target.endpoint.shadow
        if rule is None:
            return None
        name = target.endpoint.name
        with self._lock:
            credit = self._credits.get(name, 0) + rule.percent
            self._credits[name] = credit % 100
            if credit < 100:
                return None
            room = self._under_way < _MOST_UNDER_WAY and self._bytes + size <= _MOST_BYTES
            replica = self._dispatcher.choose_of(target, rule.serves) if room else None
            if replica is None:
                target.stats.shadow_dropped += 1
                return None
            self._under_way += 1
            self._bytes += size
            return ShadowCopy(self, target, replica, size)

    def finished(self, copy: ShadowCopy, status: int, seconds: float) -> None:
        self._dispatcher.release(copy.target, copy.replica)
        with self._lock:
            self._under_way -= 1
            self._bytes -= copy.size
            copy.target.stats.shadow.add(status, seconds)


class ShadowCopy:
    """A copy under way to `replica`; whoever sends it tells how it ended."""

    def __init__(self, shadow: Shadow, target: Target, replica: Replica, size: int) -> None:
        self._shadow = shadow
        self._began = time.monotonic()
        self.target = target
        self.replica = replica
        self.size = size

    def answered(self, answer: UpstreamAnswer) -> None:
        self.ended(answer.status)

    def failed(self, error: Exception) -> None:
        self.ended(502)

    def ended(self, status: int) -> None:
        self._shadow.finished(self, status, time.monotonic() - self._began)
