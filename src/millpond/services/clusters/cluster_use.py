"""Finds clusters, and says whether programs can use one now."""

from __future__ import annotations

from sqlalchemy import Connection

from millpond.db import clusters
from millpond.errors import NotReady
from millpond.model.cluster import Cluster
from millpond.model.people import Project
from millpond.services.people import access


def find(tx: Connection, project: Project, written: str) -> Cluster:
    """By name or id; NotFound with the nearest names."""
    found = clusters.find(tx, project.id, written)
    if found is None:
        raise access.not_found("cluster", written, clusters.names(tx, project.id))
    return found


def usable(tx: Connection, project: Project, written: str) -> Cluster:
    """The cluster that a job names. NotFound if there is none, NotReady if programs cannot use it now."""
    found = find(tx, project, written)
    if found.deleted_at is not None:
        raise NotReady(f"Cluster {found.name!r} is being deleted.", hint="Create another: mill cluster create NAME")
    if not found.state.takes_jobs:
        said = found.reasons[-1] if found.reasons else ""
        raise NotReady(
            f"Cluster {found.name!r} is {found.state.value}. {said}".strip(),
            hint=f"Wait until it is ready: mill cluster show {found.name} --wait",
        )
    return found
