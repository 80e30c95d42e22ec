"""How agents come in: join tokens made and taken back, and exchanged once for a credential of the agent's own."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import agents, join_tokens, placements, tokens
from millpond.errors import BadRequest, Conflict, Invalid, MillError, NameTaken, NotSignedIn, TokenExpired
from millpond.model.agent import Agent
from millpond.model.compute import JOIN_PREFIX, JoinToken
from millpond.model.ids import new_id
from millpond.model.names import check_name
from millpond.model.people import Actor, ActorKind, Token, TokenKind
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import access, audit
from millpond.services.people.tokens import hash_secret
from millpond.services.places import sites
from millpond.wire.agent import PROTOCOL
from millpond.wire.computes import Join

logger = getLogger(__name__)

MAX_SECONDS = 7 * 86_400
# What is over stays listed for a while: whoever wonders why an agent was refused finds it.
_KEPT = timedelta(days=7)
_NEW = "Make a new one: `mill compute token --site SITE`."


def create(deps: Deps, actor: Actor, *, site: str, seconds: int) -> tuple[JoinToken, str]:
    """A token that lets one agent in, and its secret, which is not stored."""
    if not 1 <= seconds <= MAX_SECONDS:
        raise Invalid("A join token lives between one second and seven days.", fields=["seconds"])
    now = deps.clock.now()
    secret = JOIN_PREFIX + secrets.token_urlsafe(32)
    with deps.db.write() as tx:
        place = sites.find(tx, site)
        token = JoinToken(new_id(), place.id, place.name, actor.name, now, now + timedelta(seconds=seconds))
        join_tokens.insert(tx, token, hash=hash_secret(secret))
        audit.record(tx, now=now, actor=actor, action="join_token.create", subject=place.name)
    return token, secret


def list_all(deps: Deps, *, limit: int, cursor: str | None) -> Listing[JoinToken]:
    with deps.db.read() as tx:
        found = join_tokens.page(tx, limit=limit + 1, after=text_of(cursor))
    return page_of(found, limit, key=lambda token: token.id)


def revoke(deps: Deps, actor: Actor, token_id: str) -> None:
    """Nobody comes in with it any more; an agent that has is not touched."""
    with deps.db.write() as tx:
        if not join_tokens.delete(tx, token_id):
            raise access.not_found("join token", token_id)
        audit.record(tx, now=deps.clock.now(), actor=actor, action="join_token.revoke", subject=token_id)


def forget_expired(deps: Deps, now: datetime) -> int:
    with deps.db.write() as tx:
        return join_tokens.delete_expired(tx, now - _KEPT)


def join(deps: Deps, asked: Join) -> Agent:
    """The agent that came in with this token. Asked again with the same credential, the same agent.

    The agent made its credential itself and sends the hash: the secret never travels, and an answer that is lost
    loses nothing.
    """
    check_protocol(asked.protocol)
    now, hash = deps.clock.now(), bytes.fromhex(asked.credential_sha256)
    with deps.db.read() as tx:  # anybody may ask: those who know no token do not make others wait
        if not join_tokens.is_known(tx, hash_secret(asked.token)):
            raise _unknown()
    try:
        with deps.db.write() as tx:
            token = join_tokens.lock_by_hash(tx, hash_secret(asked.token))
            known = _joined_before(tx, token, hash)
            if known is not None:
                return known
            agent = _come_in(tx, _usable(token, asked, now), asked, hash, now)
    except IntegrityError as error:  # another agent was quicker to take the name
        raise Conflict("Another agent has just come in under this name.", hint="Start this one again.") from error
    logger.info("agent_joined agent=%s site=%s", agent.name, agent.site)
    deps.events.publish("computes", project_id=None, data={"id": agent.id, "what": "joined"})
    return agent


def check_protocol(spoken: int, version: str = "") -> None:
    """BadRequest for an agent that this server would misunderstand."""
    if spoken != PROTOCOL:
        raise BadRequest(
            f"This agent{f' ({version})' if version else ''} speaks version {spoken} of the protocol, "
            f"this server version {PROTOCOL}.",
            hint="Install the same version of Millpond on both sides, then start the agent again.",
        )


def _joined_before(tx: Connection, token: JoinToken | None, hash: bytes) -> Agent | None:
    if token is None or token.agent_id is None:
        return None
    credential = tokens.find_by_hash(tx, hash)
    same = credential is not None and credential.agent_id == token.agent_id and credential.revoked_at is None
    return agents.get(tx, token.agent_id) if same else None


def _usable(token: JoinToken | None, asked: Join, now: datetime) -> JoinToken:
    if token is None:
        raise _unknown()
    if token.used_at is not None:
        raise NotSignedIn(
            f"This join token was used already, at {token.used_at:%Y-%m-%d %H:%M:%S} UTC: it lets one agent in, once.",
            hint=_NEW,
        )
    if token.expires_at <= now:
        raise TokenExpired(f"This join token expired at {token.expires_at:%Y-%m-%d %H:%M:%S} UTC.", hint=_NEW)
    if asked.site is not None and asked.site != token.site:
        raise BadRequest(
            f"This join token is for the site {token.site!r}, and the agent says it is at {asked.site!r}.",
            hint=f"Start it with --site {token.site}, or make a token for its site.",
        )
    return token


def _unknown() -> MillError:
    return NotSignedIn("This join token is not known, or was taken back.", hint=_NEW)


def _come_in(tx: Connection, token: JoinToken, asked: Join, hash: bytes, now: datetime) -> Agent:
    name = _free_name(tx, check_name(asked.name, "compute"), now, exact=asked.exact)
    agent = Agent(new_id(), name, token.site_id, token.site, asked.driver[:20], asked.version[:40], now, None, None)
    agents.insert(tx, agent)
    credential = Token(new_id(), TokenKind.AGENT, f"compute {name}", None, agent.id, None, now, None, None)
    tokens.insert(tx, credential, hash=hash)
    join_tokens.use(tx, token.id, agent_id=agent.id, now=now)
    actor = Actor(kind=ActorKind.AGENT, name=f"agent {name}", agent_id=agent.id, site_id=agent.site_id)
    audit.record(tx, now=now, actor=actor, action="compute.join", subject=name, details={"let_in_by": token.created_by})
    return agent


def _free_name(tx: Connection, name: str, now: datetime, *, exact: bool) -> str:
    """The name itself if it is free, or was of a compute whose credential is revoked and that runs nothing."""
    for number in range(1, 1000):
        tried = name if number == 1 else f"{name[:58]}-{number}"
        holder = agents.lock_named(tx, tried)
        if holder is None:
            return tried
        if holder.revoked_at is not None and not placements.living_of_agent(tx, holder.id):
            agents.detach(tx, holder.id, now)
            return tried
        if exact:
            raise _taken(tried)
    raise _taken(name)


def _taken(name: str) -> MillError:
    return NameTaken(
        f"There is a compute {name!r} already.",
        hint=f"Give this one another name with --node, or let the other go: mill compute detach {name}",
    )
