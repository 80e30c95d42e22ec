"""Users, roles, tokens, projects, and who is acting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from millpond.model.project_shares import NO_SHARES, ProjectShares


class Role(Enum):
    """What somebody may do in a project; each role includes the ones before it."""

    VIEWER = "viewer"
    MEMBER = "member"
    ADMIN = "admin"

    def includes(self, needed: Role) -> bool:
        order = (Role.VIEWER, Role.MEMBER, Role.ADMIN)
        return order.index(self) >= order.index(needed)


@dataclass(frozen=True, slots=True)
class User:
    id: str
    name: str
    full_name: str
    is_admin: bool
    created_at: datetime
    disabled_at: datetime | None = None
    email: str = ""
    # A service account: it has no password and no sessions, only tokens.
    is_service: bool = False


class TokenScope(Enum):
    """What a token may be used for. Each includes reading; `admin` includes everything its owner may do."""

    READ = "read"
    DATA = "data"
    SUBMIT = "submit"
    ADMIN = "admin"


class TokenKind(Enum):
    USER = "user"
    AGENT = "agent"
    PLACEMENT = "placement"


@dataclass(frozen=True, slots=True)
class Token:
    """An API token; only its SHA-256 is stored. Agent and placement tokens are scoped to what they name."""

    id: str
    kind: TokenKind
    name: str
    user_id: str | None
    agent_id: str | None
    placement_id: str | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None = None
    # None: everything its owner may do.
    scopes: frozenset[TokenScope] | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A browser's sign-in; only the SHA-256 of its cookie is stored."""

    user_id: str
    # Comes back in the header X-Mill-CSRF of every changing request.
    csrf: str
    created_at: datetime
    expires_at: datetime
    # Where from: address and browser. None where an older version wrote it.
    address: str | None = None
    user_agent: str | None = None
    last_used_at: datetime | None = None
    # How: the id of a provider, and what that calls the session; None for a password kept here.
    provider_id: str | None = None
    provider_session: str | None = None
    # Says which session to people: the beginning of the stored hash.
    id: str = ""


@dataclass(frozen=True, slots=True)
class Project:
    id: str
    name: str
    description: str
    created_at: datetime
    shares: ProjectShares = NO_SHARES


@dataclass(frozen=True, slots=True)
class Member:
    project_id: str
    user_id: str
    user_name: str
    role: Role


class ActorKind(Enum):
    USER = "user"
    AGENT = "agent"
    PLACEMENT = "placement"
    # An agent that keeps snapshots of a workspace, or reads for it.
    WORKSPACE = "workspace"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who is asking. `roles` maps project ids to roles; a site administrator has every role everywhere."""

    kind: ActorKind
    name: str
    user_id: str | None = None
    agent_id: str | None = None
    compute_id: str | None = None
    site_id: str | None = None
    placement_id: str | None = None
    job_id: str | None = None
    workspace_id: str | None = None
    is_admin: bool = False
    roles: Mapping[str, Role] = field(default_factory=dict)
    # Of the token that asks; None: everything the roles allow.
    scopes: frozenset[TokenScope] | None = None
    # What they showed, for the audit log: `session ID`, `token ID NAME`.
    via: str = ""

    def role_in(self, project_id: str) -> Role | None:
        return Role.ADMIN if self.is_admin else self.roles.get(project_id)


SYSTEM = Actor(kind=ActorKind.SYSTEM, name="millpond", is_admin=True)
