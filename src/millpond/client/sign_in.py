"""Single sign-on, sessions and logins of command lines, over the API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from millpond.client.http import Api, segment
from millpond.errors import NotFound
from millpond.model.people import Role
from millpond.wire.people import BrowserSession, NewToken, SessionsEnded
from millpond.wire.sign_in import (
    DeviceLoginBegun,
    DeviceLoginCreate,
    DeviceLoginPoll,
    GroupRule,
    GroupRuleCreate,
    GroupRuleList,
    LinkedSignIn,
    LinkedSignInList,
    LocalLoginPut,
    LoginGrantRedeem,
    Provider,
    ProviderChange,
    ProviderCreate,
    ProviderList,
    ProviderTest,
    RuleTest,
    RuleTested,
    SignInLinkPut,
    SignInWays,
)


def sign_in_ways(api: Api) -> SignInWays:
    """How one may sign in; with a password alone at a server that is older than this."""
    try:
        return api.get("/sign-in", SignInWays)
    except NotFound:
        return SignInWays(password=True, providers=[], directories=[])


def list_providers(api: Api) -> ProviderList:
    return api.get("/auth/providers", ProviderList)


def get_provider(api: Api, name: str) -> Provider:
    return api.get(f"/auth/providers/{segment(name)}", Provider)


def create_provider(api: Api, request: ProviderCreate) -> Provider:
    return api.send("POST", "/auth/providers", Provider, request)


def change_provider(api: Api, name: str, change: ProviderChange) -> Provider:
    return api.send("PATCH", f"/auth/providers/{segment(name)}", Provider, change)


def delete_provider(api: Api, name: str) -> None:
    api.request("DELETE", f"/auth/providers/{segment(name)}")


def test_provider(api: Api, name: str) -> ProviderTest:
    return api.send("POST", f"/auth/providers/{segment(name)}/test", ProviderTest)


def set_local_login(api: Api, *, on: bool) -> None:
    api.request("PUT", "/auth/local-login", body=LocalLoginPut(on=on))


def list_rules(api: Api) -> list[GroupRule]:
    return api.get("/auth/rules", GroupRuleList).items


def create_rule(api: Api, group: str, *, project: str | None, role: Role | None, provider: str | None) -> GroupRule:
    """`project` None: administrators of the site."""
    body = GroupRuleCreate(group=group, project=project, role=role, provider=provider)
    return api.send("POST", "/auth/rules", GroupRule, body)


def delete_rule(api: Api, rule_id: str) -> None:
    api.request("DELETE", f"/auth/rules/{segment(rule_id)}")


def test_rules(api: Api, provider: str, claims: Mapping[str, Any]) -> RuleTested:
    return api.send("POST", "/auth/rules/test", RuleTested, RuleTest(provider=provider, claims=dict(claims)))


def list_links(api: Api, user: str) -> list[LinkedSignIn]:
    return api.get(f"/users/{segment(user)}/sign-ins", LinkedSignInList).items


def link_user(api: Api, user: str, *, provider: str, subject: str) -> LinkedSignIn:
    body = SignInLinkPut(provider=provider, subject=subject)
    return api.send("POST", f"/users/{segment(user)}/sign-ins", LinkedSignIn, body)


def unlink_user(api: Api, user: str, *, provider: str, subject: str) -> None:
    path = f"/users/{segment(user)}/sign-ins/{segment(provider)}"
    api.request("DELETE", path, params={"subject": subject})


def list_sessions(api: Api, user: str | None = None) -> Iterator[BrowserSession]:
    return api.items("/sessions", BrowserSession, user=user)


def end_session(api: Api, session_id: str, user: str | None = None) -> None:
    api.request("DELETE", f"/sessions/{segment(session_id)}", params={"user": user})


def end_sessions(api: Api, user: str | None = None) -> int:
    """All of them; how many there were."""
    return api.send("DELETE", "/sessions", SessionsEnded, user=user).count


def redeem_login(api: Api, code: str, verifier: str) -> NewToken:
    return api.send("POST", "/login-grants/redeem", NewToken, LoginGrantRedeem(code=code, verifier=verifier))


def begin_device_login(api: Api, machine: str) -> DeviceLoginBegun:
    return api.send("POST", "/device-logins", DeviceLoginBegun, DeviceLoginCreate(machine=machine))


def poll_device_login(api: Api, secret: str) -> NewToken | None:
    """None while nobody has confirmed the code."""
    answer = api.request("POST", "/device-logins/poll", body=DeviceLoginPoll(secret=secret))
    return None if answer.status == 202 else NewToken.model_validate_json(answer.content)
