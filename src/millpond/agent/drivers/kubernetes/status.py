"""How a placement stands, concluded from the keeper's files and from what the last look saw of its pods.

The keeper's word counts first. What it did not live to say is taken from its pods; and where those are gone, its end is
told only after its keeper, wherever it may be, has ended by its own clock.
"""

from __future__ import annotations

from dataclasses import replace
from signal import SIGKILL

from millpond.agent.drivers import Exited, Lost, NotStarted, Pending, Reason, Running, Status, records
from millpond.agent.drivers.kubernetes import explain, gang
from millpond.agent.drivers.kubernetes.observed import FoundPods, WatchedPods, unbegun
from millpond.model.quantity import format_bytes

# For how long a pod may be over before its keeper's last words are taken for missing: file servers show them late.
WORDS_SECONDS = 5.0
LAST_WORDS_SECONDS = 60.0
# Beyond validity and grace, before a pod that nobody has seen end is taken to have ended.
MARGIN_SECONDS = 60.0

_DELETED = "The job was cancelled in Kubernetes: its Job was deleted."


def standing(one: WatchedPods, *, gather_seconds: float, now: float) -> Status:
    """Files are read after the look: a keeper writes its last words before its pod is over."""
    ended = records.exited(one.directory)
    if ended is not None:
        return _ended(one, ended, now)
    if records.owner(one.directory) is None or gang.is_withdrawn(one.directory):
        return _unclaimed(one, gather_seconds)
    started_at = records.started_at(one.directory)
    problem = _lost(one, now)
    if problem and one.job_deleted:
        return Exited(reason=Reason.CANCELLED, problem=_DELETED, started_at=started_at)
    return Lost(problem, started_at) if problem else Running(started_at)


def why_unclaimed(one: WatchedPods) -> str:
    """What a placement waits for that no keeper has begun."""
    found = one.found or FoundPods(0.0)
    why = explain.why_pending(unbegun(one, found.pods), found.events)
    return gang.why_gathering(one.directory, why) if one.spec.ranks else why


def _unclaimed(one: WatchedPods, gather_seconds: float) -> Status:
    if one.handed_at is None:
        return NotStarted()
    if gang.is_withdrawn(one.directory):
        seconds = f"{gather_seconds:.0f} s"
        return Pending(f"Not all processes got a place within {seconds}, so all were withdrawn; "
                       f"retrying after {seconds}. {one.why_withdrawn}")  # fmt: skip
    return Pending(why_unclaimed(one))


def _ended(one: WatchedPods, ended: Exited, now: float) -> Status:
    """Why the keeper was told to end, or its command was killed, the cluster may know better."""
    if ended.reason is Reason.TERMINATED:
        return _terminated(one, ended, now)
    full = ended.reason is Reason.OUT_OF_MEMORY
    if ended.signal != SIGKILL or not (full or ended.reason is None):
        return ended
    pods = one.found.pods if one.found else ()
    if not full and any(not explain.is_over(pod) for pod in pods) and _silence(one, now) < WORDS_SECONDS:
        return Running(ended.started_at)
    if not full and not any(explain.how_it_ended(pod).reason == "OOMKilled" for pod in pods):
        return ended
    limit = f" of {format_bytes(one.spec.asked.memory_bytes)}" if one.spec.asked.memory_bytes else ""
    return replace(ended, reason=Reason.OUT_OF_MEMORY, problem=f"Killed for exceeding its memory limit{limit}.")


def _terminated(one: WatchedPods, ended: Exited, now: float) -> Status:
    """A node that is drained ends the pod and leaves the Job; who deletes the Job does not want it any more."""
    one.said_at = one.said_at or now
    if one.found is None or one.found.at < one.said_at:
        return Running(ended.started_at)
    return replace(ended, reason=Reason.CANCELLED, problem=_DELETED) if one.job_deleted else ended


def _lost(one: WatchedPods, now: float) -> str | None:
    """What became of a keeper that claimed it and has not written how it ended; None while it may be at work."""
    if one.found is None or any(not explain.is_over(pod) for pod in one.found.pods):
        one.silent_since = None
        return None
    silence = _silence(one, now)
    lost = gang.lost_ranks(one.directory, one.found.pods)
    pods = gang.of_ranks(one.found.pods, lost) if lost else one.found.pods
    if pods:
        # A keeper that left by itself has written its last words; one that was killed has not.
        patience = LAST_WORDS_SECONDS if explain.how_it_ended(pods[-1]).exit_code == 0 else WORDS_SECONDS
    else:
        # Deleted by somebody, perhaps while its node is away: a keeper that still sees this directory ends the
        # command now, and one that does not ends it when its validity is over.
        records.ask_to_stop(one.directory)
        patience = one.spec.unheard_seconds + one.spec.grace_seconds + MARGIN_SECONDS
    return explain.why_lost(pods) if silence > patience else None


def _silence(one: WatchedPods, now: float) -> float:
    if one.silent_since is None:
        one.silent_since = now
    return now - one.silent_since
