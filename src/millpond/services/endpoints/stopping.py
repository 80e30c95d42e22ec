"""Stops the jobs of replicas and routers that are not needed any more."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from millpond.model.people import Project
from millpond.model.replica import Replica, ReplicaState
from millpond.services.deps import Deps
from millpond.services.jobs.service_life import stop


def stop_drained(deps: Deps, project: Project, seen: Sequence[Replica], before: datetime) -> None:
    """Stop replicas that drain since before this moment, and at once those that no router knows."""
    going = [one for one in seen if one.state is ReplicaState.DRAINING and one.draining_at is not None]
    due = [one for one in going if not one.ready or (one.draining_at is not None and one.draining_at <= before)]
    stop(deps, project, (one.job_id for one in due), "No longer needed by its endpoint.")
