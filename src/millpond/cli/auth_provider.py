"""`mill auth provider`: OpenID providers and directories that people sign in with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.prompts import read_secret
from millpond.cli.session import Session
from millpond.client.sign_in import (
    change_provider,
    create_provider,
    delete_provider,
    get_provider,
    list_providers,
    test_provider,
)
from millpond.errors import BadRequest, MillError
from millpond.model.sign_in import ProviderKind
from millpond.wire.sign_in import LdapChange, OidcChange, Provider, ProviderChange, ProviderCreate

app = typer.Typer(help="Manage OpenID providers and directories that people sign in with.")

_OPENID, _DIRECTORY = "OpenID", "Directory (LDAP)"


def _openid(metavar: str | None, help: str, *names: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=_OPENID)


def _directory(metavar: str | None, help: str, *names: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=_DIRECTORY)


Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the provider, like corp.")]
Title = Annotated[str | None, typer.Option(help="What the button of the sign-in page says.")]
Create = Annotated[
    bool | None,
    typer.Option(
        "--create-accounts/--linked-only", help="Make accounts at first sign-ins, or let linked people in alone."
    ),
]
Issuer = Annotated[str | None, _openid("URL", "Issuer, as the provider writes it.")]
ClientId = Annotated[str | None, _openid("ID", "Id of the client that was registered there.")]
ClientSecretFile = Annotated[Path | None, _openid("FILE", "File with the client's secret; - reads stdin.")]
Scopes = Annotated[str | None, _openid("SCOPE,…", "Scopes to ask for (default: openid,profile,email).", "--scopes")]
GroupsClaim = Annotated[str | None, _openid("CLAIM", "Claim with the groups (default: groups); dots go inside.")]
NameClaim = Annotated[str | None, _openid("CLAIM", "Claim that names new accounts (default: preferred_username).")]
Domains = Annotated[str | None, _openid("DOMAIN,…", "Domains of e-mail addresses that may sign in (default: all).")]
Unverified = Annotated[
    bool | None,
    _openid(
        None, "Let people in whose address the provider has not verified.", "--allow-unverified-email/--verified-email"
    ),
]
LdapUrl = Annotated[str | None, _directory("URL", "Address of the directory, like ldaps://host.", "--ldap")]
StartTls = Annotated[bool | None, _directory(None, "Encrypt with StartTLS.", "--start-tls/--no-start-tls")]
CaFile = Annotated[
    Path | None, _directory("FILE", "Certificates in PEM to trust instead of the machine's.", "--ldap-ca-file")
]
BindDn = Annotated[str | None, _directory("DN", "Account that looks people up (default: anonymous).")]
BindPasswordFile = Annotated[Path | None, _directory("FILE", "File with its password; - reads stdin.")]
UserBase = Annotated[str | None, _directory("DN", "Where people are.")]
UserFilter = Annotated[str | None, _directory("FILTER", "Filter of one person (default: (uid={username})).")]
GroupBase = Annotated[str | None, _directory("DN", "Where groups are; without it, nobody has any.")]
GroupFilter = Annotated[str | None, _directory("FILTER", "Filter of a person's groups (default: (member={dn})).")]
GroupName = Annotated[str | None, _directory("ATTRIBUTE", "Attribute that names a group (default: cn).")]
Nested = Annotated[bool | None, _directory(None, "Count groups of groups, too.", "--nested/--not-nested")]
IdAttribute = Annotated[
    str | None,
    _directory("ATTRIBUTE", "Attribute that never changes (default: entryUUID; Active Directory: objectGUID)."),
]
NameAttribute = Annotated[str | None, _directory("ATTRIBUTE", "Attribute that names new accounts (default: uid).")]
Timeout = Annotated[
    float | None, _directory("SECONDS", "How long to wait for an answer (default: 5).", "--ldap-timeout")
]


@command(app, "add")
def add(
    mill: Session,
    name: Name,
    issuer: Issuer = None,
    client_id: ClientId = None,
    client_secret_file: ClientSecretFile = None,
    scopes: Scopes = None,
    groups_claim: GroupsClaim = None,
    name_claim: NameClaim = None,
    domains: Domains = None,
    allow_unverified_email: Unverified = None,
    ldap: LdapUrl = None,
    start_tls: StartTls = None,
    ldap_ca_file: CaFile = None,
    bind_dn: BindDn = None,
    bind_password_file: BindPasswordFile = None,
    user_base: UserBase = None,
    user_filter: UserFilter = None,
    group_base: GroupBase = None,
    group_filter: GroupFilter = None,
    group_name: GroupName = None,
    nested: Nested = None,
    id_attribute: IdAttribute = None,
    name_attribute: NameAttribute = None,
    ldap_timeout: Timeout = None,
    title: Title = None,
    create_accounts: Create = None,
) -> None:
    """Add an OpenID provider (--issuer) or a directory (--ldap). Secrets are encrypted and never shown again.

    Example: mill auth provider add corp --issuer https://login.example.com --client-id millpond --client-secret-file s
    """
    oidc = _oidc(issuer, client_id, scopes, groups_claim, name_claim, domains, allow_unverified_email, create_accounts)
    directory = _ldap(
        url=ldap, start_tls=start_tls, ca=ldap_ca_file, bind_dn=bind_dn, user_base=user_base, user_filter=user_filter,
        group_base=group_base, group_filter=group_filter, group_name=group_name, nested=nested,
        id_attribute=id_attribute, name_attribute=name_attribute, timeout=ldap_timeout, create_accounts=create_accounts,
    )  # fmt: skip
    if (issuer is None) == (ldap is None):
        raise BadRequest("Give either --issuer URL or --ldap URL.", hint="See: mill auth provider add --help")
    asked: dict[str, Any] = {
        "name": name,
        "title": title or "",
        "oidc" if issuer else "ldap": oidc if issuer else directory,
    }
    if (secret := _secret(client_secret_file, bind_password_file)) is not None:
        asked["secret"] = secret
    made = create_provider(mill.api, ProviderCreate.model_validate(asked))
    mill.out.note(f"Provider {name} added. Test it: mill auth provider test {name}")
    if made.redirect_uri:
        mill.out.note(f"Allow this redirect URI there: {made.redirect_uri}")
    _show(mill, made)


@command(app, "set")
def change(
    mill: Session,
    name: Name,
    issuer: Issuer = None,
    client_id: ClientId = None,
    client_secret_file: ClientSecretFile = None,
    scopes: Scopes = None,
    groups_claim: GroupsClaim = None,
    name_claim: NameClaim = None,
    domains: Domains = None,
    allow_unverified_email: Unverified = None,
    ldap: LdapUrl = None,
    start_tls: StartTls = None,
    ldap_ca_file: CaFile = None,
    bind_dn: BindDn = None,
    bind_password_file: BindPasswordFile = None,
    user_base: UserBase = None,
    user_filter: UserFilter = None,
    group_base: GroupBase = None,
    group_filter: GroupFilter = None,
    group_name: GroupName = None,
    nested: Nested = None,
    id_attribute: IdAttribute = None,
    name_attribute: NameAttribute = None,
    ldap_timeout: Timeout = None,
    title: Title = None,
    create_accounts: Create = None,
    enabled: Annotated[bool | None, typer.Option("--enable/--disable", help="Let people sign in with it.")] = None,
) -> None:
    """Change what is given of a provider.

    Example: mill auth provider set corp --title "Corporate account" --groups-claim roles
    """
    is_oidc = get_provider(mill.api, name).kind is ProviderKind.OIDC
    accounts = (create_accounts, None) if is_oidc else (None, create_accounts)
    oidc = _oidc(issuer, client_id, scopes, groups_claim, name_claim, domains, allow_unverified_email, accounts[0])
    directory = _ldap(
        url=ldap, start_tls=start_tls, ca=ldap_ca_file, bind_dn=bind_dn, user_base=user_base, user_filter=user_filter,
        group_base=group_base, group_filter=group_filter, group_name=group_name, nested=nested,
        id_attribute=id_attribute, name_attribute=name_attribute, timeout=ldap_timeout, create_accounts=accounts[1],
    )  # fmt: skip
    given = {
        "oidc": oidc if oidc.model_fields_set else None,
        "ldap": directory if directory.model_fields_set else None,
        "secret": _secret(client_secret_file, bind_password_file),
        "title": title,
        "enabled": enabled,
    }
    wanted = {key: value for key, value in given.items() if value is not None}
    if not wanted:
        raise BadRequest("Nothing to change.", hint="See: mill auth provider set --help")
    changed = change_provider(mill.api, name, ProviderChange.model_validate(wanted))
    mill.out.note(f"Provider {name} changed.")
    _show(mill, changed)


@command(app, "list")
def list_all(mill: Session) -> None:
    """List providers.

    Example: mill auth provider list
    """
    known = list_providers(mill.api)
    mill.out.items(
        known.items,
        [
            ("PROVIDER", lambda one: one.name),
            ("KIND", lambda one: one.kind),
            ("TITLE", lambda one: one.title),
            ("ADDRESS", lambda one: one.oidc.issuer if one.oidc else one.ldap and one.ldap.url),
            ("ENABLED", lambda one: one.enabled),
            ("CREATED", lambda one: one.created_at),
            ("BY", lambda one: one.created_by),
        ],
        empty="No providers: people sign in with a password. Add one: mill auth provider add NAME --issuer URL …",
    )


@command(app, "show")
def show(mill: Session, name: Name) -> None:
    """Show a provider, and what its administrator enters there. Secrets are not shown.

    Example: mill auth provider show corp
    """
    _show(mill, get_provider(mill.api, name))


@command(app, "test")
def test(mill: Session, name: Name) -> None:
    """Test whether a provider answers as it should. Nobody signs in. Exit code 1 if not.

    Example: mill auth provider test corp
    """
    result = test_provider(mill.api, name)
    if mill.out.as_json:
        mill.out.shape(result, [])
    else:
        for line in result.found:
            mill.out.line(line)
        if not result.works:
            raise MillError(f"{name} does not work: {result.problem}", hint=result.hint)
        mill.out.note(f"{name} works.")
    if not result.works:
        raise typer.Exit(1)


@command(app, "rm")
def remove(
    mill: Session, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False
) -> None:
    """Remove a provider and its rules. Accounts stay; people who have no password can no longer sign in.

    Example: mill auth provider rm corp
    """
    mill.confirm(f"Remove the provider {name}?", yes=yes)
    delete_provider(mill.api, name)
    mill.out.note(f"Provider {name} removed.")


def _oidc(
    issuer: str | None,
    client_id: str | None,
    scopes: str | None,
    groups_claim: str | None,
    name_claim: str | None,
    domains: str | None,
    unverified: bool | None,
    create: bool | None,
) -> OidcChange:
    given = {
        "issuer": issuer,
        "client_id": client_id,
        "scopes": _words(scopes),
        "groups_claim": groups_claim,
        "name_claim": name_claim,
        "domains": _words(domains),
        "allow_unverified_email": unverified,
        "create_accounts": create,
    }
    return OidcChange.model_validate({key: value for key, value in given.items() if value is not None})


def _ldap(*, ca: Path | None, **given: Any) -> LdapChange:
    known = {key: value for key, value in given.items() if value is not None}
    if ca is not None:
        known["ca"] = read_secret(ca, "certificate") + "\n"
    return LdapChange.model_validate(known)


def _secret(*files: Path | None) -> str | None:
    return next((read_secret(file, "secret") for file in files if file is not None), None)


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word for word in text.replace(",", " ").split() if word]


def _show(mill: Session, provider: Provider) -> None:
    settings = (provider.oidc or provider.ldap or provider).model_dump(mode="json")
    own = [(key.replace("_", " "), value) for key, value in settings.items() if key != "ca" and value not in ("", [])]
    mill.out.shape(
        provider,
        [
            ("provider", provider.name),
            ("kind", provider.kind),
            ("title", provider.title),
            ("enabled", provider.enabled),
            *own,
            ("secret", provider.has_secret),
            ("redirect URI", provider.redirect_uri),
            ("after sign-out", provider.sign_out_uri),
            ("back-channel logout", provider.back_channel_uri),
            ("created", provider.created_at),
            ("by", provider.created_by),
        ],
    )
