"""Jobs that may run on several templates: planned with the first, and with the next where that has no room.

Every round is a whole plan, so a job on its second template is ordered, limited and entitled like any other there. A
job that starts on none of its templates stays in line for the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from millpond.decide.scheduling.plan import Plan
from millpond.decide.scheduling.planner import Planner
from millpond.decide.scheduling.snapshot import Pending, Snapshot


@dataclass(frozen=True, slots=True)
class Burst:
    """The plan, what it was made from, and which way each job with several was planned in: from 0."""

    plan: Plan
    planner: Planner
    snapshot: Snapshot
    chosen: Mapping[str, int]


def plan_bursts(snapshot: Snapshot, ways: Mapping[str, Sequence[Pending]]) -> Burst:
    """`ways`: for jobs that may run in several ways, all of them in order; the first is what the snapshot has."""
    several = {job_id: found for job_id, found in ways.items() if len(found) > 1}
    chosen = dict.fromkeys(several, 0)
    burst = _planned(snapshot, several, chosen)
    while further := [job for job in _waiting(burst, several) if chosen[job] + 1 < len(several[job])]:
        chosen |= {job_id: chosen[job_id] + 1 for job_id in further}
        burst = _planned(snapshot, several, chosen)
    unlucky = [job_id for job_id in _waiting(burst, several) if chosen[job_id]]
    if unlucky:
        burst = _planned(snapshot, several, chosen | dict.fromkeys(unlucky, 0))
    return burst


def _planned(snapshot: Snapshot, ways: Mapping[str, Sequence[Pending]], chosen: Mapping[str, int]) -> Burst:
    if any(chosen.values()):
        pending = tuple(
            ways[one.job.id][chosen[one.job.id]] if one.job.id in chosen else one for one in snapshot.pending
        )
        snapshot = replace(snapshot, pending=pending)
    planner = Planner(snapshot)
    return Burst(planner.plan(snapshot.now), planner, snapshot, dict(chosen))


def _waiting(burst: Burst, several: Mapping[str, Sequence[Pending]]) -> list[str]:
    started = {start.job for start in burst.plan.starts}
    return [job_id for job_id in sorted(several) if job_id not in started]
