"""Chooses the agent that fills a volume: one at a time; another takes over if it is away or reports a problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sight:
    """Last report of an agent of the volume's site about the volume."""

    agent_id: str
    is_connected: bool
    problem: str | None


def choose_filler(current: str | None, sights: Sequence[Sight]) -> str | None:
    """`sights` in order of preference. The current agent continues while it is connected and sees no problem.

    If all connected agents see a problem, one of them reports it; if none is connected, nothing changes.
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
