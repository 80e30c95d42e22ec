"""Signing in command lines with a browser, so that no password is ever typed into them.

With a browser on the same machine: the page, where somebody is signed in, hands a one-time code to a port of that
machine (loopback), and the command line redeems it with the secret whose hash it had told before (PKCE). Elsewhere: the
command line shows a code, somebody confirms it on the page, and the command line asks until they have.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

from sqlalchemy import Connection

from millpond.db import device_logins, users
from millpond.errors import Forbidden, Invalid, NotFound, SignInRefused, TooMany
from millpond.model.ids import new_id
from millpond.model.people import Actor, ActorKind, Token, TokenKind, User
from millpond.model.sign_in import DeviceLogin
from millpond.services.deps import Deps
from millpond.services.people import audit, tickets, tokens

TOKEN_DAYS = 90
DEVICE_SECONDS = 600
POLL_SECONDS = 3
_PURPOSE = "command line"
# No vowels: a code spells no word. No letters and digits that look alike.
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_MOST_WAITING = 1_000


@dataclass(frozen=True, slots=True)
class DeviceBegun:
    login: DeviceLogin
    # What the command line asks with; stored only as a hash.
    secret: str


def grant(deps: Deps, actor: Actor, *, machine: str, challenge: str) -> str:
    """A code for the command line that told this challenge: good for a minute, once."""
    if len(challenge) != 43:
        raise Invalid("The challenge must be a SHA-256 in base64url.", fields=["challenge"])
    value = {"user": _user_id(actor), "challenge": challenge, "machine": _checked(machine)}
    return tickets.issue(deps.secret, _PURPOSE, value, deps.clock.now())


def redeem(deps: Deps, *, code: str, verifier: str) -> tuple[Token, str]:
    """A token for whoever granted the code. Forbidden for any other code, or the wrong verifier."""
    value = tickets.redeem(deps.secret, _PURPOSE, code, deps.db, deps.clock.now())
    hashed = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=")
    if not hmac.compare_digest(hashed, value["challenge"].encode()):
        raise Forbidden("This code was granted to another command line.", hint="Run `mill login` again.")
    with deps.db.write() as tx:
        return _token(tx, deps, value["user"], value["machine"])


def begin_device(deps: Deps, *, machine: str, address: str) -> DeviceBegun:
    """A code to be shown. TooMany while very many wait."""
    now = deps.clock.now()
    secret = secrets.token_urlsafe(32)
    letters = "".join(secrets.choice(_LETTERS) for _ in range(8))
    login = DeviceLogin(
        new_id(), f"{letters[:4]}-{letters[4:]}", _checked(machine), address[:64], now,
        now + timedelta(seconds=DEVICE_SECONDS),
    )  # fmt: skip
    with deps.db.write() as tx:
        device_logins.delete_expired(tx, now)
        if device_logins.count(tx) >= _MOST_WAITING:
            raise TooMany("Too many command lines wait to be signed in.", hint="Try again in some minutes.")
        device_logins.insert(tx, login, hash=_hash(secret))
    return DeviceBegun(login, secret)


def poll_device(deps: Deps, secret: str) -> tuple[Token, str] | None:
    """The token once somebody has confirmed the code, this once; None while they have not."""
    now = deps.clock.now()
    with deps.db.read() as tx:
        login = device_logins.find_by_hash(tx, _hash(secret))
    if login is None or login.expires_at <= now:
        raise NotFound("This code has expired.", hint="Run `mill login` again.")
    if login.denied:
        raise SignInRefused("Somebody denied this sign-in on the page.", hint="Run `mill login` again.")
    if login.user_id is None:
        return None
    with deps.db.write() as tx:
        if not device_logins.take(tx, login.id):
            raise NotFound("This code was used already.", hint="Run `mill login` again.")
        return _token(tx, deps, login.user_id, login.machine)


def get_device(deps: Deps, user_code: str) -> DeviceLogin:
    """The command line that shows this code, for the person who is asked to confirm it."""
    with deps.db.read() as tx:
        return _find(tx, deps, user_code)


def answer_device(deps: Deps, actor: Actor, user_code: str, *, confirm: bool) -> DeviceLogin:
    with deps.db.write() as tx:
        login = _find(tx, deps, user_code)
        if not device_logins.answer(tx, login.id, user_id=_user_id(actor) if confirm else None):
            raise NotFound("This code was answered already.", hint="Run `mill login` again.")
        if not confirm:
            audit.record(
                tx, now=deps.clock.now(), actor=actor, action="login.deny", subject=login.machine,
                details={"address": login.address},
            )  # fmt: skip
    return login


def _find(tx: Connection, deps: Deps, user_code: str) -> DeviceLogin:
    login = device_logins.find_by_code(tx, _written(user_code))
    if login is None or login.expires_at <= deps.clock.now() or login.denied or login.user_id is not None:
        raise NotFound(
            "No command line shows this code, or it has expired.", hint="Check it, or run `mill login` again."
        )
    return login


def _written(user_code: str) -> str:
    """As it is stored, however somebody typed it."""
    letters = "".join(one for one in user_code.upper() if one.isalpha())[:9]
    return f"{letters[:4]}-{letters[4:]}"


def _token(tx: Connection, deps: Deps, user_id: str, machine: str) -> tuple[Token, str]:
    now = deps.clock.now()
    user: User | None = users.get(tx, user_id)
    if user is None or user.disabled_at is not None:
        raise SignInRefused("The account is gone or disabled.", hint="Ask a site administrator.")
    name = f"mill on {machine}, {now:%Y-%m-%d %H:%M}"
    token, secret = tokens.add(tx, TokenKind.USER, name=name, now=now, user_id=user_id, seconds=TOKEN_DAYS * 86_400)
    actor = Actor(kind=ActorKind.USER, name=user.name, user_id=user.id, via="mill login")
    tokens.audit_made(tx, actor, user, token)
    return token, secret


def _checked(machine: str) -> str:
    """It is shown to the person who confirms, so it must not be able to tell them something else."""
    if not machine.isprintable() or len(machine) > 100:
        raise Invalid("The name of the machine must have at most 100 printable characters.", fields=["machine"])
    return machine or "a machine"


def _hash(secret: str) -> bytes:
    return sha256(b"device login\0" + secret.encode()).digest()


def _user_id(actor: Actor) -> str:
    if actor.user_id is None:
        raise Forbidden("Only people sign in command lines.")
    return actor.user_id
