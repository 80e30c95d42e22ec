"""Signing in other than with a password kept here: providers, rules from groups to roles, linked identities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from enum import Enum
from typing import Any, Self

from millpond.model.people import Role

# Stands for the whole site where a rule or a grant names a project.
SITE = ""


class ProviderKind(Enum):
    OIDC = "oidc"
    LDAP = "ldap"


@dataclass(frozen=True, slots=True)
class _Settings:
    """Read from the document kept in the database; what an older version left out has its default."""

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        known = {field.name for field in fields(cls)}
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in document.items()}
        return cls(**{name: value for name, value in values.items() if name in known})

    def to_document(self) -> dict[str, Any]:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class OidcSettings(_Settings):
    """An OpenID provider, as its administrator registered this server there."""

    issuer: str
    client_id: str
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    groups_claim: str = "groups"
    name_claim: str = "preferred_username"
    # Domains of e-mail addresses that may sign in; empty for all.
    domains: tuple[str, ...] = ()
    allow_unverified_email: bool = False
    # False: only people who were linked may sign in.
    create_accounts: bool = True


@dataclass(frozen=True, slots=True)
class LdapSettings(_Settings):
    """A directory. `{username}` and `{dn}` in the filters stand for what is looked for, escaped."""

    url: str
    user_base: str
    start_tls: bool = False
    # Certificates in PEM that are trusted instead of the machine's.
    ca: str = ""
    bind_dn: str = ""
    user_filter: str = "(uid={username})"
    group_base: str = ""
    group_filter: str = "(member={dn})"
    group_name: str = "cn"
    # Groups of groups count, too.
    nested: bool = False
    id_attribute: str = "entryUUID"
    name_attribute: str = "uid"
    full_name_attribute: str = "cn"
    email_attribute: str = "mail"
    timeout: float = 5.0
    create_accounts: bool = True


@dataclass(frozen=True, slots=True)
class Provider:
    """`secret` is sealed: the client secret of OpenID, the password of `bind_dn`."""

    id: str
    name: str
    kind: ProviderKind
    title: str
    settings: OidcSettings | LdapSettings
    secret: bytes | None
    enabled: bool
    created_at: datetime
    created_by: str

    @property
    def oidc(self) -> OidcSettings:
        assert isinstance(self.settings, OidcSettings), self.name
        return self.settings

    @property
    def ldap(self) -> LdapSettings:
        assert isinstance(self.settings, LdapSettings), self.name
        return self.settings


@dataclass(frozen=True, slots=True)
class GroupRule:
    """People of a group have a role in a project; `target` SITE makes them administrators of the site."""

    id: str
    # None: groups of every provider.
    provider_id: str | None
    # With `*` for anything.
    group: str
    target: str
    role: Role
    created_at: datetime
    created_by: str


@dataclass(frozen=True, slots=True)
class RuleGrant:
    """A role that rules gave somebody at their last login, and the one they had before by hand."""

    target: str
    provider_id: str
    role: Role
    before: Role | None


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody at a provider, who is a user here. Found by issuer and subject alone."""

    issuer: str
    subject: str
    user_id: str
    provider: str
    email: str
    created_at: datetime
    used_at: datetime | None


@dataclass(frozen=True, slots=True)
class Claims:
    """What a provider says of somebody who signed in. `groups` is None where it did not tell them all."""

    issuer: str
    subject: str
    name: str
    full_name: str = ""
    email: str = ""
    groups: frozenset[str] | None = frozenset()


@dataclass(frozen=True, slots=True)
class DeviceLogin:
    """A command line that waits until somebody confirms the code it shows."""

    id: str
    user_code: str
    machine: str
    address: str
    created_at: datetime
    expires_at: datetime
    user_id: str | None = None
    denied: bool = False
