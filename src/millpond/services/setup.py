"""The first start: the server's own row, an administrator, a project, a site; with an agent, its compute and volume.

Every function may be called again and changes nothing that is there.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import computes, join_tokens, projects, server, sites, tokens, users, volumes
from millpond.db.engine import Database
from millpond.db.server import ServerRow
from millpond.errors import SetupError
from millpond.model.agent import Agent
from millpond.model.compute import Compute, JoinToken
from millpond.model.ids import new_id
from millpond.model.names import DEFAULT_PROJECT, check_name
from millpond.model.people import SYSTEM, Project, Role, Token, TokenKind, User
from millpond.model.quantity import DAY
from millpond.model.volume import Site, Volume
from millpond.sealing import Seal
from millpond.services import signing_secret
from millpond.services.people import audit
from millpond.services.people.passwords import hash_password
from millpond.services.people.tokens import add as add_token
from millpond.services.people.tokens import hash_secret
from millpond.services.signing_secret import SECRET_BYTES

ADMIN = "admin"
LOCAL = "local"
_AGENT_TOKEN = "agent"
# As good as for ever: whoever takes the token away changes the file.
_STANDING = timedelta(days=36_500)


def identify(db: Database, now: datetime, seal: Seal | None = None) -> ServerRow:
    """The row that says who this database is, made at the first start; with a seal, its secret is sealed."""
    with db.read() as tx:
        row = server.get(tx)
    if row is not None:
        return row
    try:
        with db.write() as tx:
            server.insert(tx, row := ServerRow(new_id(20), None, secrets.token_bytes(SECRET_BYTES), now))
            if seal is not None:
                signing_secret.make(tx, seal, row.database_id, now)
    except IntegrityError:
        return identify(db, now, seal)  # another server on the same database was quicker
    return row


def populate(db: Database, *, admin_password: str | None, now: datetime) -> str | None:
    """The first people and a site, if there is nobody yet; the administrator's password, if it was made here.

    It is to be shown this once: only its hash is stored.
    """
    with db.read() as tx:
        if users.page(tx, limit=1):
            return None
    password = admin_password or secrets.token_urlsafe(12)
    password_hash = hash_password(password)
    try:
        with db.write() as tx:
            _add_people(tx, password_hash, now)
            sites.insert(tx, Site(new_id(), LOCAL, now))
    except IntegrityError:
        return None  # another server on the same database was quicker
    return None if admin_password else password


def cli_token(db: Database, kept: str | None, *, machine: str, now: datetime) -> str:
    """A token with which the command line of `machine` is signed in: the one `kept`, if it still works."""
    with db.write() as tx:
        if kept and _works(tokens.find_by_hash(tx, hash_secret(kept)), now):
            return kept
        admin = users.find(tx, ADMIN) or _any_administrator(tx)
        name = f"mill up on {machine}"[:200]
        tokens.delete_named(tx, user_id=admin.id, name=name)
        return add_token(tx, TokenKind.USER, name=name, now=now, user_id=admin.id)[1]


def agent_token(db: Database, kept: str | None, now: datetime, *, volume_path: Path) -> str:
    """The token of the agent that `mill up` starts: the one `kept`, if it still works.

    With the first one come its compute and its volume, which nobody would look after without it. A volume that was
    removed does not come back.
    """
    volume_path.mkdir(exist_ok=True)
    with db.write() as tx:
        if kept and _works(tokens.find_by_hash(tx, hash_secret(kept)), now):
            return kept
        if not computes.was_named(tx, LOCAL) and volumes.find(tx, LOCAL) is None:
            _add_volume(tx, _local_site(tx), LOCAL, str(volume_path), now)
        compute = computes.find(tx, LOCAL) or _add_compute(tx, now)
        # One that was revoked stays so: another takes its place, for the same compute.
        agent = compute.agent if compute.agent and compute.revoked_at is None else _add_agent(tx, compute, now)
        tokens.delete_named(tx, agent_id=agent.id, name=_AGENT_TOKEN)
        return add_token(tx, TokenKind.AGENT, name=_AGENT_TOKEN, now=now, agent_id=agent.id)[1]


@dataclass(frozen=True, slots=True)
class InstalledAgent:
    """An agent that was installed along with the server: its join token, its site, and where its volume lies there."""

    join_token: str
    site: str
    volume_path: str | None = None


def let_in(db: Database, agent: InstalledAgent, now: datetime) -> None:
    """Let the agent join, now and after it lost its credential; its site and volume are made along with the token.

    A token that was given before, and is not any more, opens nothing.
    """
    name, hash = check_name(agent.site, "site"), hash_secret(agent.join_token)
    with db.write() as tx:
        join_tokens.delete_other_standing(tx, hash)
        if join_tokens.is_known(tx, hash):
            return
        found = sites.find(tx, name)
        if found is None:
            sites.insert(tx, found := Site(new_id(), name, now))
            audit.record(tx, now=now, actor=SYSTEM, action="site.create", subject=name)
        token = JoinToken(new_id(), found.id, name, SYSTEM.name, now, now + _STANDING, standing=True)
        join_tokens.insert(tx, token, hash=hash)
        audit.record(tx, now=now, actor=SYSTEM, action="join_token.create", subject=name, details={"standing": True})
        if agent.volume_path is not None and volumes.find(tx, name) is None:
            _add_volume(tx, found, name, agent.volume_path, now)


def _add_people(tx: Connection, password_hash: str, now: datetime) -> None:
    admin = User(new_id(), ADMIN, "Administrator", True, now)
    users.insert(tx, admin, password_hash=password_hash)
    project = projects.find(tx, DEFAULT_PROJECT)  # it may have come back from the lake
    if project is None:
        project = Project(new_id(), DEFAULT_PROJECT, "", now)
        projects.insert(tx, project)
    projects.set_role(tx, project.id, admin.id, Role.ADMIN)
    audit.record(tx, now=now, actor=SYSTEM, action="user.create", subject=ADMIN)
    audit.record(tx, now=now, actor=SYSTEM, action="project.create", subject=project.name, project_id=project.id)


def _add_volume(tx: Connection, site: Site, name: str, path: str, now: datetime) -> None:
    volume = Volume(
        id=new_id(),
        name=name,
        site_id=site.id,
        site=site.name,
        path=path,
        # What is free there, less a reserve, as soon as the agent has looked.
        capacity_bytes=0,
        reserve_bytes=0,
        idle_seconds=DAY,
        high_percent=90,
        low_percent=75,
        created_at=now,
    )
    volumes.insert(tx, volume)
    audit.record(tx, now=now, actor=SYSTEM, action="volume.create", subject=volume.name)


def _local_site(tx: Connection) -> Site:
    site = sites.find(tx, LOCAL)
    if site is None:
        raise SetupError(f"Site {LOCAL!r} no longer exists.", hint="Start with --no-agent.")
    return site


def _add_compute(tx: Connection, now: datetime) -> Compute:
    site = _local_site(tx)
    # The machine of whoever runs `mill up`: without root it has one account, and is of use all the same.
    compute = Compute(new_id(), LOCAL, site.id, site.name, "process", now, trusts_all=True)
    computes.insert(tx, compute)
    return compute


def _add_agent(tx: Connection, compute: Compute, now: datetime) -> Agent:
    agent = Agent(new_id(), compute.id, compute.name, compute.site_id, compute.site, "", now)
    computes.give_to(tx, agent)
    return agent


def _works(token: Token | None, now: datetime) -> bool:
    return token is not None and token.revoked_at is None and (token.expires_at is None or token.expires_at > now)


def _any_administrator(tx: Connection) -> User:
    for user in users.page(tx, limit=1000):
        if user.is_admin and user.disabled_at is None:
            return user
    raise SetupError("No site administrator is left.", hint="Run `mill user reset-password admin`.")
