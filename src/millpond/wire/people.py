"""Sessions, users, tokens, projects, members, audit."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, SerializerFunctionWrapHandler, field_validator, model_serializer

from millpond.model.people import Role, TokenScope
from millpond.wire.base import Change, Gpus, Request, Response, Time


class Login(Request):
    name: str
    password: str


class User(Response):
    id: str
    name: str
    full_name: str
    is_admin: bool
    created_at: Time
    disabled_at: Time | None = None
    email: str = ""
    # A service account: no password and no sessions, only tokens.
    is_service: bool = False


class ProjectRole(Response):
    project: str
    role: Role


class Session(Response):
    """Who I am. `csrf` must come back in the header `X-Mill-CSRF` of every changing request made with the cookie."""

    user: User
    projects: list[ProjectRole]
    csrf: str | None = None
    server_version: str
    # What is wrong with how the server is reached; told to site administrators.
    warnings: list[str] = Field(default_factory=list)
    # False for people who sign in by a provider alone.
    has_password: bool = True
    # Scopes of the token that asks; None for all rights.
    scopes: list[TokenScope] | None = None


class SignedOut(Response):
    """`url`: where the session at the provider is ended, for the browser to go to."""

    url: str | None = None


class BrowserSession(Response):
    """Somebody's browser. `current`: the one that asks. `provider` None: signed in with a password."""

    id: str
    created_at: Time
    last_used_at: Time | None
    expires_at: Time
    address: str | None
    user_agent: str | None
    provider: str | None
    current: bool


class SessionsEnded(Response):
    count: int


class UserCreate(Request):
    name: str
    full_name: str = Field(default="", max_length=200)
    # None: they sign in by a provider, or not at all.
    password: str | None = None
    is_admin: bool = False
    is_service: bool = False


class UserChange(Request):
    full_name: str | None = Field(default=None, max_length=200)
    password: str | None = None
    old_password: str | None = None
    is_admin: bool | None = None
    disabled: bool | None = None
    # With a new password, revoke the user's API tokens, too; the one that asks stays.
    revoke_tokens: bool = True


class Token(Response):
    id: str
    name: str
    created_at: Time
    expires_at: Time | None
    last_used_at: Time | None
    # None: everything its owner may do.
    scopes: list[TokenScope] | None = None

    @field_validator("scopes", mode="before")
    @classmethod
    def _sorted(cls, value: Any) -> Any:
        return sorted(value, key=lambda scope: str(scope)) if isinstance(value, frozenset) else value


class TokenCreate(Change):
    name: str
    expires_seconds: int | None = 90 * 86_400
    scopes: list[TokenScope] | None = None
    # A service account; only site administrators. None: oneself.
    user: str | None = None


class NewToken(Token):
    """`secret` is shown this once and stored only as a hash."""

    secret: str


class Project(Response):
    """A project, its settings of GPUs, and how it stands now. Amounts are numbers of GPUs, times are seconds."""

    id: str
    name: str
    description: str
    created_at: Time
    # The caller's own role.
    role: Role
    # Guaranteed; `pool_quotas` for pools that have a name.
    quota: Gpus = 0
    pool_quotas: dict[str, Gpus] = {}
    # For capacity beyond the quotas; `own_weight` is None while it follows the quota.
    weight: Gpus = 1
    own_weight: Gpus | None = None
    limit: Gpus | None = None
    over_quota: bool = True
    # Labels that nodes must have.
    train_affinity: dict[str, str] = {}
    interactive_affinity: dict[str, str] = {}
    # 0 for no limit.
    interactive_time: int = 0
    interactive_idle: int = 0
    min_runtime: int = 0
    # What it may expect now, what its jobs hold, what waits.
    share: Gpus = 0
    allocated: Gpus = 0
    pending_gpus: Gpus = 0
    pending_jobs: int = 0
    # Of a change: what else it has led to.
    warnings: list[str] = []


def _hundredths(value: float) -> float:
    if abs(value * 100 - round(value * 100)) > 1e-6:
        raise ValueError("give GPUs in hundredths, like 0.25")
    return value


GpuAmount = Annotated[float, Field(ge=0, le=100_000), AfterValidator(_hundredths)]
Labels = Annotated[dict[str, Annotated[str, Field(max_length=200)]], Field(max_length=20)]
Duration = Annotated[int, Field(ge=0, le=366 * 86_400)]


class ProjectSettings(Request):
    """A project's settings of GPUs. In a change, those that are left out stay, and null means the default."""

    quota: GpuAmount | None = None
    pool_quotas: dict[str, GpuAmount] | None = None
    weight: GpuAmount | None = None
    limit: GpuAmount | None = None
    over_quota: bool | None = None
    train_affinity: Labels | None = None
    interactive_affinity: Labels | None = None
    interactive_time: Duration | None = None
    interactive_idle: Duration | None = None
    min_runtime: Duration | None = None

    @model_serializer(mode="wrap")
    def _given(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A client sends what was given: null would be the default."""
        return {name: value for name, value in write(self).items() if name in self.model_fields_set}


class ProjectCreate(ProjectSettings):
    name: str
    description: str = ""


class ProjectChange(ProjectSettings):
    description: str | None = None


class Member(Response):
    user: str
    full_name: str
    role: Role


class MemberPut(Request):
    role: Role


class Happening(Response):
    """Something that happened lately: a change somebody made, or a job that ended (`job.failed`, by the system)."""

    at: Time
    actor: str
    action: str  # noun.verb, like dataset.commit
    subject: str
    project: str | None
    job_id: str | None = None
    commit_id: str | None = None
    # Why the server did it.
    reason: str = ""


class Activity(Response):
    items: list[Happening]


class AuditRecord(Response):
    id: int
    at: Time
    actor: str
    action: str  # noun.verb, like dataset.create
    subject: str
    project: str | None
    details: dict[str, object]
    # Where from; null where an older version wrote it, and for what the server does by itself.
    address: str | None = None
    # What the caller showed: `session ID`, `token ID NAME`.
    via: str | None = None
    request: str | None = None
    # Of a change: the values that differ, as they were and as they are.
    before: dict[str, object] = {}
    after: dict[str, object] = {}


class AuditRetention(Response):
    """Null: for ever."""

    keep_seconds: int | None


class AuditRetentionPut(Request):
    keep_seconds: int | None
