"""API tokens: made, shown once, recognised by their SHA-256, taken back."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from millpond.db import actors, tokens, users
from millpond.errors import CredentialRevoked, Invalid, NotSignedIn, StalePlacement, TokenExpired
from millpond.model.ids import new_id
from millpond.model.people import Actor, Token, TokenKind
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import access, audit
from millpond.services.workspaces import tokens as workspace_tokens

logger = getLogger(__name__)

PREFIX = "mill_"
MAX_SECONDS = 10 * 365 * 86_400
# Last use is noted at most this often, so that reading does not become writing.
_NOTE_EVERY = timedelta(minutes=1)


def new_secret() -> str:
    """256 random bits; whoever holds it is whoever it was given to."""
    return PREFIX + secrets.token_urlsafe(32)


def hash_secret(secret: str) -> bytes:
    """What is stored. A plain hash is enough: there is nothing to guess in 256 random bits."""
    return hashlib.sha256(secret.encode()).digest()


def actor_of(deps: Deps, secret: str) -> Actor:
    """Who holds this token. NotSignedIn, TokenExpired, or StalePlacement for a job whose placement is over."""
    if workspace_tokens.is_token(secret):
        return workspace_tokens.actor_of(deps, secret)
    now = deps.clock.now()
    with deps.db.read() as tx:
        token = tokens.find_by_hash(tx, hash_secret(secret))
        if token is None:
            raise NotSignedIn("Unknown token.", hint="Sign in with `mill login`, or create a new token.")
        if token.expires_at is not None and token.expires_at <= now:
            raise TokenExpired(
                f"The token {token.name!r} expired at {token.expires_at.isoformat()}.",
                hint="Sign in with `mill login`, or create a new token.",
            )
        if token.revoked_at is not None:
            raise CredentialRevoked(
                f"Credential of {token.name} revoked at {token.revoked_at:%Y-%m-%d %H:%M:%S} UTC.",
                hint=reattach(actors.compute_of_agent(tx, token.agent_id or "")),
            )
        actor = _actor(tx, token)
    if token.last_used_at is None or now - token.last_used_at >= _NOTE_EVERY:
        _note_use(deps, token, now)
    return actor


def reattach(compute: str | None) -> str:
    """What to do once the credential of a compute's agent was revoked; None for a compute that is detached."""
    if compute is None:
        return "Attach it as a new compute: mill compute attach …, or mill compute token --site SITE"
    return (
        f"Re-attach this compute: mill compute attach … --compute {compute}, or mill compute token --compute {compute}"
    )


def _note_use(deps: Deps, token: Token, now: datetime) -> None:
    """A disk that is full, or a database that is busy, keeps nobody from reading."""
    try:
        with deps.db.write() as tx:
            tokens.used(tx, token.id, now)
    except OperationalError as error:
        logger.warning("token_use_not_noted token=%s %s", token.id, error.orig)


def list_own(deps: Deps, actor: Actor, *, limit: int, cursor: str | None) -> Listing[Token]:
    with deps.db.read() as tx:
        found = tokens.page_of_user(tx, _user_id(actor), limit=limit + 1, after=text_of(cursor))
    return page_of(found, limit, key=lambda token: token.id)


def create(deps: Deps, actor: Actor, *, name: str, expires_seconds: int | None) -> tuple[Token, str]:
    """A token of the actor's own and its secret, which is not stored."""
    if not 1 <= len(name) <= 200:
        raise Invalid("The name of a token must have 1 to 200 characters.", fields=["name"])
    if expires_seconds is not None and not 1 <= expires_seconds <= MAX_SECONDS:
        raise Invalid("The lifetime of a token must be between 1 second and 10 years.", fields=["expires_seconds"])
    now = deps.clock.now()
    with deps.db.write() as tx:
        token, secret = add(tx, TokenKind.USER, name=name, now=now, user_id=_user_id(actor), seconds=expires_seconds)
        audit.record(tx, now=now, actor=actor, action="token.create", subject=name)
    return token, secret


def add(
    tx: Connection,
    kind: TokenKind,
    *,
    name: str,
    now: datetime,
    user_id: str | None = None,
    agent_id: str | None = None,
    placement_id: str | None = None,
    seconds: int | None = None,
) -> tuple[Token, str]:
    """A new token of any kind, inside a transaction of the caller."""
    secret = new_secret()
    token = Token(
        id=new_id(),
        kind=kind,
        name=name,
        user_id=user_id,
        agent_id=agent_id,
        placement_id=placement_id,
        created_at=now,
        expires_at=None if seconds is None else now + timedelta(seconds=seconds),
        last_used_at=None,
    )
    tokens.insert(tx, token, hash=hash_secret(secret))
    return token, secret


def delete(deps: Deps, actor: Actor, token_id: str) -> None:
    with deps.db.write() as tx:
        if not tokens.delete_of_user(tx, _user_id(actor), token_id):
            raise access.not_found("token", token_id)
        audit.record(tx, now=deps.clock.now(), actor=actor, action="token.delete", subject=token_id)


def _actor(tx: Connection, token: Token) -> Actor:
    if token.kind is TokenKind.PLACEMENT:
        found = actors.of_placement(tx, token.placement_id or "")
        if found is None or not found.is_current:
            raise StalePlacement("The placement of this token has ended.")
        return found.actor
    if token.kind is TokenKind.AGENT:
        actor = actors.of_agent(tx, token.agent_id or "")
    else:
        user = users.get(tx, token.user_id or "")
        actor = actors.of_user(tx, user) if user is not None and user.disabled_at is None else None
    if actor is None:
        raise NotSignedIn("The owner of this token can no longer sign in.")
    return actor


def _user_id(actor: Actor) -> str:
    if actor.user_id is None:
        raise NotSignedIn("Only people can have their own tokens.")
    return actor.user_id
