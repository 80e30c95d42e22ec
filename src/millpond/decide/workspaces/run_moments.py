"""Which snapshots of its workspaces a run is due: at its start, every so often, and at its end.

They are named as in TR-4896: `snap-WORKSPACE-JOB-start-2026-11-18-16-23-42`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from millpond.model.job_spec import SnapshotMoments

START, REGULAR, END = "start", "run", "end"
# The longest name of a snapshot, and what it holds besides those of workspace and job.
_MOST = 127
_BESIDES = len("snap---start-2026-11-18-16-23-42")


@dataclass(frozen=True, slots=True)
class RunTimes:
    """When the job was placed, its command began, and it ended; None if it has not."""

    placed_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None


def due_snapshot(
    moments: SnapshotMoments, workspace: str, job: str, times: RunTimes, taken: Collection[str], now: datetime
) -> str | None:
    """The name of the snapshot that is to be taken now; None if none is. `taken` are the names of those the run has.

    Names hold times of the job, so that two who decide at once find the same. An attempt after the first takes no
    start of its own. Of the regular ones, those that nobody could take in time are left out.
    """
    if times.ended_at is not None:
        is_due = moments.end and times.started_at is not None and not has_moment(taken, workspace, job, END)
        return snapshot_name(workspace, job, END, times.ended_at) if is_due else None
    if moments.start and times.placed_at is not None and not has_moment(taken, workspace, job, START):
        return snapshot_name(workspace, job, START, times.placed_at)
    if moments.every_seconds and times.started_at is not None:
        turns = int((now - times.started_at).total_seconds() // moments.every_seconds)
        at = times.started_at + timedelta(seconds=turns * moments.every_seconds)
        name = snapshot_name(workspace, job, REGULAR, at)
        return name if turns > 0 and name not in taken else None
    return None


def snapshot_name(workspace: str, job: str, moment: str, at: datetime) -> str:
    return f"{_beginning(workspace, job, moment)}{at:%Y-%m-%d-%H-%M-%S}"


def moment_of(name: str, workspace: str, job: str) -> str:
    """What a snapshot of the run of `job` was taken at; "" for one that was not taken by this rule."""
    moments = (START, REGULAR, END)
    return next((moment for moment in moments if name.startswith(_beginning(workspace, job, moment))), "")


def has_moment(taken: Collection[str], workspace: str, job: str, moment: str) -> bool:
    return any(name.startswith(_beginning(workspace, job, moment)) for name in taken)


def _beginning(workspace: str, job: str, moment: str) -> str:
    """Long names of workspaces and jobs lose their ends."""
    most = (_MOST - _BESIDES) // 2
    return f"snap-{workspace[:most]}-{job[:most]}-{moment}-"
