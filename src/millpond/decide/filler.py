"""Which agent fills a volume: one at a time, and another as soon as that one is away or finds the volume unwell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sight:
    """What one agent of the volume's site last found there."""

    agent_id: str
    is_connected: bool
    problem: str | None


def choose_filler(current: str | None, sights: Sequence[Sight]) -> str | None:
    """`sights` in the order of preference. Whoever fills goes on while it is there and finds the volume well.

    Where nobody finds it well, whoever is there tells what is wrong; where nobody is there, nothing changes.
    """
    there = [sight for sight in sights if sight.is_connected]
    well = [sight.agent_id for sight in there if sight.problem is None]
    connected = [sight.agent_id for sight in there]
    for candidates in (well, connected):
        if current in candidates:
            return current
        if candidates:
            return candidates[0]
    return current
