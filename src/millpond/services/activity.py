"""What happened lately, as far as the actor may know: changes that people made, and jobs that ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from millpond.db import audit, jobs
from millpond.db.audit import AuditRecord
from millpond.db.jobs import JobFilter
from millpond.model.job import Job
from millpond.model.people import SYSTEM, Actor
from millpond.services.deps import Deps
from millpond.services.people import access

# Sites, volumes and computes are everybody's; what belongs to a project is its members'. Sessions, tokens, secrets and
# the like are no news for others.
PLACES = ("site", "link", "volume", "compute")
IN_PROJECTS = ("dataset", "branch", "tag", "job", "run", "cache", "source", "flow", "endpoint", "project", "volume")
# What the server does by itself, with the reason.
REASONED = ("flow.disable-trigger", "endpoint.drift")
ENDED_WITHIN = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Happening:
    at: datetime
    actor: str
    # noun.verb, as in the audit trail; a job that ended by itself is `job.succeeded`, `job.failed` or `job.cancelled`.
    action: str
    subject: str
    project: str | None
    job_id: str | None = None
    commit_id: str | None = None
    # Why the server did it.
    reason: str = ""


def latest(deps: Deps, actor: Actor, *, project: str | None, limit: int) -> list[Happening]:
    """At most `limit`, newest first, of one project or of everything the actor may see."""
    with deps.db.read() as tx:
        among = {access.find_project(tx, actor, project).id} if project else access.visible_projects(actor)
        places = () if project else PLACES
        records = audit.latest(tx, in_projects=IN_PROJECTS, among=among, places=places, limit=limit)
        found = [*(_change(record) for record in records), *_endings(tx, deps, JobFilter(projects=among), limit)]
    return sorted(found, key=lambda item: item.at, reverse=True)[:limit]


def _endings(tx: Connection, deps: Deps, chosen: JobFilter, limit: int) -> list[Happening]:
    since = deps.clock.now() - ENDED_WITHIN
    return [_ending(job) for job in jobs.ended_last(tx, chosen, since=since, limit=limit)]


def _change(record: AuditRecord) -> Happening:
    job, commit = record.details.get("job"), record.details.get("commit")
    return Happening(
        at=record.at,
        actor=record.actor,
        action=record.action,
        subject=record.subject,
        project=record.project,
        job_id=job if isinstance(job, str) else None,
        commit_id=commit if isinstance(commit, str) else None,
        reason=str(record.details.get("reason", "")) if record.action in REASONED else "",
    )


def _ending(job: Job) -> Happening:
    assert job.status.ended_at is not None  # asked for
    return Happening(
        at=job.status.ended_at,
        actor=SYSTEM.name,
        action=f"job.{job.status.state.value}",
        subject=f"{job.project}/{job.name}#{job.number}",
        project=job.project,
        job_id=job.id,
    )
