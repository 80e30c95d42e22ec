"""Users: made and changed by site administrators; one's own name and password by oneself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.data_dir import CLI_TOKEN_FILE, read_private
from millpond.db import auth_rules, dependents, leases, projects, sessions, tokens, users
from millpond.errors import BadLogin, Conflict, Forbidden, InUse, Invalid, NameTaken
from millpond.model.ids import new_id
from millpond.model.names import check_name
from millpond.model.people import Actor, User
from millpond.model.sign_in import SITE
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import access, audit
from millpond.services.people.passwords import hash_password, is_right
from millpond.services.people.sessions import LoginLimiter
from millpond.services.people.tokens import hash_secret

_NAMED = 10


@dataclass(frozen=True, slots=True)
class UserChange:
    """What to change; None leaves it as it is."""

    full_name: str | None = None
    password: str | None = None
    # Needed to change one's own password.
    old_password: str | None = None
    is_admin: bool | None = None
    disabled: bool | None = None
    # With a new password: the user's API tokens, too.
    revoke_tokens: bool = True


@dataclass(frozen=True, slots=True)
class Caller:
    """Where a change comes from: what it is made with stays valid, and wrong old passwords count as failed logins."""

    limiter: LoginLimiter
    address: str
    session: bytes | None = None
    token: bytes | None = None


def list_users(deps: Deps, *, limit: int, cursor: str | None) -> Listing[User]:
    with deps.db.read() as tx:
        found = users.page(tx, limit=limit + 1, after=text_of(cursor))
    return page_of(found, limit, key=lambda user: user.name)


def get(deps: Deps, actor: Actor, name: str) -> User:
    """Oneself, or anybody for a site administrator."""
    with deps.db.read() as tx:
        return find_visible(tx, actor, name)


def has_password(deps: Deps, user: User) -> bool:
    """False for people who sign in by a provider alone, and for service accounts."""
    with deps.db.read() as tx:
        return bool(users.password_hash(tx, user.id))


def create(
    deps: Deps,
    actor: Actor,
    *,
    name: str,
    password: str | None,
    full_name: str = "",
    is_admin: bool = False,
    is_service: bool = False,
) -> User:
    """A person, or a service account, which has no password: it acts with tokens alone.

    Without a password, a person can sign in only by a provider that they are linked with.
    """
    if is_service and (password is not None or is_admin):
        raise Invalid(
            "A service account has no password and is no site administrator.",
            hint="Give it roles in projects, and tokens: mill token create NAME --user ACCOUNT",
        )
    now = deps.clock.now()
    user = User(new_id(), check_name(name, "user"), full_name, is_admin, now, is_service=is_service)
    password_hash = "" if password is None else hash_password(password)
    try:
        with deps.db.write() as tx:
            users.insert(tx, user, password_hash=password_hash)
            audit.record(tx, now=now, actor=actor, action="user.create", subject=name, after=_told(user))
    except IntegrityError as error:
        raise NameTaken(f"User {name!r} already exists.", hint="Choose another name.") from error
    return user


def change(deps: Deps, actor: Actor, name: str, wanted: UserChange, caller: Caller | None = None) -> User:
    """Change what `wanted` says. A new password ends the user's other sessions and, unless told not to, their tokens.

    Disabling somebody ends all of both: they stay gone when they are enabled again.
    """
    with deps.db.read() as tx:
        user = find_visible(tx, actor, name)
        _check_fits(user, wanted)
        stored = users.password_hash(tx, user.id)
    caller = caller or Caller(LoginLimiter(deps.db), "")
    _check_may_change(actor, wanted)
    if user.id == actor.user_id and wanted.password is not None:
        _check_old_password(deps, user, wanted.old_password or "", stored, caller)
    password_hash = None if wanted.password is None else hash_password(wanted.password)
    now = deps.clock.now()
    with deps.db.write() as tx:
        if (wanted.is_admin is False or wanted.disabled) and user.is_admin:
            _check_not_last_administrator(tx, user)
        users.change(tx, user.id, full_name=wanted.full_name, password_hash=password_hash, is_admin=wanted.is_admin)
        if wanted.disabled is not None:
            users.set_disabled(tx, user.id, now if wanted.disabled else None)
        if wanted.disabled:
            leases.release_lost(tx, user.id)
        elif wanted.is_admin is False:
            leases.release_lost(tx, user.id, but=projects.roles_of(tx, user.id).keys())
        if wanted.is_admin is not None:
            auth_rules.forget_grants(tx, user.id, SITE)
        if password_hash is not None or wanted.disabled:
            sessions.delete_of_user(tx, user.id, but=caller.session)
        if wanted.disabled or (password_hash is not None and wanted.revoke_tokens):
            _revoke_tokens(tx, deps, user, keep=caller.token)
        changed = users.get(tx, user.id)
        if changed is None:
            raise access.not_found("user", name)
        audit.record(
            tx, now=now, actor=actor, action="user.change", subject=name, details={"changed": _fields(wanted)},
            before=_told(user), after=_told(changed),
        )  # fmt: skip
    deps.events.access_changed(user.id)
    return changed


def delete(deps: Deps, actor: Actor, name: str) -> None:
    """InUse, naming what depends on the user: a project's one administrator, jobs and sources in their name.

    Somebody who has left can be disabled at once: that ends sessions and tokens, and their jobs go on.
    """
    with deps.db.write() as tx:
        user = find_visible(tx, actor, name)
        if user.id == actor.user_id:
            raise Conflict("You cannot delete yourself.", hint="Ask another site administrator.")
        if user.is_admin:
            _check_not_last_administrator(tx, user)
        if alone := projects.only_administered_by(tx, user.id):
            raise InUse(
                f"User {name!r} is the only administrator of {', '.join(alone)}.",
                hint=f"Make somebody else an administrator first: mill project add-member {alone[0]} NAME --role admin",
                depends=[f"project {project}" for project in alone],
            )
        if working := dependents.work_of_user(tx, user):
            raise _still_working(name, working)
        users.delete(tx, user.id)
        audit.record(tx, now=deps.clock.now(), actor=actor, action="user.delete", subject=name, before=_told(user))
    deps.events.access_changed(user.id)


def reset_password(deps: Deps, actor: Actor, name: str, password: str) -> None:
    """Set a password without the old one, for whoever sits at the server's machine. Revokes sessions and tokens."""
    password_hash = hash_password(password)
    with deps.db.write() as tx:
        user = users.find(tx, name)
        if user is None:
            raise access.not_found("user", name, users.names(tx))
        users.change(tx, user.id, password_hash=password_hash)
        sessions.delete_of_user(tx, user.id)
        _revoke_tokens(tx, deps, user)
        audit.record(tx, now=deps.clock.now(), actor=actor, action="user.reset-password", subject=name)
    deps.events.access_changed(user.id)


def find_visible(tx: Connection, actor: Actor, name: str) -> User:
    """Oneself, or anybody for a site administrator."""
    user = users.find(tx, name)
    if user is not None and (actor.is_admin or user.id == actor.user_id):
        return user
    raise access.not_found("user", name, users.names(tx) if actor.is_admin else [actor.name])


def _check_fits(user: User, wanted: UserChange) -> None:
    if user.is_service and (wanted.password is not None or wanted.is_admin):
        raise Invalid(
            f"{user.name!r} is a service account: it has no password and is no site administrator.",
            hint=f"Give it a token: mill token create NAME --user {user.name}",
        )


def _check_may_change(actor: Actor, wanted: UserChange) -> None:
    if not actor.is_admin and (wanted.is_admin is not None or wanted.disabled is not None):
        raise Forbidden("Only a site administrator may change that.")


def _check_old_password(deps: Deps, user: User, given: str, stored: str, caller: Caller) -> None:
    """BadLogin, and TooMany after as many tries as a login has: whoever found a token must not guess the password."""
    now = deps.clock.now()
    caller.limiter.check(name=user.name, address=caller.address, now=now)
    if not is_right(given, stored):
        caller.limiter.failed(name=user.name, address=caller.address, now=now)
        raise BadLogin("The old password is wrong.")


def _revoke_tokens(tx: Connection, deps: Deps, user: User, keep: bytes | None = None) -> None:
    """All but the one that asks, and the one that `mill up` keeps on the server's own machine."""
    own = read_private(deps.settings.data_dir / CLI_TOKEN_FILE)
    kept = [hash_secret(own)] if own else []
    tokens.delete_all_of_user(tx, user.id, but=[*kept, *([keep] if keep else [])])


def _check_not_last_administrator(tx: Connection, user: User) -> None:
    if users.count_administrators(tx, without=user.id) == 0:
        raise InUse(
            f"{user.name!r} is the last site administrator.",
            hint="Make somebody else a site administrator first.",
            depends=["site administration"],
        )


def _still_working(name: str, working: Sequence[str]) -> InUse:
    more = f" and {len(working) - _NAMED} more" if len(working) > _NAMED else ""
    return InUse(
        f"User {name!r} still owns {', '.join(working[:_NAMED])}{more}.",
        hint=f"Stop or remove them first. To block {name!r} right now: mill user disable {name}",
        depends=list(working[:_NAMED]),
    )


def _told(user: User) -> dict[str, Any]:
    """Of an account, for the audit log."""
    told = audit.values_of(user, "full_name", "email", "is_admin", "is_service")
    return {**told, "disabled": user.disabled_at is not None}


def _fields(wanted: UserChange) -> list[str]:
    names = ("full_name", "password", "is_admin", "disabled")
    return [name for name in names if getattr(wanted, name) is not None]
