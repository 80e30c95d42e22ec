"""What a rule means for a job that waits under it, in a few words: shown in lists. `mill why` tells the rest."""

from __future__ import annotations

from collections.abc import Mapping

from millpond.decide.job_life import WAITING
from millpond.model.job import Job, JobState

WORDS: Mapping[str, str] = {
    "nominated": "it starts when the jobs preempted for it have ended.",
    "reservation": "the nodes with room for it are reserved for another job.",
    "no-fit": "no node is large enough.",
    "fragmented": "enough GPUs are free, but not together.",
    "order": "no room is free; other jobs go first.",
    "limit": "its project has reached its limit of GPUs.",
    "jobs": "its project runs as many jobs as its quota allows.",
    "budget": "its project has reached its budget.",
    "nonpreemptible-quota": "its project's quota is taken by jobs that are never preempted.",
    "affinity": "no node that suits it is there.",
    "dependency": "it waits for another job.",
    "backoff": "it waits before it is tried again.",
    "locality": "it waits for a place near its data.",
    "template": "it waits for its template.",
    "data-space": "there is no room for its data.",
    "workspace": "it waits for its workspace.",
    "away": "the nodes that could run it take no new jobs now.",
}


def words_of(rule: str) -> str:
    return WORDS.get(rule, rule)


def shown_reasons(job: Job) -> tuple[str, ...]:
    """Why a job is in its state, newest last; of one that waits, what it waits for."""
    status = job.status
    if status.state is not JobState.QUEUED or status.rule is None:
        return status.reasons
    return (*status.reasons, WAITING + (status.waits_for or words_of(status.rule)))
