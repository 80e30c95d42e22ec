"""Signing in with name and password, browser sessions, and how often one may try."""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from logging import getLogger

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from millpond.db import actors, login_failures, projects, request_keys, server, sessions, users
from millpond.db.engine import Database
from millpond.errors import BadLogin, NotSignedIn, TooMany
from millpond.model.people import Actor, ActorKind, Role, Session, User
from millpond.services.deps import Deps
from millpond.services.people import access, audit
from millpond.services.people.passwords import is_right
from millpond.services.people.tokens import hash_secret

logger = getLogger(__name__)

# Who tries to sign in.
NOBODY = Actor(kind=ActorKind.USER, name="(not signed in)")
SESSION_DAYS = 30
# Begins what is stored instead of a CSRF value: chance, which only servers of 0.2 take for one.
_NOT_STORED = "~"
# Last use is noted at most this often, so that reading does not become writing.
_NOTE_EVERY = timedelta(minutes=1)
_WINDOW = timedelta(minutes=5)
_KEYS_KEPT = timedelta(days=1)
_FAILURES_PER_NAME = 10
_FAILURES_PER_ADDRESS = 50


@dataclass(frozen=True, slots=True)
class SignedIn:
    user: User
    session: Session
    # What the browser keeps in its cookie; stored only as a hash.
    cookie: str


@dataclass(frozen=True, slots=True)
class Where:
    """Where somebody signs in from."""

    address: str
    user_agent: str = ""


@dataclass(frozen=True, slots=True)
class ProviderSession:
    """How they signed in: the id of a provider, its name of the session, and where that is ended (sealed)."""

    provider_id: str
    name: str | None = None
    sign_out: bytes | None = None


class LoginLimiter:
    """Counts failed attempts by name and by address, at all servers of the database together."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def check(self, *, name: str, address: str, now: datetime) -> None:
        """TooMany, with the seconds to wait, when either has failed too often lately."""
        limits = ((f"name {name}", _FAILURES_PER_NAME), (f"address {address}", _FAILURES_PER_ADDRESS))
        with self._db.read() as tx:
            for key, most in limits:
                failures = login_failures.recent(tx, _hash(key), since=now - _WINDOW, limit=most)
                if len(failures) >= most:
                    wait = int((failures[-1] + _WINDOW - now).total_seconds()) + 1
                    raise TooMany(
                        "Too many wrong passwords.", hint=f"Try again in {wait} seconds.", retry_after_seconds=wait
                    )

    def failed(self, *, name: str, address: str, now: datetime) -> None:
        with self._db.write() as tx:
            login_failures.forget(tx, before=now - _WINDOW)
            login_failures.add(tx, [_hash(f"name {name}"), _hash(f"address {address}")], now)
            # Only names that there are: somebody may have typed the password into the wrong field.
            known = users.find(tx, name)
            audit.record(
                tx, now=now, actor=NOBODY, action="session.refuse", subject=known.name if known else "(unknown name)",
                details={"address": address},
            )  # fmt: skip


def _hash(key: str) -> bytes:
    """Of any length, and without what somebody typed into the wrong field."""
    return sha256(key.encode(errors="surrogatepass")).digest()


def sign_in(deps: Deps, limiter: LoginLimiter, *, name: str, password: str, where: Where) -> SignedIn:
    """A new session. BadLogin does not say whether the name or the password was wrong."""
    now = deps.clock.now()
    limiter.check(name=name, address=where.address, now=now)
    with deps.db.read() as tx:
        is_on = server.has_local_login(tx)
        user = users.find(tx, name) if is_on else None
        stored = users.password_hash(tx, user.id) if user is not None else None
    if not is_right(password, stored) or user is None or user.disabled_at is not None or user.is_service:
        limiter.failed(name=name, address=where.address, now=now)
        raise wrong_password() if is_on else _switched_off()
    with deps.db.write() as tx:
        return begin(tx, user, now, where)


def begin(
    tx: Connection, user: User, now: datetime, where: Where, provider: ProviderSession | None = None
) -> SignedIn:  # fmt: skip
    """A new session of somebody who has proved who they are, inside a transaction of the caller."""
    cookie = secrets.token_urlsafe(32)
    hash = hash_secret(cookie)
    session = Session(
        user_id=user.id,
        csrf=_NOT_STORED + secrets.token_urlsafe(24),
        created_at=now,
        expires_at=now + timedelta(days=SESSION_DAYS),
        address=where.address[:64],
        user_agent=where.user_agent[:300],
        last_used_at=now,
        provider_id=provider.provider_id if provider else None,
        provider_session=provider.name if provider else None,
    )
    sessions.insert(tx, session, hash=hash, sign_out=provider.sign_out if provider else None)
    actor = Actor(kind=ActorKind.USER, name=user.name, user_id=user.id, via=_via_session(hash))
    details = {"address": where.address, "browser": where.user_agent[:300]}
    if provider is not None:
        details["provider"] = provider.provider_id
    audit.record(tx, now=now, actor=actor, action="session.create", subject=user.name, details=details)
    return SignedIn(user, with_csrf(session, cookie), cookie)


def wrong_password() -> BadLogin:
    return BadLogin(hint="To reset it on the server's machine: mill user reset-password NAME")


def actor_of(deps: Deps, cookie: str) -> tuple[Actor, Session]:
    """Who this browser is. NotSignedIn for a session that is unknown or over."""
    with deps.db.read() as tx:
        session = sessions.find(tx, hash_secret(cookie))
        user = users.get(tx, session.user_id) if session is not None else None
        now = deps.clock.now()
        if session is None or user is None or user.disabled_at is not None or session.expires_at <= now:
            raise NotSignedIn("Your session has ended.", hint="Sign in again.")
        actor = replace(actors.of_user(tx, user), via=_via_session(hash_secret(cookie)))
    if session.last_used_at is None or now - session.last_used_at >= _NOTE_EVERY:
        _note_use(deps, session, cookie, now)
    return actor, with_csrf(session, cookie)


def _via_session(hash: bytes) -> str:
    """The session as the audit log names it, and as `mill session list` does."""
    return f"session {sessions.id_of(hash)}"


def with_csrf(session: Session, cookie: str) -> Session:
    """The session with the value that must come back with each change: made of the cookie, which is stored nowhere.

    Sessions of 0.2 keep the value that was stored with them until they expire.
    """
    if not session.csrf.startswith(_NOT_STORED):
        return session
    digest = hmac.digest(cookie.encode(), b"millpond csrf", "sha256")
    return replace(session, csrf=urlsafe_b64encode(digest[:24]).decode())


def _note_use(deps: Deps, session: Session, cookie: str, now: datetime) -> None:
    """A disk that is full, or a database that is busy, keeps nobody from reading."""
    try:
        with deps.db.write() as tx:
            sessions.used(tx, hash_secret(cookie), now)
    except OperationalError as error:
        logger.warning("session_use_not_noted session=%s %s", session.id, error.orig)


def sign_out(deps: Deps, actor: Actor, cookie: str) -> None:
    with deps.db.write() as tx:
        sessions.delete(tx, hash_secret(cookie))
        audit.record(tx, now=deps.clock.now(), actor=actor, action="session.delete", subject=actor.name)
    if actor.user_id is not None:
        deps.events.access_changed(actor.user_id)


def list_of(deps: Deps, actor: Actor, user_name: str | None = None) -> Sequence[Session]:
    """Those that go on: one's own; a site administrator sees whose they like."""
    with deps.db.read() as tx:
        return sessions.of_user(tx, _owner(tx, actor, user_name).id, now=deps.clock.now())


def revoke(deps: Deps, actor: Actor, session_id: str, user_name: str | None = None) -> None:
    """End one of them; the browser is told at its next request."""
    with deps.db.write() as tx:
        owner = _owner(tx, actor, user_name)
        if not sessions.delete_one(tx, owner.id, session_id):
            raise access.not_found("session", session_id)
        _audit_end(tx, deps, actor, owner, {"session": session_id})
    deps.events.access_changed(owner.id)


def revoke_all(deps: Deps, actor: Actor, user_name: str | None = None, *, but: str | None = None) -> int:
    """End all of them but the one with the cookie `but`; how many there were."""
    with deps.db.write() as tx:
        owner = _owner(tx, actor, user_name)
        kept = hash_secret(but) if but is not None and owner.id == actor.user_id else None
        count = sessions.delete_of_user(tx, owner.id, but=kept)
        _audit_end(tx, deps, actor, owner, {"sessions": count})
    deps.events.access_changed(owner.id)
    return count


def _owner(tx: Connection, actor: Actor, user_name: str | None) -> User:
    found = users.find(tx, user_name or actor.name)
    if found is None or not (actor.is_admin or found.id == actor.user_id):
        raise access.not_found("user", user_name or "", users.names(tx) if actor.is_admin else [actor.name])
    return found


def _audit_end(tx: Connection, deps: Deps, actor: Actor, owner: User, details: Mapping[str, object]) -> None:
    audit.record(tx, now=deps.clock.now(), actor=actor, action="session.delete", subject=owner.name, details=details)


def own_roles(deps: Deps, actor: Actor) -> list[tuple[str, Role]]:
    """Project names and the actor's role there; a site administrator has every role everywhere."""
    with deps.db.read() as tx:
        found = projects.page(tx, among=None if actor.is_admin else actor.roles.keys(), limit=1000)
    return [(project.name, role) for project in found if (role := actor.role_in(project.id)) is not None]


def expire(deps: Deps) -> int:
    """Housekeeping: forget sessions that are over, and keys of requests that nobody repeats any more."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        request_keys.forget(tx, before=now - _KEYS_KEPT)
        return sessions.delete_expired(tx, deps.clock.now())


def _switched_off() -> BadLogin:
    return BadLogin(
        "Signing in with a password is switched off on this server.",
        hint="Use one of the other buttons of the sign-in page. "
        "To switch it on at the server's machine: mill auth local-login on --here",
    )
