"""A name and a password: those kept here, or those of a directory."""

from __future__ import annotations

from millpond.db import auth_providers, server, users
from millpond.errors import ProviderUnavailable
from millpond.model.sign_in import ProviderKind
from millpond.services.deps import Deps
from millpond.services.people import sessions
from millpond.services.people.sessions import LoginLimiter, ProviderSession, SignedIn, Where
from millpond.services.sign_in import accounts, directory


def sign_in(deps: Deps, limiter: LoginLimiter, *, name: str, password: str, where: Where) -> SignedIn:
    """A new session. The password of an account that has one here goes to no directory."""
    with deps.db.read() as tx:
        user = users.find(tx, name) if server.has_local_login(tx) else None
        is_kept_here = user is not None and bool(users.password_hash(tx, user.id))
        providers = [one for one in auth_providers.all_of(tx, enabled=True) if one.kind is ProviderKind.LDAP]
    if is_kept_here or not providers:
        return sessions.sign_in(deps, limiter, name=name, password=password, where=where)
    now = deps.clock.now()
    limiter.check(name=name, address=where.address, now=now)
    away: ProviderUnavailable | None = None
    for provider in providers:
        try:
            claims = directory.authenticate(deps, provider, name, password)
        except ProviderUnavailable as error:
            away = away or error
            continue
        if claims is not None:
            return accounts.sign_in(deps, provider, claims, where, session=ProviderSession(provider.id))
    if away is not None:
        raise away
    limiter.failed(name=name, address=where.address, now=now)
    raise sessions.wrong_password()
