"""Splitting requests by weight: smooth weighted round robin, exact at every moment.

After any number of requests each version got its exact share of them to within less than one, and after every round
(the sum of the weights) exactly its share. Taking the version with the largest credit, as usual, is exact only at the
end of a round: with several versions it strays by more than one in between. So the earliest deadline decides: of those
that may take a request without being a whole one ahead, the one that would first be a whole one behind.
"""

from __future__ import annotations

from collections.abc import Mapping

from .config import RoutedVersion

_MOST_SETS = 64


class WeightedTurns:
    """Whose turn it is, for one endpoint and one set of weights. Not safe to call from two threads at once.

    The versions that can take a request now may change with every call. Each such set has turns of its own, which go on
    when the set comes back, so a version that comes and goes shifts nothing between the others.
    """

    def __init__(self, weights: Mapping[RoutedVersion, int]) -> None:
        self._weights = dict(weights)
        self._rounds: dict[tuple[RoutedVersion, ...], _Round] = {}

    def take(self, ready: tuple[RoutedVersion, ...]) -> RoutedVersion:
        """The version of `ready` (not empty) that takes the next request.

        Versions of weight 0 get none while another can; where all have 0, they share equally.
        """
        if len(ready) == 1:
            return ready[0]
        current = self._rounds.get(ready)
        if current is None:
            if len(self._rounds) >= _MOST_SETS:
                self._rounds.clear()
            weights = [self._weights.get(version, 0) for version in ready]
            current = self._rounds[ready] = _Round(weights if any(weights) else [1] * len(weights))
        return ready[current.take()]


class _Round:
    """Credits of one set: what each ought to have got, less what it got, times the sum of the weights."""

    def __init__(self, weights: list[int]) -> None:
        self._weights = weights
        self._total = sum(weights)
        self._credits = [0] * len(weights)

    def take(self) -> int:
        chosen, earliest = -1, 0
        for index, weight in enumerate(self._weights):
            credit = self._credits[index] = self._credits[index] + weight
            if credit > 0:
                # Turns until it would be a whole request behind, rounded up.
                deadline = -((credit - self._total) // weight)
                if chosen < 0 or deadline < earliest:
                    chosen, earliest = index, deadline
        self._credits[chosen] -= self._total
        return chosen
