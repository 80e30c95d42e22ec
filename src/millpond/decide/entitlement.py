"""What a project's settings mean for a job that is submitted: limits of interactive jobs, and what quotas rule out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from millpond.decide.capability import Refusal
from millpond.model.job_spec import JobKind, JobSpec
from millpond.model.people import Project
from millpond.model.project_shares import ProjectShares
from millpond.model.quantity import format_gpus


def limited(spec: JobSpec, shares: ProjectShares) -> JobSpec:
    """An interactive job with the time and idle limits of its project; others as they are."""
    if spec.kind is not JobKind.INTERACTIVE:
        return spec
    return replace(
        spec,
        timeout_seconds=_least(spec.timeout_seconds, shares.interactive_time),
        idle_seconds=_least(spec.idle_seconds, shares.interactive_idle),
    )


def beyond_quota(spec: JobSpec, project: Project, projects: Iterable[Project]) -> Refusal | None:
    """Why a job that is never preempted can never start: it is larger than its project's quota (docs/design/014, h).

    None while no project has a quota: then nobody is kept to one.
    """
    if spec.is_preemptible or not spec.gpus or not any(one.shares.total_quota for one in projects):
        return None
    most = max(project.shares.quotas.values())
    if spec.gpus <= most:
        return None
    kind = "Interactive jobs" if spec.kind is JobKind.INTERACTIVE else "Jobs that are not preemptible"
    return Refusal(
        f"{kind} stay within their project's quota: {project.name} has {format_gpus(most)} GPUs, the job asks for "
        f"{format_gpus(spec.gpus)}.",
        "Add --preemptible: then it may use GPUs that others leave idle, and is stopped when they need them.",
    )


def _least(asked: int, limit: int) -> int:
    """The shorter of two limits, of which 0 is none."""
    return min(asked, limit) if asked and limit else asked or limit
