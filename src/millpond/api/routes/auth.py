"""What site administrators set up for signing in: providers, rules from groups to roles, local login."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from millpond.api.access import DepsOf, SiteAdmin
from millpond.api.shapes.sign_in import to_provider, to_rule
from millpond.errors import Invalid
from millpond.model.sign_in import ProviderKind
from millpond.services.sign_in import providers, rules
from millpond.wire import sign_in as wire

router = APIRouter(prefix="/auth", tags=["sign-in"])


@router.get("/providers")
def list_providers(actor: SiteAdmin, request: Request, deps: DepsOf) -> wire.ProviderList:
    items = [to_provider(one, request, deps) for one in providers.list_all(deps)]
    return wire.ProviderList(items=items, local_login=providers.has_local_login(deps))


@router.post("/providers", status_code=201)
def create_provider(body: wire.ProviderCreate, actor: SiteAdmin, request: Request, deps: DepsOf) -> wire.Provider:
    """Its secret is kept sealed and never shown again."""
    kind, settings = _settings(body)
    made = providers.create(
        deps, actor, name=body.name, kind=kind, title=body.title, settings=settings, secret=body.secret
    )
    return to_provider(made, request, deps)


@router.get("/providers/{provider}")
def get_provider(provider: str, actor: SiteAdmin, request: Request, deps: DepsOf) -> wire.Provider:
    return to_provider(providers.get(deps, provider), request, deps)


@router.patch("/providers/{provider}")
def change_provider(
    provider: str, body: wire.ProviderChange, actor: SiteAdmin, request: Request, deps: DepsOf
) -> wire.Provider:
    known = providers.get(deps, provider)
    other = body.ldap if known.kind is ProviderKind.OIDC else body.oidc
    if other is not None:
        raise Invalid(f"{provider!r} is a provider of the kind {known.kind.value}.", fields=["oidc", "ldap"])
    part = body.oidc or body.ldap
    changed = providers.change(
        deps, actor, provider, title=body.title, settings=None if part is None else _given(part), secret=body.secret,
        enabled=body.enabled,
    )  # fmt: skip
    return to_provider(changed, request, deps)


@router.delete("/providers/{provider}", status_code=204)
def delete_provider(provider: str, actor: SiteAdmin, deps: DepsOf) -> None:
    providers.delete(deps, actor, provider)


@router.post("/providers/{provider}/test")
def test_provider(provider: str, actor: SiteAdmin, deps: DepsOf) -> wire.ProviderTest:
    """Whether it answers as it should. Nobody signs in."""
    return wire.ProviderTest.model_validate(providers.test(deps, provider))


@router.put("/local-login", status_code=204)
def set_local_login(body: wire.LocalLoginPut, actor: SiteAdmin, deps: DepsOf) -> None:
    """Whether people may sign in with a password kept here."""
    providers.set_local_login(deps, actor, on=body.on)


@router.get("/rules")
def list_rules(actor: SiteAdmin, deps: DepsOf) -> wire.GroupRuleList:
    return wire.GroupRuleList(items=[to_rule(one) for one in rules.list_all(deps)])


@router.post("/rules", status_code=201)
def create_rule(body: wire.GroupRuleCreate, actor: SiteAdmin, deps: DepsOf) -> wire.GroupRule:
    made = rules.create(
        deps, actor, group=body.group, project=body.project, role=body.role, provider=body.provider
    )  # fmt: skip
    return to_rule(made)


@router.post("/rules/test")
def test_rules(body: wire.RuleTest, actor: SiteAdmin, deps: DepsOf) -> wire.RuleTested:
    """What signing in with these claims would lead to, and why. Nothing is changed."""
    return wire.RuleTested.model_validate(rules.test(deps, body.provider, body.claims))


@router.delete("/rules/{rule}", status_code=204)
def delete_rule(rule: str, actor: SiteAdmin, deps: DepsOf) -> None:
    rules.delete(deps, actor, rule)


def _settings(body: wire.ProviderCreate) -> tuple[ProviderKind, dict[str, Any]]:
    if (body.oidc is None) == (body.ldap is None):
        raise Invalid("Give either `oidc` or `ldap`.", fields=["oidc", "ldap"])
    kind, part = (ProviderKind.OIDC, body.oidc) if body.oidc is not None else (ProviderKind.LDAP, body.ldap)
    assert part is not None
    settings = _given(part)
    needed = ("issuer", "client_id") if kind is ProviderKind.OIDC else ("url", "user_base")
    if missing := [name for name in needed if not settings.get(name)]:
        raise Invalid(f"Missing: {', '.join(missing)}.", fields=missing)
    return kind, settings


def _given(part: wire.OidcChange | wire.LdapChange) -> dict[str, Any]:
    return {name: value for name in part.model_fields_set if (value := getattr(part, name)) is not None}
