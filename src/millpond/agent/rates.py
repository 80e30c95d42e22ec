"""The limits that this agent keeps to, shared by all that it fetches and sends."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from millpond.lake.throttle import Throttle, TokenBucket
from millpond.wire.desired import DesiredLimit

# The key of the limit of the agent's own site; those of links are the ids of their other ends.
SITE = "site"


class AgentRates:
    """One bucket for each limit, for as long as the agent lives. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._buckets: defaultdict[str, TokenBucket] = defaultdict(TokenBucket)
        # The throughput of volumes' tiers, by their ids.
        self._volumes: defaultdict[str, TokenBucket] = defaultdict(TokenBucket)

    def reconcile(self, desired: Iterable[DesiredLimit]) -> None:
        """These are all limits that hold now; others do not any more."""
        rates = {one.id: float(one.bytes_per_second) for one in desired}
        with self._lock:
            for key in rates.keys() | self._buckets.keys():
                self._buckets[key].set_rate(rates.get(key))

    def limit_volume(self, volume_id: str, bytes_per_second: int | None) -> None:
        """What all fills of a volume may bring together."""
        with self._lock:
            self._volumes[volume_id].set_rate(bytes_per_second)

    def of_volume(self, volume_id: str) -> TokenBucket:
        with self._lock:
            return self._volumes[volume_id]

    def throttle(
        self, end_id: str, pause: Callable[[float], None] | None = None, also: Sequence[TokenBucket] = ()
    ) -> Throttle:
        """What passes between here and another end: the lake, or a site by its id. `also`: further buckets."""
        with self._lock:
            buckets = [self._buckets[SITE], self._buckets[end_id], *also]
        return Throttle(buckets, pause) if pause else Throttle(buckets)
