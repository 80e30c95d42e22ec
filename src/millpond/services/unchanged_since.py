"""How long things have stayed as they are, as this server has seen it.

What is concluded from silence (a placement has run out, nobody uses a notebook) must not depend on the time of day:
somebody may set that clock, and the server that wrote a moment down may have another one. So moments in the database
only tell that something happened; how long ago, each server counts itself, from when it first saw them. After a restart
it counts anew: later than need be, never too early.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping


class Unchanged:
    """Of several kinds of things, each known by an id. Used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, dict[str, tuple[object, float]]] = {}

    def seconds(self, kind: str, values: Mapping[str, object], elapsed: float) -> dict[str, float]:
        """For how long each of these has had its value, at `elapsed` of the server's clock (`Clock.elapsed`). These are
        all there are of this kind: others are forgotten."""
        with self._lock:
            before = self._seen.get(kind, {})
            self._seen[kind] = seen = {
                key: before[key] if key in before and before[key][0] == value else (value, elapsed)
                for key, value in values.items()
            }
        return {key: elapsed - since for key, (_, since) in seen.items()}
