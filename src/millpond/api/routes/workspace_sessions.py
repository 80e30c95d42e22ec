"""Sessions of workspaces: JupyterLab, code-server and shells, opened in a browser without a second token."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

from millpond.api.access import DepsOf, Member, check_origin
from millpond.api.origins import job_origin
from millpond.api.ports.app import OPEN, label
from millpond.api.ports.pipe import open_pipe
from millpond.api.shapes import workspace_sessions as shapes
from millpond.errors import NotReady, Unavailable
from millpond.model.job_spec import JobInput, JobWorkspace
from millpond.model.workspace_session import SessionKind
from millpond.services.jobs import job_ports, job_streams
from millpond.services.jobs.job_ports import Opened
from millpond.services.workspaces import sessions
from millpond.services.workspaces.session_programs import token_of
from millpond.services.workspaces.sessions import SessionAsked
from millpond.wire import workspace_sessions as wire
from millpond.wire.jobs import PortAddress

router = APIRouter(prefix="/projects/{project}/workspaces/{workspace}/sessions", tags=["workspaces"])


@router.get("")
def list_workspace_sessions(workspace: str, scope: Member, deps: DepsOf) -> wire.WorkspaceSessions:
    """Those that have not ended, oldest first."""
    found = sessions.list_sessions(deps, scope.actor, scope.project, workspace)
    return wire.WorkspaceSessions(items=[shapes.session(one) for one in found])


@router.post("", status_code=201)
def create_workspace_session(
    workspace: str, body: wire.SessionCreate, scope: Member, deps: DepsOf
) -> wire.SessionOpened:
    """Begin a job that has the workspace as its home, or find the one of this kind that has not ended."""
    values = body.model_dump() | {
        "inputs": tuple(JobInput.parse(text) for text in body.inputs),
        "workspaces": tuple(JobWorkspace.parse(text) for text in body.workspaces),
    }
    found, is_new = sessions.open_session(deps, scope.actor, scope.project, workspace, SessionAsked(**values))
    return shapes.opened(found, is_new=is_new)


@router.get("/{job}")
def get_workspace_session(workspace: str, job: str, scope: Member, deps: DepsOf) -> wire.WorkspaceSession:
    """How far it is. Of one that has failed, `said` is the last line of its log."""
    return shapes.session(sessions.get_session(deps, scope.actor, scope.project, workspace, job))


@router.post("/{job}/open", status_code=201)
async def open_workspace_session(
    workspace: str, job: str, scope: Member, deps: DepsOf, request: Request
) -> PortAddress:
    """An address that opens it once, within a minute, without another token. 409 `not_ready` until it listens."""
    actor, project = scope.actor, scope.project
    found = await run_in_threadpool(sessions.get_session, deps, actor, project, workspace, job)
    port = sessions.require_running(found)
    origin = job_origin(deps.settings, request.scope, label(found.job.id, port))
    if origin is None:
        raise Unavailable(
            "This server has no address for ports of jobs in your browser.",
            hint=f"Use `mill workspace open {workspace} --{found.kind.value}`, or ask an administrator to "
            "start the server with --content-url 'https://*.apps.example.com' (docs/operations.md).",
        )
    check_origin(request)
    opened = Opened(actor.user_id or "", project.name, found.job.id, port, urlsplit(origin).netloc)
    target = await run_in_threadpool(job_streams.port_target, deps, actor, opened.place, port, note=False)
    try:
        (await open_pipe(deps, target)).close()
    except Unavailable as error:
        raise NotReady(f"{found.kind.title} is starting: it does not listen yet.") from error
    # Asked for again and again until it listens, and noted once.
    ticket = await run_in_threadpool(job_ports.issue, deps, actor, opened)
    entry = f"?next={quote(f'/lab?token={token_of(found.job.id, deps.secret)}')}"
    return PortAddress(origin=origin, url=f"{origin}{OPEN}{ticket}{entry if found.kind is SessionKind.LAB else ''}")
