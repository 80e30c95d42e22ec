"""Signing in with a directory (LDAP): the person is found with the server's own account, then bound as themselves.

What people type goes into filters escaped, and an empty password is refused here: directories take one for a bind
without a name, which succeeds.
"""

from __future__ import annotations

import importlib
import re
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from math import ceil
from typing import Any
from urllib.parse import urlsplit

from millpond.errors import Invalid, ProviderUnavailable, SignInRefused
from millpond.model.sign_in import Claims, LdapSettings, Provider
from millpond.services.deps import Deps
from millpond.services.sign_in.http import unavailable

_MOST_GROUPS = 2_000
_DEEPEST = 10
_WRONG_PASSWORD = 49


def issuer_of(settings: LdapSettings) -> str:
    """Who somebody is there is told by their entry in this part of the directory, whichever server is asked."""
    return f"ldap:{settings.user_base.lower()}"[:500]


def checked(settings: LdapSettings) -> LdapSettings:
    """`settings` itself, if it may work. Invalid says what is wrong."""
    _library()
    try:
        parts = urlsplit(settings.url)
        is_url = parts.scheme in ("ldap", "ldaps") and bool(parts.hostname) and not parts.path.strip("/")
        _ = parts.port
    except ValueError:
        is_url = False
    if not is_url:
        raise Invalid(
            f"{settings.url[:200]!r} is not the URL of a directory.",
            hint="Write it like ldaps://ldap.example.com.",
            fields=["url"],
        )
    if not settings.user_base:
        raise Invalid("The base of users is missing.", hint="Like ou=people,dc=example,dc=com.", fields=["user_base"])
    if "{username}" not in settings.user_filter:
        raise Invalid("The filter of users lacks {username}.", hint="Like (uid={username}).", fields=["user_filter"])
    if settings.group_base and not any(word in settings.group_filter for word in ("{dn}", "{username}")):
        raise Invalid("The filter of groups lacks {dn}.", hint="Like (member={dn}).", fields=["group_filter"])
    if settings.start_tls and settings.url.startswith("ldaps:"):
        raise Invalid("ldaps:// is encrypted already: leave StartTLS out.", fields=["start_tls"])
    if not 0.5 <= settings.timeout <= 60:
        raise Invalid("The timeout must be between 0.5 and 60 seconds.", fields=["timeout"])
    _tls(settings)
    return settings


def authenticate(deps: Deps, provider: Provider, username: str, password: str) -> Claims | None:
    """Who this is; None if there is no such person or the password is wrong. Not inside a transaction."""
    if not username or not password or "\0" in username:
        return None
    settings = provider.ldap
    with _connected(deps, provider) as connection:
        entry = _find(provider, connection, username)
        if entry is None or not _binds(provider, entry["dn"], password):
            return None
        groups = _groups(settings, connection, entry["dn"], username)
        subject = _text(entry, settings.id_attribute)
        if not subject:
            raise unavailable(provider.name, f"the entry {entry['dn']} has no attribute {settings.id_attribute}")
        return Claims(
            issuer=issuer_of(settings),
            subject=subject[:300],
            name=_text(entry, settings.name_attribute) or username,
            full_name=_text(entry, settings.full_name_attribute)[:200],
            email=_text(entry, settings.email_attribute)[:320],
            groups=frozenset(groups),
        )


def test(deps: Deps, provider: Provider) -> list[str]:
    """What is found there, in words. ProviderUnavailable if it cannot be used."""
    settings = provider.ldap
    with _connected(deps, provider) as connection:
        found = [f"connected to {settings.url}{' with StartTLS' if settings.start_tls else ''}"]
        found.append(f"bound as {settings.bind_dn or 'nobody (anonymous)'}")
        person = settings.user_filter.replace("{username}", "*")
        found.append(f"people below {settings.user_base}: {_count(connection, settings.user_base, person)}")
        if settings.group_base:
            group = settings.group_filter.replace("{dn}", "*").replace("{username}", "*")
            found.append(f"groups below {settings.group_base}: {_count(connection, settings.group_base, group)}")
        return found


@contextmanager
def _connected(deps: Deps, provider: Provider) -> Iterator[Any]:
    """A connection with the server's own account. Whatever goes wrong with it is ProviderUnavailable."""
    settings = provider.ldap
    secret = None
    if provider.secret is not None:
        secret = deps.seal.open(provider.secret, f"auth provider {provider.id}")
    try:
        connection = _open(settings, settings.bind_dn or None, secret)
        try:
            if not connection.bind():
                raise unavailable(
                    provider.name, f"it does not let {settings.bind_dn or 'anonymous users'} in ({_said(connection)})"
                )
            yield connection
        finally:
            connection.unbind()
    except (_library().core.exceptions.LDAPException, _Refused, OSError) as error:
        raise _failed(provider, error) from error


def _open(settings: LdapSettings, user: str | None, password: str | None) -> Any:
    parts = urlsplit(settings.url)
    host = parts.hostname or ""
    ldap = _library()
    server = ldap.Server(
        host,
        port=parts.port,
        use_ssl=parts.scheme == "ldaps",
        tls=_tls(settings),
        get_info=ldap.NONE,
        connect_timeout=settings.timeout,
    )
    connection = ldap.Connection(
        server,
        user=user,
        password=password,
        receive_timeout=ceil(settings.timeout),
        auto_referrals=False,
        read_only=True,
    )
    connection.open()
    if settings.start_tls and not connection.start_tls():
        raise _Refused(f"StartTLS is refused ({_said(connection)})")
    return connection


def _binds(provider: Provider, dn: str, password: str) -> bool:
    """Over a connection of its own: the server's account goes on searching."""
    connection = _open(provider.ldap, dn, password)
    try:
        if connection.bind():
            return True
        if connection.result["result"] != _WRONG_PASSWORD:
            # Expired, locked …: the person did prove nothing, but should know.
            raise SignInRefused(
                f"The directory {provider.name!r} does not let you in: {_said(connection)}.",
                hint="Ask its administrator.",
            )
        return False
    finally:
        connection.unbind()


def _find(provider: Provider, connection: Any, username: str) -> dict[str, Any] | None:
    settings = provider.ldap
    wanted = [
        settings.id_attribute,
        settings.name_attribute,
        settings.full_name_attribute,
        settings.email_attribute,
    ]
    person = settings.user_filter.replace("{username}", _escaped(username))
    connection.search(settings.user_base, person, attributes=wanted, size_limit=2)
    found = _entries(connection)
    if len(found) > 1:
        raise unavailable(provider.name, f"more than one entry fits {person}")
    return found[0] if found else None


def _groups(settings: LdapSettings, connection: Any, dn: str, username: str) -> list[str]:
    """Names of the person's groups; with `nested`, also of groups that these are in."""
    if not settings.group_base:
        return []
    names: list[str] = []
    seen: set[str] = set()
    waiting = [dn]
    for _ in range(_DEEPEST if settings.nested else 1):
        found = [entry for member in waiting for entry in _groups_of(settings, connection, member, username)]
        new = [entry for entry in found if entry["dn"] not in seen]
        seen |= {entry["dn"] for entry in new}
        names += [name for entry in new if (name := _text(entry, settings.group_name))]
        waiting = [entry["dn"] for entry in new]
        if not waiting or len(names) >= _MOST_GROUPS:
            break
    return names[:_MOST_GROUPS]


def _groups_of(settings: LdapSettings, connection: Any, dn: str, username: str) -> list[dict[str, Any]]:
    group = settings.group_filter.replace("{dn}", _escaped(dn))
    group = group.replace("{username}", _escaped(username))
    connection.search(settings.group_base, group, attributes=[settings.group_name], size_limit=_MOST_GROUPS)
    return _entries(connection)


def _count(connection: Any, base: str, wanted: str) -> str:
    most = 1_000
    connection.search(base, wanted, attributes=["1.1"], size_limit=most)
    if connection.result["result"] not in (0, 4):
        raise _Refused(f"{base}: {_said(connection)}")
    count = len(_entries(connection))
    return f"{count}{' or more' if count >= most else ''}"


def _entries(connection: Any) -> list[dict[str, Any]]:
    return [entry for entry in connection.response or () if entry.get("type") == "searchResEntry"]


def _text(entry: dict[str, Any], attribute: str) -> str:
    """The first value; bytes that are no text (Active Directory's ids) in hexadecimal digits."""
    raw: Sequence[bytes] = next(
        (values for name, values in entry["raw_attributes"].items() if name.lower() == attribute.lower()), ()
    )
    if not raw:
        return ""
    if attribute.lower() == "objectguid":
        return raw[0].hex()
    try:
        return raw[0].decode().replace("\0", "")
    except UnicodeDecodeError:
        return raw[0].hex()


def _tls(settings: LdapSettings) -> Any:
    options: dict[str, Any] = {"validate": ssl.CERT_REQUIRED}
    if settings.ca:
        try:
            ssl.create_default_context().load_verify_locations(cadata=settings.ca)
        except (ssl.SSLError, ValueError) as error:
            raise Invalid("The file of trusted certificates holds none in PEM.", fields=["ca"]) from error
        options["ca_certs_data"] = settings.ca
    return _library().Tls(**options)


def _failed(provider: Provider, error: Exception) -> ProviderUnavailable:
    told = " ".join(str(error).split())[:300] or type(error).__name__
    return unavailable(provider.name, f"{provider.ldap.url} does not answer as it should ({told})")


def _said(connection: Any) -> str:
    result = connection.result or {}
    return result.get("message") or result.get("description") or "no reason given"


@cache
def _library() -> Any:
    """ldap3, which takes a tenth of a second to load: not before a directory is used. Invalid without it."""
    try:
        return importlib.import_module("ldap3")
    except ImportError:
        raise Invalid(
            "This server lacks the library for directories.", hint="Install it there: pip install 'millpond[ldap]'"
        ) from None


def _escaped(value: str) -> str:
    """For a filter: what has a meaning there stands for itself (RFC 4515)."""
    return re.sub(r"[\\*()\0]|[^\x00-\x7f]", lambda one: "".join(f"\\{byte:02x}" for byte in one[0].encode()), value)


class _Refused(Exception):
    """What the directory said."""
