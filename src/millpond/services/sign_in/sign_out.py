"""Signing out at the provider, too; and being told by it that somebody has signed out there."""

from __future__ import annotations

from millpond.db import auth_providers, identities, sessions
from millpond.model.people import SYSTEM
from millpond.model.sign_in import ProviderKind
from millpond.services.deps import Deps
from millpond.services.people import audit
from millpond.services.people.tokens import hash_secret
from millpond.services.sign_in.flow import open_sign_out
from millpond.services.sign_in.id_token import read_logout_token
from millpond.services.sign_in.providers import not_usable


def provider_sign_out_url(deps: Deps, cookie: str) -> str | None:
    """Where this browser ends its session at the provider; None for one that has none there."""
    with deps.db.read() as tx:
        sealed = sessions.sign_out_url(tx, hash_secret(cookie))
    return open_sign_out(deps, sealed)


def back_channel(deps: Deps, name: str, token: str) -> int:
    """End the sessions that the provider says are over; how many there were. API tokens stay."""
    with deps.db.read() as tx:
        provider = auth_providers.find(tx, name)
    if provider is None or provider.kind is not ProviderKind.OIDC or not provider.enabled:
        raise not_usable(name)
    subject, session = read_logout_token(deps, provider, token)
    with deps.db.write() as tx:
        known = None if subject is None else identities.find(tx, provider.oidc.issuer, subject)
        if subject is not None and known is None:
            return 0
        user_id = known.user_id if known else None
        told = [user_id] if user_id else sessions.users_of_provider_session(tx, provider.id, session or "")
        count = sessions.delete_of_provider(tx, provider.id, user_id=user_id, provider_session=session)
        if count:
            audit.record(
                tx, now=deps.clock.now(), actor=SYSTEM, action="session.delete", subject=provider.name,
                details={"by": "back-channel logout", "sessions": count},
            )  # fmt: skip
    for one in told:
        deps.events.access_changed(one)
    return count
