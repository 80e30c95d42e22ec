"""What was asked of the database and the lake: counted, and in traces those that took long."""

from __future__ import annotations

import time

from millpond import tracing
from millpond.services.measures import Measures

# Shorter transactions are no news in a trace.
SLOW_SECONDS = 0.1


class WatchedCalls:
    def __init__(self, measures: Measures, *, slow_seconds: float = SLOW_SECONDS) -> None:
        self._measures, self._slow_seconds = measures, slow_seconds

    def transaction(self, kind: str, seconds: float) -> None:
        self._measures.transaction(kind, seconds)
        if tracing.is_on() and seconds >= self._slow_seconds:
            now = time.time()
            tracing.record(f"database {kind}", now - seconds, now)

    def lake_call(self, operation: str, seconds: float, failed: bool) -> None:
        self._measures.lake_call(operation, seconds, failed)
        if tracing.is_on():
            now = time.time()
            tracing.record(f"lake {operation}", now - seconds, now, millpond__failed=failed)
