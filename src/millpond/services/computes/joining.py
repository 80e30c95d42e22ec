"""How agents join: join tokens are made, revoked, and exchanged once for a credential of the agent's own."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import agents, computes, join_tokens, tokens
from millpond.errors import BadRequest, Conflict, Invalid, MillError, NameTaken, NotSignedIn, TokenExpired
from millpond.model.agent import Agent
from millpond.model.compute import JOIN_PREFIX, Compute, JoinToken
from millpond.model.ids import new_id
from millpond.model.names import check_name
from millpond.model.people import Actor, ActorKind, Token, TokenKind
from millpond.model.volume import Site
from millpond.services.computes import computes as compute_service
from millpond.services.computes import elastic
from millpond.services.computes.presence import is_connected
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
_NEW = "Create a new one: mill compute token --site SITE"


def create(deps: Deps, actor: Actor, *, site: str, seconds: int) -> tuple[JoinToken, str]:
    """A token with which one agent joins with a new compute, and its secret, which is not stored."""
    return _create(deps, actor, seconds, lambda tx: (sites.find(tx, site), None))


def create_for(deps: Deps, actor: Actor, *, compute: str, seconds: int) -> tuple[JoinToken, str]:
    """A token with which one agent joins to speak for this compute: what it was stays, the agent before it goes."""

    def find(tx: Connection) -> tuple[Site, Compute]:
        found = compute_service.find(tx, compute)
        return sites.find(tx, found.site), found

    return _create(deps, actor, seconds, find)


def _create(
    deps: Deps, actor: Actor, seconds: int, find: Callable[[Connection], tuple[Site, Compute | None]]
) -> tuple[JoinToken, str]:
    if not 1 <= seconds <= MAX_SECONDS:
        raise Invalid("A join token must be valid for at least 1s and at most 7d.", fields=["seconds"])
    now = deps.clock.now()
    secret = JOIN_PREFIX + secrets.token_urlsafe(32)
    with deps.db.write() as tx:
        site, compute = find(tx)
        token = JoinToken(
            new_id(), site.id, site.name, actor.name, now, now + timedelta(seconds=seconds),
            compute_id=compute.id if compute else None, compute=compute.name if compute else None,
        )  # fmt: skip
        join_tokens.insert(tx, token, hash=hash_secret(secret))
        details = {"compute": compute.name} if compute else {}
        audit.record(tx, now=now, actor=actor, action="join_token.create", subject=site.name, details=details)
    return token, secret


def list_all(deps: Deps, *, limit: int, cursor: str | None) -> Listing[JoinToken]:
    with deps.db.read() as tx:
        found = join_tokens.page(tx, limit=limit + 1, after=text_of(cursor))
    return page_of(found, limit, key=lambda token: token.id)


def revoke(deps: Deps, actor: Actor, token_id: str) -> None:
    """Nobody joins with it any more; an agent that has is not touched."""
    with deps.db.write() as tx:
        if not join_tokens.delete(tx, token_id):
            raise access.not_found("join token", token_id)
        audit.record(tx, now=deps.clock.now(), actor=actor, action="join_token.revoke", subject=token_id)


def forget_expired(deps: Deps, now: datetime) -> int:
    with deps.db.write() as tx:
        return join_tokens.delete_expired(tx, now - _KEPT)


def join(deps: Deps, asked: Join) -> Agent:
    """The agent that joined with this token. Asked again with the same credential, the same agent.

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
            agent = _admit(tx, _usable(token, asked, now), asked, hash, now)
    except IntegrityError as error:  # another agent was quicker to take the name
        raise Conflict("Another agent has just joined under this name.", hint="Start this one again.") from error
    logger.info("agent_joined compute=%s site=%s", agent.compute, agent.site)
    deps.events.publish("computes", project_id=None, data={"id": agent.compute_id, "what": "joined"})
    return agent


def check_protocol(spoken: int, version: str = "") -> None:
    """BadRequest for an agent that this server would misunderstand."""
    if spoken != PROTOCOL:
        raise BadRequest(
            f"This agent{f' ({version})' if version else ''} uses version {spoken} of the protocol, "
            f"this server version {PROTOCOL}.",
            hint="Install the same version of Millpond on both, then start the agent again.",
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
    if token.used_at is not None and not token.standing:
        raise NotSignedIn(
            f"This join token was used at {token.used_at:%Y-%m-%d %H:%M:%S} UTC: it lets one agent in, once.",
            hint=_NEW,
        )
    if token.expires_at <= now:
        raise TokenExpired(f"This join token expired at {token.expires_at:%Y-%m-%d %H:%M:%S} UTC.", hint=_NEW)
    if asked.site is not None and asked.site != token.site:
        raise BadRequest(
            f"This join token is for site {token.site!r}, but the agent is at site {asked.site!r}.",
            hint=f"Start it with --site {token.site}, or create a token for its site.",
        )
    return token


def _unknown() -> MillError:
    return NotSignedIn("This join token is not known, or was revoked.", hint=_NEW)


def _admit(tx: Connection, token: JoinToken, asked: Join, hash: bytes, now: datetime) -> Agent:
    known = token.compute_id or _of_standing(tx, token)
    again = known is not None
    compute = _existing(tx, known, now) if known else _new_compute(tx, token, asked, now)
    agent = Agent(new_id(), compute.id, compute.name, compute.site_id, compute.site, asked.version[:40], now)
    computes.give_to(tx, agent)
    credential = Token(new_id(), TokenKind.AGENT, f"compute {compute.name}", None, agent.id, None, now, None, None)
    tokens.insert(tx, credential, hash=hash)
    join_tokens.use(tx, token.id, agent_id=agent.id, now=now)
    elastic.joined(tx, token.id, compute.id)
    actor = Actor(
        kind=ActorKind.AGENT, name=f"agent {compute.name}", agent_id=agent.id, compute_id=compute.id,
        site_id=compute.site_id,
    )  # fmt: skip
    action = "compute.rejoin" if again else "compute.join"
    details = {"let_in_by": token.created_by}
    audit.record(tx, now=now, actor=actor, action=action, subject=compute.name, details=details)
    return agent


def _of_standing(tx: Connection, token: JoinToken) -> str | None:
    """The compute that has joined with a token before, while it is attached: its agent may have lost its disk."""
    if not token.standing or token.compute is None:
        return None
    found = computes.find(tx, token.compute)
    return found.id if found else None


def _existing(tx: Connection, compute_id: str, now: datetime) -> Compute:
    """The compute that the token is for. Conflict while its agent is connected: both would run its jobs."""
    computes.lock(tx, compute_id)
    found = computes.get(tx, compute_id)
    if found is None:
        raise BadRequest("The compute that this join token is for is detached.", hint=_NEW)
    if found.revoked_at is None and is_connected(found.seen_at, now):
        raise Conflict(
            f"Another agent is connected for compute {found.name!r}.",
            hint=f"Stop that agent, or revoke its credential first: mill compute revoke {found.name}",
        )
    return found


def _new_compute(tx: Connection, token: JoinToken, asked: Join, now: datetime) -> Compute:
    name = _free_name(tx, check_name(asked.name, "compute"), exact=asked.exact)
    compute = Compute(new_id(), name, token.site_id, token.site, asked.driver[:20], now)
    computes.insert(tx, compute)
    return compute


def _free_name(tx: Connection, name: str, *, exact: bool) -> str:
    for number in range(1, 1000):
        tried = name if number == 1 else f"{name[:58]}-{number}"
        if computes.find(tx, tried) is None:
            return tried
        if exact:
            raise _taken(tried)
    raise _taken(name)


def _taken(name: str) -> MillError:
    return NameTaken(
        f"Compute {name!r} already exists.",
        hint=f"If this is that compute, re-attach it with the token of: mill compute token --compute {name}. "
        "Otherwise give it another name with --node.",
    )
