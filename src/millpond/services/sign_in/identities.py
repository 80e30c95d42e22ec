"""Linked sign-ins of a user: shown to themselves and to site administrators, linked and unlinked by these."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.exc import IntegrityError

from millpond.db import identities, users
from millpond.errors import Conflict, Invalid
from millpond.model.people import Actor
from millpond.model.sign_in import Identity, LdapSettings
from millpond.services.deps import Deps
from millpond.services.people import access, audit
from millpond.services.people.users import find_visible
from millpond.services.sign_in.directory import issuer_of
from millpond.services.sign_in.providers import find as find_provider


def list_of(deps: Deps, actor: Actor, user_name: str) -> Sequence[Identity]:
    with deps.db.read() as tx:
        return identities.of_user(tx, find_visible(tx, actor, user_name).id)


def link(deps: Deps, actor: Actor, user_name: str, *, provider_name: str, subject: str) -> Identity:
    """Let whoever has this subject at the provider sign in as this user."""
    if not 1 <= len(subject) <= 300 or "\0" in subject:
        raise Invalid("A subject has 1 to 300 characters.", fields=["subject"])
    now = deps.clock.now()
    try:
        with deps.db.write() as tx:
            user, provider = find_visible(tx, actor, user_name), find_provider(tx, provider_name)
            settings = provider.settings
            issuer = issuer_of(settings) if isinstance(settings, LdapSettings) else settings.issuer
            made = Identity(issuer, subject, user.id, provider.name, "", now, None)
            identities.insert(tx, made)
            audit.record(
                tx, now=now, actor=actor, action="user.link", subject=user.name,
                details={"provider": provider.name, "subject": subject},
            )  # fmt: skip
    except IntegrityError as error:
        raise Conflict(
            f"{subject!r} at {provider_name!r} is linked with a user already.",
            hint="Unlink it there first: mill auth unlink USER --provider … --subject …",
        ) from error
    return made


def unlink(deps: Deps, actor: Actor, user_name: str, *, provider_name: str, subject: str) -> None:
    """What rules of that provider gave goes no sooner than a role is changed by hand. Sessions and tokens stay."""
    with deps.db.write() as tx:
        user = find_visible(tx, actor, user_name)
        found = [
            one for one in identities.of_user(tx, user.id) if (one.provider, one.subject) == (provider_name, subject)
        ]
        if not found:
            raise access.not_found("linked sign-in", subject, [one.subject for one in identities.of_user(tx, user.id)])
        if (
            user.id == actor.user_id
            and not users.password_hash(tx, user.id)
            and len(identities.of_user(tx, user.id)) == 1
        ):
            raise Conflict(
                "You could no longer sign in: you have no password, and no other linked sign-in.",
                hint="Link another one first.",
            )
        identities.delete(tx, user.id, found[0].issuer, subject)
        audit.record(
            tx, now=deps.clock.now(), actor=actor, action="user.unlink", subject=user.name,
            details={"provider": provider_name, "subject": subject},
        )  # fmt: skip
