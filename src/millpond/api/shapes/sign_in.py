"""Providers, rules and linked sign-ins as shapes of the API."""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import Request

from millpond.model.sign_in import Provider, ProviderKind
from millpond.services.deps import Deps
from millpond.services.people.sessions import Where
from millpond.services.sign_in.flow import SignInAddresses
from millpond.services.sign_in.rules import RuleView
from millpond.wire import sign_in as wire


def base_url(request: Request, deps: Deps) -> str:
    """Where browsers reach this server, without a `/` at its end."""
    return (deps.settings.public_url or str(request.base_url)).rstrip("/")


def addresses_of(request: Request, deps: Deps) -> SignInAddresses:
    base = base_url(request, deps)
    return SignInAddresses(redirect_uri=f"{base}/api/v1/sign-in/callback", after_sign_out=f"{base}/login")


def where_of(request: Request) -> Where:
    return Where(request.client.host if request.client else "unknown", request.headers.get("user-agent", ""))


def is_https(request: Request, deps: Deps) -> bool:
    return request.url.scheme == "https" or deps.settings.is_https


def cookie_path(deps: Deps) -> str:
    """Only the API needs it. Cookies do not know ports: with `/` browsers would send it to the second origin, too."""
    return urlsplit(deps.settings.public_url or "").path.rstrip("/") + "/api"


def to_provider(value: Provider, request: Request, deps: Deps) -> wire.Provider:
    is_oidc = value.kind is ProviderKind.OIDC
    site = addresses_of(request, deps)
    base = base_url(request, deps)
    document = value.settings.to_document()
    return wire.Provider(
        name=value.name,
        kind=value.kind,
        title=value.title,
        enabled=value.enabled,
        has_secret=value.secret is not None,
        oidc=wire.OidcSettings.model_validate(document) if is_oidc else None,
        ldap=None if is_oidc else wire.LdapSettings.model_validate(document),
        redirect_uri=site.redirect_uri if is_oidc else None,
        sign_out_uri=site.after_sign_out if is_oidc else None,
        back_channel_uri=f"{base}/api/v1/sign-in/back-channel/{value.name}" if is_oidc else None,
        created_at=value.created_at,
        created_by=value.created_by,
    )


def to_rule(view: RuleView) -> wire.GroupRule:
    return wire.GroupRule(
        id=view.rule.id,
        group=view.rule.group,
        project=view.project,
        role=view.rule.role,
        provider=view.provider,
        created_at=view.rule.created_at,
        created_by=view.rule.created_by,
    )
