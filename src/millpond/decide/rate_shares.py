"""Divides limits among agents that fetch or send at the same time. What a job waits for gets most of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from millpond.model.topology import LAKE, ordered

# A limit by what it is set for: one site, or the ends of a link.
LimitKey = tuple[str, ...]

# Of what a fill gets that somebody waits for, a fill that nobody waits for gets this part.
LOW = 0.1
# So many bytes a second it gets at least: slow, and never at a stand.
LEAST_BYTES = 8_000.0
# Where nobody knows how fast a way is, a fill that lets others go first gets this.
UNKNOWN_BYTES = 125_000.0


@dataclass(frozen=True, slots=True)
class Transfer:
    """One fill under way: the agent that fetches at a site, from the lake or from another site, whose agent sends."""

    receiver_id: str
    site_id: str
    source_id: str
    sender_id: str | None = None
    is_waited_for: bool = True

    @property
    def keys(self) -> frozenset[LimitKey]:
        """The limits that it comes under."""
        ends = {(self.site_id,), ordered(self.source_id, self.site_id)}
        return frozenset(ends if self.source_id == LAKE else {*ends, (self.source_id,)})


def share_of(agent_id: str, key: LimitKey, bytes_per_second: float, transfers: Iterable[Transfer]) -> float:
    """What one agent may take of a limit, in bytes per second, for all its transfers under it together.

    Transfers have equal parts; those that nobody waits for a small one beside others. An agent without any has a small
    part, too: it may be about to begin.
    """
    over = [one for one in transfers if key in one.keys]
    weights = [(one, _weight(one, over)) for one in over]
    mine = sum(weight for one, weight in weights if agent_id in (one.receiver_id, one.sender_id))
    whole = sum(weight for _, weight in weights)
    if not mine:
        mine, whole = LOW, whole + LOW
    return max(LEAST_BYTES, bytes_per_second * mine / whole)


def low_rate(known_bytes_per_second: float | None) -> float:
    """How fast a fill may be that lets others go first over a way of this speed."""
    return UNKNOWN_BYTES if known_bytes_per_second is None else max(LEAST_BYTES, LOW * known_bytes_per_second)


def goes_first(mine: Transfer, others: Mapping[str, Transfer]) -> Sequence[str]:
    """The ids of those that this one lets go first: they come to the same site, and somebody waits for them."""
    if mine.is_waited_for:
        return ()
    return [key for key, one in others.items() if one.is_waited_for and one.site_id == mine.site_id]


def _weight(one: Transfer, over: Sequence[Transfer]) -> float:
    return LOW if not one.is_waited_for and any(other.is_waited_for for other in over) else 1.0
