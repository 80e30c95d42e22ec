"""API tokens: made, shown once, recognised by their SHA-256, taken back."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from millpond.db import actors, tokens, users
from millpond.errors import CredentialRevoked, Forbidden, Invalid, NotSignedIn, StalePlacement, TokenExpired
from millpond.model.ids import new_id
from millpond.model.people import Actor, Token, TokenKind, TokenScope, User
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import access, audit
from millpond.services.workspaces import tokens as workspace_tokens

logger = getLogger(__name__)

PREFIX = "mill_"
# A token with scopes is hashed in a way of its own: a server of a version that knows no scopes does not know it at all,
# where it would let it do everything.
SCOPED_PREFIX = "mill_scoped_"
MAX_SECONDS = 10 * 365 * 86_400
# Last use is noted at most this often, so that reading does not become writing.
_NOTE_EVERY = timedelta(minutes=1)


def new_secret(prefix: str = PREFIX) -> str:
    """256 random bits; whoever holds it is whoever it was given to."""
    return prefix + secrets.token_urlsafe(32)


def hash_secret(secret: str) -> bytes:
    """What is stored. A plain hash is enough: there is nothing to guess in 256 random bits."""
    kind = b"scoped\0" if secret.startswith(SCOPED_PREFIX) else b""
    return hashlib.sha256(kind + secret.encode()).digest()


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
        actor = replace(_actor(tx, token), via=via_token(token))
    if token.last_used_at is None or now - token.last_used_at >= _NOTE_EVERY:
        _note_use(deps, token, now)
    return actor


def via_token(token: Token) -> str:
    """The token as the audit log names it."""
    return f"token {token.id} {token.name}"


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


def list_of(
    deps: Deps, actor: Actor, user_name: str | None = None, *, limit: int, cursor: str | None
) -> Listing[Token]:
    """One's own; a site administrator sees whose they like."""
    with deps.db.read() as tx:
        owner = _owner(tx, actor, user_name)
        found = tokens.page_of_user(tx, owner.id, limit=limit + 1, after=text_of(cursor))
    return page_of(found, limit, key=lambda token: token.id)


def create(
    deps: Deps,
    actor: Actor,
    user_name: str | None = None,
    *,
    name: str,
    expires_seconds: int | None,
    scopes: Collection[TokenScope] | None = None,
) -> tuple[Token, str]:
    """A token of the actor's own, or of a service account, and its secret, which is not stored."""
    if not 1 <= len(name) <= 200:
        raise Invalid("The name of a token must have 1 to 200 characters.", fields=["name"])
    if expires_seconds is not None and not 1 <= expires_seconds <= MAX_SECONDS:
        raise Invalid("The lifetime of a token must be between 1 second and 10 years.", fields=["expires_seconds"])
    if scopes is not None and not scopes:
        raise Invalid("A token needs a scope.", hint="Leave scopes out for all rights.", fields=["scopes"])
    now = deps.clock.now()
    with deps.db.write() as tx:
        owner = _owner(tx, actor, user_name)
        if owner.id != actor.user_id and not owner.is_service:
            raise Forbidden(
                f"{owner.name!r} is a person: only they create tokens of theirs.",
                hint=f"Create a service account: mill user create {owner.name}-bot --service",
            )
        token, secret = add(
            tx, TokenKind.USER, name=name, now=now, user_id=owner.id, seconds=expires_seconds,
            scopes=None if scopes is None else frozenset(scopes),
        )  # fmt: skip
        audit_made(tx, actor, owner, token)
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
    scopes: frozenset[TokenScope] | None = None,
) -> tuple[Token, str]:
    """A new token of any kind, inside a transaction of the caller."""
    secret = new_secret(PREFIX if scopes is None else SCOPED_PREFIX)
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
        scopes=scopes,
    )
    tokens.insert(tx, token, hash=hash_secret(secret))
    return token, secret


def delete(deps: Deps, actor: Actor, token_id: str, user_name: str | None = None) -> None:
    """One's own; a site administrator revokes whose they like."""
    with deps.db.write() as tx:
        owner = _owner(tx, actor, user_name)
        gone = tokens.get_of_user(tx, owner.id, token_id)
        if gone is None or not tokens.delete_of_user(tx, owner.id, token_id):
            raise access.not_found("token", token_id)
        audit.record(
            tx, now=deps.clock.now(), actor=actor, action="token.delete", subject=token_id, before=_told(owner, gone)
        )


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
        is_on = user is not None and user.disabled_at is None
        actor = actors.of_user(tx, user, token.scopes) if user is not None and is_on else None
    if actor is None:
        raise NotSignedIn("The owner of this token can no longer sign in.")
    return actor


def _owner(tx: Connection, actor: Actor, user_name: str | None) -> User:
    if actor.user_id is None:
        raise NotSignedIn("Only people can have their own tokens.")
    found = users.get(tx, actor.user_id) if user_name is None else users.find(tx, user_name)
    if found is None or not (actor.is_admin or found.id == actor.user_id):
        raise access.not_found("user", user_name or actor.name, users.names(tx) if actor.is_admin else [actor.name])
    return found


def audit_made(tx: Connection, actor: Actor, owner: User, token: Token) -> None:
    """Note a new token, inside the transaction that made it; never its secret."""
    audit.record(
        tx, now=token.created_at, actor=actor, action="token.create", subject=token.name, details={"id": token.id},
        after=_told(owner, token),
    )  # fmt: skip


def _told(owner: User, token: Token) -> dict[str, object]:
    return {"user": owner.name, **audit.values_of(token, "name", "scopes", "expires_at")}
