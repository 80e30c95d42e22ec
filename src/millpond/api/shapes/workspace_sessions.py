"""Sessions of workspaces as shapes of the API."""

from __future__ import annotations

from typing import Any

from millpond.decide.job_life import WAITING
from millpond.decide.wait_words import shown_reasons
from millpond.services.workspaces.sessions import Session
from millpond.wire import workspace_sessions as wire


def session(one: Session) -> wire.WorkspaceSession:
    return wire.WorkspaceSession(**_fields(one))


def opened(one: Session, *, is_new: bool) -> wire.SessionOpened:
    return wire.SessionOpened(**_fields(one), is_new=is_new)


def _fields(one: Session) -> dict[str, Any]:
    job, reasons = one.job, shown_reasons(one.job)
    return {
        "job": job.id,
        "name": job.name,
        "kind": one.kind,
        "title": one.kind.title,
        "state": job.status.state,
        "reason": job.status.problem or (reasons[-1].removeprefix(WAITING) if reasons else None),
        "said": one.said,
        "created_by": job.created_by,
        "created_at": job.queued_at,
        "started_at": job.status.started_at,
        "port": one.port,
        "compute": job.status.compute,
        "environment_job": job.status.environment_job,
    }
