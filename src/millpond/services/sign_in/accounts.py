"""Who somebody at a provider is here: found by issuer and subject, made at their first sign-in, given roles at each.

Never by e-mail address or name: whoever may choose one at a provider would choose their account here.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import auth_rules, identities, users
from millpond.decide.account_names import account_name, free_name
from millpond.errors import BadName, Conflict, SignInRefused
from millpond.model.ids import new_id
from millpond.model.names import check_name
from millpond.model.people import SYSTEM, User
from millpond.model.sign_in import Claims, Identity, Provider
from millpond.services.deps import Deps
from millpond.services.people import audit, sessions
from millpond.services.people.sessions import ProviderSession, SignedIn, Where
from millpond.services.sign_in import granted

_NO_PASSWORD = ""


def sign_in(
    deps: Deps,
    provider: Provider,
    claims: Claims,
    where: Where,
    *,
    session: ProviderSession,
    link_user_id: str | None = None,
) -> SignedIn:
    """A new session of the user these claims stand for. SignInRefused for somebody who is not let in."""
    try:
        signed_in = _sign_in(deps, provider, claims, where, session, link_user_id)
    except IntegrityError:
        # Another browser of theirs was quicker: now they are known.
        signed_in = _sign_in(deps, provider, claims, where, session, link_user_id)
    deps.events.access_changed(signed_in.user.id)
    return signed_in


def _sign_in(
    deps: Deps,
    provider: Provider,
    claims: Claims,
    where: Where,
    session: ProviderSession,
    link_user_id: str | None,
) -> SignedIn:
    now = deps.clock.now()
    with deps.db.write() as tx:
        known = identities.find(tx, claims.issuer, claims.subject)
        if link_user_id is not None:
            user = _link(tx, provider, claims, known, link_user_id, now)
        elif known is not None:
            user = _known(tx, provider, known)
            if user.is_service:
                raise _refused(f"{user.name!r} is a service account.", "Service accounts have tokens alone.")
            identities.used(tx, known, provider=provider.name, email=claims.email, at=now)
            if claims.email != user.email:
                users.change(tx, user.id, email=claims.email)
        else:
            user = _create(tx, provider, claims, now)
        granted.apply(tx, deps, auth_rules.all_of(tx), provider, claims.groups, user)
        return sessions.begin(tx, user, now, where, session)


def _known(tx: Connection, provider: Provider, known: Identity) -> User:
    user = users.get(tx, known.user_id)
    assert user is not None, "identities go with their user"
    if user.disabled_at is not None:
        raise _refused(
            f"The account {user.name!r} is disabled, so you cannot sign in with {provider.name!r}.",
            "Ask a site administrator.",
        )
    return user


def _link(
    tx: Connection, provider: Provider, claims: Claims, known: Identity | None, user_id: str, now: datetime
) -> User:
    user = users.get(tx, user_id)
    if user is None or user.disabled_at is not None:
        raise _refused("Your account here is gone or disabled.", "Ask a site administrator.")
    if known is not None:
        if known.user_id != user.id:
            other = users.get(tx, known.user_id)
            raise Conflict(
                f"{claims.name!r} at {provider.name!r} is linked with another user, {other.name if other else '?'!r}.",
                hint="Sign in with it as that user, or ask a site administrator to unlink it.",
            )
        return user
    _insert(tx, provider, claims, user, now)
    audit.record(
        tx, now=now, actor=SYSTEM, action="user.link", subject=user.name,
        details={"provider": provider.name, "subject": claims.subject},
    )  # fmt: skip
    return user


def _create(tx: Connection, provider: Provider, claims: Claims, now: datetime) -> User:
    """An account at the first sign-in. A name that a local account has is refused: it may be somebody else's."""
    if not provider.settings.create_accounts:
        raise _refused(
            f"Nobody here is linked with {claims.name!r} at {provider.name!r}.",
            f"Ask a site administrator: mill auth link USER --provider {provider.name} --subject {claims.subject}",
        )
    name = _name(provider, claims)
    taken = users.find(tx, name)
    if taken is not None and not identities.is_linked(tx, taken.id):
        raise _refused(
            f"The name {name!r} belongs to an account that is not linked with {provider.name!r}.",
            "If it is yours, sign in to it with its password and link it on the page Account; or ask a site "
            f"administrator: mill auth link {name} --provider {provider.name} --subject {claims.subject}",
        )
    name = free_name(name, set(users.names(tx))) if taken is not None else name
    user = User(new_id(), name, claims.full_name, False, now, email=claims.email)
    users.insert(tx, user, password_hash=_NO_PASSWORD)
    _insert(tx, provider, claims, user, now)
    audit.record(
        tx, now=now, actor=SYSTEM, action="user.create", subject=name,
        details={"provider": provider.name, "subject": claims.subject},
    )  # fmt: skip
    return user


def _name(provider: Provider, claims: Claims) -> str:
    try:
        return check_name(account_name(claims.name), "user")
    except BadName as error:
        raise _refused(
            f"{claims.name!r}, as {provider.name!r} calls you, cannot be made a user name.",
            f"Ask a site administrator: mill auth link USER --provider {provider.name} --subject {claims.subject}",
        ) from error


def _insert(tx: Connection, provider: Provider, claims: Claims, user: User, now: datetime) -> None:
    identities.insert(tx, Identity(claims.issuer, claims.subject, user.id, provider.name, claims.email, now, now))


def _refused(message: str, hint: str) -> SignInRefused:
    return SignInRefused(message, hint=hint)
