"""Who gets which share of the requests at a site now: only versions that have a replica which answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from millpond.model.endpoint_spec import ALL_TRAFFIC
from millpond.model.replica import Replica, ReplicaState

Version: TypeAlias = tuple[str, int]


def served_weights(
    asked: Mapping[Version, int], wanted: Mapping[Version, int], here: Sequence[Replica]
) -> dict[Version, int]:
    """Whole hundredths by version, which sum to 100; `asked` itself while nothing answers.

    `asked` are the shares of the endpoint's versions, `wanted` their replicas at the site. While replicas are replaced,
    those of earlier versions keep what the new ones cannot carry yet.
    """
    ready = Counter((one.model, one.version) for one in here if one.state is ReplicaState.READY)
    if not ready:
        return dict(asked)
    current = {version: weight for version, weight in asked.items() if weight and ready[version]}
    earlier = {version: count for version, count in ready.items() if version not in asked}
    carried = _carried(current, wanted, ready) if earlier else 1.0
    parts: dict[Version, float] = {}
    if current and carried:
        total = sum(current.values())
        parts |= {version: carried * weight / total for version, weight in current.items()}
    if earlier and carried < 1.0:
        total = sum(earlier.values())
        parts |= {version: (1.0 - carried) * count / total for version, count in earlier.items()}
    return whole_hundredths(parts or dict.fromkeys(ready, 1.0))


def whole_hundredths(parts: Mapping[Version, float]) -> dict[Version, int]:
    """Whole numbers in these proportions that sum to 100: the largest remainders are rounded up."""
    total = sum(parts.values())
    exact = {version: ALL_TRAFFIC * part / total for version, part in parts.items()}
    found = {version: int(part) for version, part in exact.items()}
    for version in sorted(exact, key=lambda one: (found[one] - exact[one], one))[: ALL_TRAFFIC - sum(found.values())]:
        found[version] += 1
    return found


def _carried(current: Mapping[Version, int], wanted: Mapping[Version, int], ready: Mapping[Version, int]) -> float:
    """How much of the load the ready replicas of current versions are enough for."""
    needed = sum(wanted.values())
    have = sum(min(ready.get(version, 0), wanted.get(version, 0)) for version in current)
    return min(1.0, have / needed) if needed else 1.0
