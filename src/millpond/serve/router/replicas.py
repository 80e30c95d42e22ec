"""The replicas that are there now, with what is known of them from moment to moment."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from .config import ReplicaAddress


class Replica:
    """One replica: its address, its outstanding requests, and whether it answers.

    A replica that the configuration names is taken to answer until it is seen not to.
    """

    __slots__ = ("address", "answers", "lost_since", "outstanding", "problem", "slow_probes")

    def __init__(self, address: ReplicaAddress) -> None:
        self.address = address
        self.answers = True
        self.outstanding = 0
        self.slow_probes = 0
        # Since when it cannot be reached, and what was found; by the clock of `time.monotonic`.
        self.lost_since: float | None = None
        self.problem = ""

    def found(self, problem: str | None) -> None:
        """It was reached, or could not be for this reason."""
        if problem is None:
            self.lost_since = None
        elif self.lost_since is None:
            self.lost_since = time.monotonic()
        self.problem = problem or ""

    @property
    def takes_requests(self) -> bool:
        return self.answers and not self.address.draining


def least_outstanding(
    replicas: Sequence[Replica], *, start: int = 0, excluded: Collection[Replica] = ()
) -> Replica | None:
    """The replica with the fewest outstanding requests, looking at all of them. Equals take turns by `start`.

    Those excluded have failed this very request: one of them is chosen only where there is no other.
    """
    best: Replica | None = None
    for index in range(len(replicas)):
        replica = replicas[(start + index) % len(replicas)]
        if excluded and replica in excluded:
            continue
        if best is None or replica.outstanding < best.outstanding:
            best = replica
            if not best.outstanding:
                return best
    if best is None and excluded and replicas:
        return least_outstanding(replicas, start=start)
    return best
