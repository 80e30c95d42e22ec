"""Single sign-on: how one may sign in, providers, rules, linked sign-ins, and logins of command lines."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from millpond.model.people import Role
from millpond.model.sign_in import ProviderKind
from millpond.wire.base import Change, Request, Response, Time

Text = Annotated[str, Field(max_length=500)]
Short = Annotated[str, StringConstraints(max_length=200)]


class SignInProvider(Response):
    name: str
    title: str


class SignInProblem(Response):
    code: str
    detail: str
    hint: str | None = None


class SignInWays(Response):
    """How one may sign in here. `password`: with name and password, kept here or by a directory."""

    password: bool
    providers: list[SignInProvider]
    directories: list[SignInProvider]
    # Why the last sign-in with a provider failed.
    problem: SignInProblem | None = None


class LinkStarted(Response):
    """Where the browser goes to link an account of a provider."""

    url: str


class OidcSettings(Response):
    issuer: str
    client_id: str
    scopes: list[str]
    groups_claim: str
    name_claim: str
    domains: list[str]
    allow_unverified_email: bool
    create_accounts: bool


class LdapSettings(Response):
    url: str
    user_base: str
    start_tls: bool
    ca: str
    bind_dn: str
    user_filter: str
    group_base: str
    group_filter: str
    group_name: str
    nested: bool
    id_attribute: str
    name_attribute: str
    full_name_attribute: str
    email_attribute: str
    timeout: float
    create_accounts: bool


class Provider(Response):
    """`redirect_uri`, `sign_out_uri` and `back_channel_uri` are what its administrator enters there."""

    name: str
    kind: ProviderKind
    title: str
    enabled: bool
    has_secret: bool
    oidc: OidcSettings | None = None
    ldap: LdapSettings | None = None
    redirect_uri: str | None = None
    sign_out_uri: str | None = None
    back_channel_uri: str | None = None
    created_at: Time
    created_by: str


class ProviderList(Response):
    items: list[Provider]
    local_login: bool


class OidcChange(Change):
    issuer: Text | None = None
    client_id: Text | None = None
    scopes: list[Short] | None = Field(default=None, max_length=50)
    groups_claim: Short | None = None
    name_claim: Short | None = None
    domains: list[Short] | None = Field(default=None, max_length=100)
    allow_unverified_email: bool | None = None
    create_accounts: bool | None = None


class LdapChange(Change):
    url: Text | None = None
    user_base: Text | None = None
    start_tls: bool | None = None
    ca: Annotated[str, Field(max_length=200_000)] | None = None
    bind_dn: Text | None = None
    user_filter: Text | None = None
    group_base: Text | None = None
    group_filter: Text | None = None
    group_name: Short | None = None
    nested: bool | None = None
    id_attribute: Short | None = None
    name_attribute: Short | None = None
    full_name_attribute: Short | None = None
    email_attribute: Short | None = None
    timeout: float | None = None
    create_accounts: bool | None = None


class ProviderCreate(Change):
    """Either `oidc` or `ldap`. `secret`: of the client there, or the password of `bind_dn`."""

    name: str
    title: Short = ""
    oidc: OidcChange | None = None
    ldap: LdapChange | None = None
    secret: Annotated[str, Field(max_length=2_000)] | None = None


class ProviderChange(Change):
    title: Short | None = None
    oidc: OidcChange | None = None
    ldap: LdapChange | None = None
    secret: Annotated[str, Field(max_length=2_000)] | None = None
    enabled: bool | None = None


class ProviderTest(Response):
    works: bool
    found: list[str]
    problem: str | None = None
    hint: str | None = None


class LocalLoginPut(Request):
    on: bool


class GroupRule(Response):
    """`project` None: administrators of the site. `provider` None: groups of all of them."""

    id: str
    group: str
    project: str | None
    role: Role
    provider: str | None
    created_at: Time
    created_by: str


class GroupRuleList(Response):
    items: list[GroupRule]


class GroupRuleCreate(Request):
    group: str
    project: str | None = None
    role: Role | None = None
    provider: str | None = None


class RuleTest(Request):
    """Claims of somebody at a provider; for a directory `username` and `groups`."""

    provider: str
    claims: dict[str, Any]


class RoleReason(Response):
    """`project` None: the administration of the site."""

    project: str | None
    before: Role | None
    after: Role | None
    text: str


class RuleTested(Response):
    """`user` None: somebody who has no account here yet. `groups` None: the provider did not tell them."""

    user: str | None
    name: str
    groups: list[str] | None
    reasons: list[RoleReason]
    refused: str | None = None


class LinkedSignIn(Response):
    provider: str
    subject: str
    email: str
    created_at: Time
    used_at: Time | None


class LinkedSignInList(Response):
    items: list[LinkedSignIn]


class SignInLinkPut(Request):
    provider: str
    subject: str


class LoginGrantCreate(Request):
    """For a command line on this machine: `challenge` is the SHA-256 of its secret, in base64url."""

    machine: str
    challenge: str


class LoginGrant(Response):
    code: str


class LoginGrantRedeem(Request):
    code: Annotated[str, Field(max_length=4_000)]
    verifier: Annotated[str, Field(max_length=200)]


class DeviceLoginCreate(Request):
    machine: str


class DeviceLoginBegun(Response):
    """The command line shows `user_code` and `url`, and asks with `secret` every `interval` seconds."""

    secret: str
    user_code: str
    url: str
    interval: int
    expires_at: Time


class DeviceLogin(Response):
    user_code: str
    machine: str
    address: str
    created_at: Time
    expires_at: Time


class DeviceLoginPoll(Request):
    secret: Annotated[str, Field(max_length=200)]


class DeviceLoginAnswer(Request):
    confirm: bool
