"""Sessions of workspaces: JupyterLab, code-server or a shell in a job that has one as its home."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from millpond.client.http import Api, segment
from millpond.client.streams import STDOUT, open_exec
from millpond.errors import Conflict, NotReady, Unavailable
from millpond.model.job import JobState
from millpond.model.workspace_session import SESSION_TOKEN_ENV, SessionKind
from millpond.wire.jobs import PortAddress
from millpond.wire.workspace_sessions import SessionCreate, SessionOpened, WorkspaceSession, WorkspaceSessions

POLL_SECONDS = 0.5


def open_session(api: Api, project: str, workspace: str, kind: SessionKind, **asked: Any) -> SessionOpened:
    """The session of this kind, begun if there is none. `asked`: fields of `SessionCreate`."""
    request = SessionCreate(kind=kind, **asked)
    return api.send("POST", _path(project, workspace), SessionOpened, request)


def list_sessions(api: Api, project: str, workspace: str) -> Sequence[WorkspaceSession]:
    return api.get(_path(project, workspace), WorkspaceSessions).items


def get_session(api: Api, project: str, workspace: str, job: str) -> WorkspaceSession:
    return api.get(_path(project, workspace, job), WorkspaceSession)


def wait_until_running(
    api: Api, project: str, workspace: str, job: str, *, changed: Callable[[WorkspaceSession], None] = lambda _: None
) -> WorkspaceSession:
    """The session once its command runs. Conflict, with what it said last, if it ended before that."""
    while True:
        found = get_session(api, project, workspace, job)
        changed(found)
        if found.state.is_finished:
            raise Conflict(
                f"{found.title} {found.state.value}: {found.said or found.reason or 'see its log'}",
                hint=f"mill logs {found.job}",
            )
        if found.state is JobState.RUNNING:
            return found
        time.sleep(POLL_SECONDS)


def session_url(api: Api, project: str, workspace: str, job: str) -> str:
    """An address that opens it in a browser once, when it listens. Unavailable if the server has no such addresses."""
    while True:
        try:
            return api.send("POST", f"{_path(project, workspace, job)}/open", PortAddress).url
        except NotReady:
            wait_until_running(api, project, workspace, job)
            time.sleep(POLL_SECONDS)


def session_token(api: Api, project: str, job: str) -> str:
    """What its program asks for, read from where only the job sees it."""
    told = bytearray()
    with open_exec(api, project, job, ["sh", "-c", f'printf %s "${SESSION_TOKEN_ENV}"']) as stream:
        for message in stream.messages():
            if isinstance(message, bytes) and message[0] == STDOUT:
                told += message[1:]
            elif isinstance(message, dict) and "exit" in message:
                break
    if not told:
        raise Unavailable(f"Job {job} has no token of a session.", hint=f"mill logs {job}")
    return told.decode()


def _path(project: str, workspace: str, job: str | None = None) -> str:
    path = f"/projects/{segment(project)}/workspaces/{segment(workspace)}/sessions"
    return path if job is None else f"{path}/{segment(job)}"
