"""Sessions, users, tokens, projects, members, audit."""

from __future__ import annotations

from pydantic import Field

from millpond.model.people import Role
from millpond.wire.base import Request, Response, Time


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


class ProjectRole(Response):
    project: str
    role: Role


class Session(Response):
    """Who I am. `csrf` must come back in the header `X-Mill-CSRF` of every changing request made with the cookie."""

    user: User
    projects: list[ProjectRole]
    csrf: str | None = None
    server_version: str


class UserCreate(Request):
    name: str
    full_name: str = Field(default="", max_length=200)
    password: str
    is_admin: bool = False


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


class TokenCreate(Request):
    name: str
    expires_seconds: int | None = 90 * 86_400


class NewToken(Token):
    """`secret` is shown this once and stored only as a hash."""

    secret: str


class Project(Response):
    id: str
    name: str
    description: str
    created_at: Time
    # The caller's own role.
    role: Role


class ProjectCreate(Request):
    name: str
    description: str = ""


class ProjectChange(Request):
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
