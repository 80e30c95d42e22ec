"""Providers of single sign-on: added, changed and tested by site administrators. Secrets come in and never go out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import auth_providers, identities, server, users
from millpond.errors import Conflict, Invalid, MillError, NameTaken, NotFound
from millpond.model.ids import new_id
from millpond.model.names import check_name
from millpond.model.people import Actor
from millpond.model.sign_in import LdapSettings, OidcSettings, Provider, ProviderKind
from millpond.services.deps import Deps
from millpond.services.people import access, audit
from millpond.services.sign_in import directory
from millpond.services.sign_in.discovery import fetch_metadata, is_safe_url
from millpond.services.sign_in.oidc import purpose

_CHECKS: Mapping[ProviderKind, type[OidcSettings] | type[LdapSettings]] = {
    ProviderKind.OIDC: OidcSettings,
    ProviderKind.LDAP: LdapSettings,
}


@dataclass(frozen=True, slots=True)
class Tested:
    works: bool
    # What was found, in words: endpoints, keys, people.
    found: Sequence[str] = ()
    problem: str | None = None
    hint: str | None = None


def list_all(deps: Deps, *, enabled: bool = False) -> Sequence[Provider]:
    with deps.db.read() as tx:
        return auth_providers.all_of(tx, enabled=enabled)


def get(deps: Deps, name: str) -> Provider:
    with deps.db.read() as tx:
        return find(tx, name)


def find(tx: Connection, name: str) -> Provider:
    provider = auth_providers.find(tx, name)
    if provider is None:
        raise access.not_found("provider", name, [one.name for one in auth_providers.all_of(tx)])
    return provider


def create(
    deps: Deps,
    actor: Actor,
    *,
    name: str,
    kind: ProviderKind,
    title: str,
    settings: Mapping[str, Any],
    secret: str | None,
) -> Provider:
    now = deps.clock.now()
    made_id = new_id()
    provider = Provider(
        id=made_id,
        name=check_name(name, "provider"),
        kind=kind,
        title=title or name,
        settings=_checked(_CHECKS[kind].from_document(settings)),
        secret=None if secret is None else deps.seal.seal(secret, purpose(made_id)),
        enabled=True,
        created_at=now,
        created_by=actor.name,
    )
    try:
        with deps.db.write() as tx:
            auth_providers.insert(tx, provider)
            _audit(tx, deps, actor, "provider.create", provider, after=_told(provider))
    except IntegrityError as error:
        raise NameTaken(f"Provider {name!r} already exists.", hint="Choose another name.") from error
    return provider


def change(
    deps: Deps,
    actor: Actor,
    name: str,
    *,
    title: str | None = None,
    settings: Mapping[str, Any] | None = None,
    secret: str | None = None,
    enabled: bool | None = None,
) -> Provider:
    """Change what is given; of the settings, those that are named."""
    with deps.db.write() as tx:
        before = find(tx, name)
        document = before.settings.to_document() | dict(settings or {})
        after = replace(
            before,
            title=before.title if title is None else title or before.name,
            settings=_checked(_CHECKS[before.kind].from_document(document)),
            secret=before.secret if secret is None else deps.seal.seal(secret, purpose(before.id)),
            enabled=before.enabled if enabled is None else enabled,
        )
        auth_providers.save(tx, after)
        if not after.enabled:
            _check_somebody_can_sign_in(tx, without=after)
        changed = sorted(set(settings or {}) | ({"secret"} if secret else set()))
        _audit(tx, deps, actor, "provider.change", after, changed=changed, before=_told(before), after=_told(after))
    if isinstance(before.settings, OidcSettings):
        deps.sign_in.forget(before.settings.issuer)
    return after


def delete(deps: Deps, actor: Actor, name: str) -> None:
    """Its rules go, too. Accounts stay, and so does who they are there: it may be added again."""
    with deps.db.write() as tx:
        provider = find(tx, name)
        _check_somebody_can_sign_in(tx, without=provider)
        auth_providers.delete(tx, provider.id)
        _audit(tx, deps, actor, "provider.delete", provider, before=_told(provider))


def test(deps: Deps, name: str) -> Tested:
    """Whether the provider answers as it should. Nobody signs in."""
    provider = get(deps, name)
    try:
        if provider.kind is ProviderKind.LDAP:
            return Tested(True, directory.test(deps, provider))
        deps.sign_in.forget(provider.oidc.issuer)
        metadata = fetch_metadata(provider)
        keys = deps.sign_in.keys(provider, deps.clock.elapsed())
    except MillError as error:
        return Tested(False, problem=error.message, hint=error.hint)
    found = [f"{key}: {metadata[key]}" for key in ("authorization_endpoint", "token_endpoint", "jwks_uri")]
    found += [f"signing keys: {len(keys.keys)}"]
    for key in ("userinfo_endpoint", "end_session_endpoint"):
        found.append(f"{key}: {metadata.get(key, 'none')}")
    methods = metadata.get("code_challenge_methods_supported")
    if isinstance(methods, list) and "S256" not in methods:
        return Tested(False, found, "It does not support PKCE with S256.", "Use another client type there.")
    return Tested(True, found)


def has_local_login(deps: Deps) -> bool:
    with deps.db.read() as tx:
        return server.has_local_login(tx)


def set_local_login(deps: Deps, actor: Actor, *, on: bool) -> None:
    """Switch signing in with a password kept here on or off. Conflict if nobody could administer the site any more."""
    with deps.db.write() as tx:
        before = server.has_local_login(tx)
        server.set_local_login(tx, on=on)
        if not on:
            _check_somebody_can_sign_in(tx)
        audit.record(
            tx, now=deps.clock.now(), actor=actor, action="auth.local-login", subject="on" if on else "off",
            before={"local_login": before}, after={"local_login": on},
        )  # fmt: skip


def not_usable(name: str) -> NotFound:
    told = f" {name!r}" if name else ""
    return NotFound(f"The provider{told} does not exist or is switched off.", hint="Sign in another way.")


def _check_somebody_can_sign_in(tx: Connection, without: Provider | None = None) -> None:
    """While local login is off: some site administrator must be able to come in through a provider that is left."""
    if server.has_local_login(tx):
        return
    left = {one.name for one in auth_providers.all_of(tx, enabled=True)} - ({without.name} if without else set())
    for user in users.administrators(tx):
        if any(one.provider in left for one in identities.of_user(tx, user.id)):
            return
    raise Conflict(
        "Without local login, no site administrator could sign in.",
        hint="Link one with a provider that stays (the page Account), or switch local login on: "
        "mill auth local-login on",
    )


def _checked(settings: OidcSettings | LdapSettings) -> OidcSettings | LdapSettings:
    if isinstance(settings, LdapSettings):
        return directory.checked(settings)
    if not is_safe_url(settings.issuer) or "?" in settings.issuer or "#" in settings.issuer:
        raise Invalid(
            f"{settings.issuer[:200]!r} is not the URL of an issuer.",
            hint="Give it as the provider writes it, with https://.",
            fields=["issuer"],
        )
    if not settings.client_id:
        raise Invalid("The client id is missing.", fields=["client_id"])
    if "openid" not in settings.scopes:
        raise Invalid("The scopes must include 'openid'.", fields=["scopes"])
    return settings


def _told(provider: Provider) -> dict[str, Any]:
    """Of a provider, for the audit log; of its secret only that there is one."""
    settings = provider.settings.to_document()
    return {**settings, "title": provider.title, "enabled": provider.enabled, "has_secret": provider.secret is not None}


def _audit(
    tx: Connection, deps: Deps, actor: Actor, action: str, provider: Provider, *,
    before: Mapping[str, Any] | None = None, after: Mapping[str, Any] | None = None, **details: Any,
) -> None:  # fmt: skip
    audit.record(
        tx, now=deps.clock.now(), actor=actor, action=action, subject=provider.name,
        details={"kind": provider.kind.value, **details}, before=before, after=after,
    )  # fmt: skip
