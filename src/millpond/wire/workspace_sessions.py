"""Sessions of workspaces: JupyterLab, code-server or a shell in a job that has one as its home."""

from __future__ import annotations

from pydantic import Field

from millpond.model.job import JobState
from millpond.model.workspace_session import SessionKind
from millpond.wire.base import Request, Response, Time


class SessionCreate(Request):
    """`install` builds an environment that has the program; `environment` is the commit of another one.

    `on` names a template or queue, which fills in what is left empty. `inputs` are `dataset[@ref]`.
    """

    kind: SessionKind = SessionKind.LAB
    on: str | None = Field(default=None, max_length=63)
    cpu: int = Field(default=0, ge=0, le=1 << 20)
    memory_bytes: int = Field(default=0, ge=0, le=1 << 60)
    gpu_hundredths: int = Field(default=0, ge=0, le=1 << 20)
    image: str | None = Field(default=None, max_length=1000)
    inputs: list[str] = Field(default=[], max_length=100)
    # Further workspaces for it: `NAME:/path` or `NAME:/path:ro`.
    workspaces: list[str] = Field(default=[], max_length=20)
    compute: str | None = Field(default=None, max_length=63)
    install: bool = False
    environment: str | None = Field(default=None, max_length=64)
    # Stopped after this long without use; 0: never.
    idle_seconds: int = Field(default=8 * 3600, ge=0, le=366 * 86_400)


class WorkspaceSession(Response):
    """`reason` says why its job is in this state, `said` what a failed one wrote last."""

    job: str  # id
    name: str
    kind: SessionKind
    title: str
    state: JobState
    reason: str | None
    said: str
    created_by: str
    created_at: Time
    started_at: Time | None
    port: int | None
    compute: str | None
    # The job that builds its environment.
    environment_job: str | None


class SessionOpened(WorkspaceSession):
    is_new: bool


class WorkspaceSessions(Response):
    items: list[WorkspaceSession]
