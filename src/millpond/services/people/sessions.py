"""Signing in with name and password, browser sessions, and how often one may try."""

from __future__ import annotations

import secrets
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from millpond.db import actors, projects, sessions, users
from millpond.errors import BadLogin, NotSignedIn, TooMany
from millpond.model.people import Actor, ActorKind, Role, Session, User
from millpond.services.deps import Deps
from millpond.services.people import audit
from millpond.services.people.passwords import is_right
from millpond.services.people.tokens import hash_secret

SESSION_DAYS = 30
_WINDOW = timedelta(minutes=5)
_FAILURES_PER_NAME = 10
_FAILURES_PER_ADDRESS = 50
# Somebody who tries ever new names must not fill the memory.
_MOST_KEYS = 10_000


@dataclass(frozen=True, slots=True)
class SignedIn:
    user: User
    session: Session
    # What the browser keeps in its cookie; stored only as a hash.
    cookie: str


class LoginLimiter:
    """Counts failed attempts by name and by address. In memory: a restart forgives."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._failures: dict[str, deque[datetime]] = {}

    def check(self, *, name: str, address: str, now: datetime) -> None:
        """TooMany, with the seconds to wait, when either has failed too often lately."""
        with self._lock:
            for key, most in ((f"name {name}", _FAILURES_PER_NAME), (f"address {address}", _FAILURES_PER_ADDRESS)):
                failures = self._recent(key, now)
                if len(failures) >= most:
                    wait = int((failures[0] + _WINDOW - now).total_seconds()) + 1
                    raise TooMany(
                        "Too many wrong passwords.", hint=f"Try again in {wait} seconds.", retry_after_seconds=wait
                    )

    def failed(self, *, name: str, address: str, now: datetime) -> None:
        with self._lock:
            for key in (f"name {name}", f"address {address}"):
                self._failures.setdefault(key, deque()).append(now)
            if len(self._failures) > _MOST_KEYS:
                for key in list(self._failures):
                    self._recent(key, now)

    def _recent(self, key: str, now: datetime) -> deque[datetime]:
        failures = self._failures.get(key, deque())
        while failures and failures[0] <= now - _WINDOW:
            failures.popleft()
        if not failures:
            self._failures.pop(key, None)
        return failures


def sign_in(deps: Deps, limiter: LoginLimiter, *, name: str, password: str, address: str) -> SignedIn:
    """A new session. BadLogin does not say whether the name or the password was wrong."""
    now = deps.clock.now()
    limiter.check(name=name, address=address, now=now)
    with deps.db.read() as tx:
        user = users.find(tx, name)
        stored = users.password_hash(tx, user.id) if user is not None else None
    if not is_right(password, stored) or user is None or user.disabled_at is not None:
        limiter.failed(name=name, address=address, now=now)
        raise BadLogin(hint="To reset it on the server's machine: mill user reset-password NAME")
    cookie = secrets.token_urlsafe(32)
    session = Session(user.id, secrets.token_urlsafe(24), now, now + timedelta(days=SESSION_DAYS))
    with deps.db.write() as tx:
        sessions.insert(tx, session, hash=hash_secret(cookie))
        actor = Actor(kind=ActorKind.USER, name=user.name, user_id=user.id)
        audit.record(tx, now=now, actor=actor, action="session.create", subject=user.name)
    return SignedIn(user, session, cookie)


def actor_of(deps: Deps, cookie: str) -> tuple[Actor, Session]:
    """Who this browser is. NotSignedIn for a session that is unknown or over."""
    with deps.db.read() as tx:
        session = sessions.find(tx, hash_secret(cookie))
        user = users.get(tx, session.user_id) if session is not None else None
        if session is None or user is None or user.disabled_at is not None or session.expires_at <= deps.clock.now():
            raise NotSignedIn("Your session has expired.", hint="Sign in again.")
        return actors.of_user(tx, user), session


def sign_out(deps: Deps, actor: Actor, cookie: str) -> None:
    with deps.db.write() as tx:
        sessions.delete(tx, hash_secret(cookie))
        audit.record(tx, now=deps.clock.now(), actor=actor, action="session.delete", subject=actor.name)
    if actor.user_id is not None:
        deps.events.access_changed(actor.user_id)


def own_roles(deps: Deps, actor: Actor) -> list[tuple[str, Role]]:
    """Project names and the actor's role there; a site administrator has every role everywhere."""
    with deps.db.read() as tx:
        found = projects.page(tx, among=None if actor.is_admin else actor.roles.keys(), limit=1000)
    return [(project.name, role) for project in found if (role := actor.role_in(project.id)) is not None]


def expire(deps: Deps) -> int:
    """Housekeeping: forget sessions that are over."""
    with deps.db.write() as tx:
        return sessions.delete_expired(tx, deps.clock.now())
