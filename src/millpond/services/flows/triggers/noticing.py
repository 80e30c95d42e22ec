"""Notices what sets triggers off.

Each occurrence becomes one row, in the transaction that moves the trigger on: so it is neither forgotten nor noticed
twice, whichever server is killed when. `firing` starts the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import Connection

from millpond.db import commits, flow_firings, flow_triggers
from millpond.db.flow_triggers import MovedBranch
from millpond.decide.flows.triggers.schedule import due_times
from millpond.model.flow_run import FlowRun, FlowRunPhase
from millpond.model.flow_trigger import Firing, FiringState, Missed, SavedTrigger
from millpond.model.ids import new_id
from millpond.model.quantity import format_count, parse_seconds
from millpond.services.deps import Deps
from millpond.services.flows.triggers.keeping import schedule_of

# Commits of one branch that are noticed in one look; of more, only the newest counts.
MOST_COMMITS = 1_000
_ENDED = (FlowRunPhase.SUCCEEDED, FlowRunPhase.FAILED, FlowRunPhase.CANCELLED)
_MICROSECOND = timedelta(microseconds=1)


def notice_commits(deps: Deps, now: datetime) -> int:
    """Every commit that a branch has come to since it was last looked at; how many were noticed."""
    with deps.db.read() as tx:
        found = flow_triggers.moved(tx)
    count = 0
    for one in found:
        with deps.db.write() as tx:
            count += _notice_commits(tx, one, now)
    return count


def notice_times(deps: Deps, now: datetime) -> int:
    """Every time of a schedule that has come."""
    with deps.db.read() as tx:
        found = flow_triggers.due(tx, now)
    count = 0
    for one in found:
        with deps.db.write() as tx:
            count += _notice_times(tx, one, now)
    return count


def notice_end(tx: Connection, run: FlowRun, now: datetime) -> int:
    """A run of a flow that others wait for has ended. In the transaction that ends it."""
    if run.phase not in _ENDED:
        return 0
    count = 0
    for trigger in flow_triggers.after_flow(tx, run.project_id, run.flow):
        if trigger.settings.get("state", FlowRunPhase.SUCCEEDED.value) in (run.phase.value, "any"):
            # A run that is retried ends again: each time is an occurrence of its own.
            occurrence = f"run:{run.id}:{run.revision}"
            count += flow_firings.insert(tx, new_firing(trigger, occurrence, now, by=run.written))
    return count


def new_firing(trigger: SavedTrigger, occurrence: str, now: datetime, *, by: str) -> Firing:
    return Firing(
        id=new_id(16),
        trigger_id=trigger.id,
        flow_id=trigger.flow_id,
        project_id=trigger.project_id,
        occurrence=occurrence,
        by=by,
        created_at=now,
        due_at=now,
    )


def _notice_commits(tx: Connection, moved: MovedBranch, now: datetime) -> int:
    trigger = flow_triggers.lock(tx, moved.trigger.id)
    if trigger is None or not trigger.is_enabled or trigger.seen != moved.trigger.seen:
        return 0  # another server was faster, or it was disabled
    new = _new_commits(tx, moved.head, trigger.seen)
    flow_triggers.save(tx, replace(trigger, seen=moved.head))
    if not new:
        return 0
    seconds = parse_seconds(str(trigger.settings.get("debounce", 0)))
    if seconds:
        return _gather(tx, trigger, new, now, seconds)
    by = str(trigger.settings["ref"])
    count = 0
    for number, (commit, base) in enumerate(new):
        moment = now + number * _MICROSECOND  # they start in the order of the branch
        firing = replace(new_firing(trigger, f"commit:{commit}", moment, by=by), commit=commit, base=base, commits=1)
        count += flow_firings.insert(tx, replace(firing, due_at=now))
    return count


def _gather(
    tx: Connection, trigger: SavedTrigger, new: Sequence[tuple[str, str | None]], now: datetime, seconds: int
) -> int:
    """A window begins with the first commit and fires once when it is over, with the newest."""
    head = new[-1][0]
    occurrence = f"commit:{head}"
    if flow_firings.find(tx, trigger.id, occurrence) is not None:
        return 0
    window = flow_firings.open_window(tx, trigger.id)
    if window is not None:
        gathered = replace(window, commit=head, occurrence=occurrence, commits=window.commits + len(new))
        flow_firings.save(tx, gathered)
        return len(new)
    firing = new_firing(trigger, occurrence, now, by=str(trigger.settings["ref"]))
    due_at = now + timedelta(seconds=seconds)
    flow_firings.insert(tx, replace(firing, commit=head, base=new[0][1], commits=len(new), due_at=due_at))
    return len(new)


def _new_commits(tx: Connection, head: str, seen: str | None) -> list[tuple[str, str | None]]:
    """The commits behind `seen` up to the newest, the oldest first, each with the one before it.

    Without `seen`, or if the branch now has another history, only the newest; none if the branch went back.
    """
    found: list[tuple[str, str | None]] = []
    for commit, parent in _history(tx, head):
        if commit == seen:
            return found[::-1]
        found.append((commit, parent))
        if seen is None:
            return found
    if seen is not None and any(commit == head for commit, _ in _history(tx, seen)):
        return []
    return [(head, seen)]


def _history(tx: Connection, start: str) -> Sequence[tuple[str, str | None]]:
    """By first parents, the newest first."""
    found: list[tuple[str, str | None]] = []
    following: str | None = start
    while following is not None and len(found) < MOST_COMMITS:
        commit = commits.get(tx, following)
        if commit is None:
            break
        following = commit.parents[0] if commit.parents else None
        found.append((commit.id, following))
    return found


def _notice_times(tx: Connection, known: SavedTrigger, now: datetime) -> int:
    trigger = flow_triggers.lock(tx, known.id)
    if trigger is None or not trigger.is_enabled or trigger.next_at is None or trigger.next_at != known.next_at:
        return 0
    missed = Missed(trigger.settings.get("missed", Missed.ONCE.value))
    due = due_times(schedule_of(trigger), trigger.next_at, now, missed)
    by = str(trigger.settings["cron"])
    for number, time in enumerate(due.fire):
        moment = now + number * _MICROSECOND
        firing = new_firing(trigger, f"time:{time.isoformat()}", moment, by=by)
        flow_firings.insert(tx, replace(firing, scheduled_at=time, due_at=now))
    if due.missed:
        flow_firings.insert(tx, _missed(trigger, due.missed, due.reason, by, now))
    flow_triggers.save(tx, replace(trigger, next_at=due.next_at))
    return len(due.fire)


def _missed(trigger: SavedTrigger, times: Sequence[datetime], reason: str, by: str, now: datetime) -> Firing:
    """One line of the history for all times that start no run."""
    first, last = times[0].isoformat(), times[-1].isoformat()
    which = first if first == last else f"{format_count(len(times), 'time')} from {first} to {last}"
    firing = new_firing(trigger, f"missed:{first}", now - _MICROSECOND, by=by)
    return replace(
        firing, state=FiringState.SKIPPED, reason=f"{which}. {reason}", scheduled_at=times[-1], ended_at=now
    )  # fmt: skip
