"""Ports of running jobs, opened in a browser."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Query, Request

from millpond.api.access import DepsOf, Member, check_origin
from millpond.api.origins import job_origin
from millpond.api.ports.app import OPEN, label
from millpond.errors import NotReady
from millpond.services.jobs import job_ports, jobs
from millpond.services.jobs.job_ports import Opened
from millpond.wire.jobs import PortAddress

router = APIRouter(prefix="/projects/{project}/jobs/{job}/ports", tags=["jobs"])


@router.post("/{port}/open", status_code=201)
def open_job_port(
    job: str,
    port: int,
    scope: Member,
    deps: DepsOf,
    request: Request,
    rank: Annotated[int, Query(ge=0, description="Rank of a distributed job.")] = 0,
) -> PortAddress:
    """A ticket for a port that a running job listens at: an address on an origin of its own that works once."""
    found = jobs.get_plain(deps, scope.project, job)
    chosen = f" --rank {rank}" if rank else ""
    origin = job_origin(deps.settings, request.scope, label(found.id, port, rank))
    if origin is None:
        raise NotReady(
            "This server has no address for ports of jobs in your browser.",
            hint=f"Use `mill port-forward {found.name} {port}{chosen}`, or ask an administrator to start "
            "the server with --content-url 'https://*.apps.example.com' (docs/operations.md).",
        )
    check_origin(request)
    opened = Opened(scope.actor.user_id or "", scope.project.name, found.id, port, urlsplit(origin).netloc, rank)
    return PortAddress(origin=origin, url=f"{origin}{OPEN}{job_ports.issue(deps, scope.actor, opened)}")
