"""What OpenID providers say of themselves, and the keys they sign with: fetched once and kept for a while.

Providers change their keys whenever they like. A token whose key is not known makes the keys be fetched again, at most
once in `KEYS_AGAIN_SECONDS`: forged tokens must not turn this server into a stream of requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from millpond.model.address import is_local_host
from millpond.model.sign_in import Provider
from millpond.services.sign_in.http import ask, unavailable

METADATA_SECONDS = 3600.0
KEYS_SECONDS = 3600.0
KEYS_AGAIN_SECONDS = 30.0
_NEEDED = ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")
_URLS = (*_NEEDED[1:], "userinfo_endpoint", "end_session_endpoint")


@dataclass(frozen=True, slots=True)
class _Kept:
    keys: KeySet
    at: float


class KnownProviders:
    """In memory, by issuer. Thread-safe; fetches without a lock, so that one slow provider keeps nobody else."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._metadata: dict[str, tuple[Mapping[str, Any], float]] = {}
        self._keys: dict[str, _Kept] = {}

    def metadata(self, provider: Provider, elapsed: float) -> Mapping[str, Any]:
        """ProviderUnavailable for an issuer that does not answer as OpenID Connect Discovery says."""
        issuer = provider.oidc.issuer
        with self._lock:
            known = self._metadata.get(issuer)
        if known is not None and elapsed - known[1] < METADATA_SECONDS:
            return known[0]
        found = fetch_metadata(provider)
        with self._lock:
            self._metadata[issuer] = (found, elapsed)
        return found

    def keys(self, provider: Provider, elapsed: float, *, wanted: str | None = None) -> KeySet:
        """The provider's keys; fetched again if `wanted` (a key id) is not among them and they are not quite new."""
        issuer = provider.oidc.issuer
        with self._lock:
            known = self._keys.get(issuer)
        if known is not None:
            age = elapsed - known.at
            lacks = wanted is not None and all(key.kid != wanted for key in known.keys.keys)
            if age < KEYS_AGAIN_SECONDS or (age < KEYS_SECONDS and not lacks):
                return known.keys
        uri = self.metadata(provider, elapsed)["jwks_uri"]
        keys = _read_keys(provider, ask(provider.name, "GET", uri)[1])
        with self._lock:
            self._keys[issuer] = _Kept(keys, elapsed)
        return keys

    def forget(self, issuer: str) -> None:
        with self._lock:
            self._metadata.pop(issuer, None)
            self._keys.pop(issuer, None)


def fetch_metadata(provider: Provider) -> Mapping[str, Any]:
    issuer = provider.oidc.issuer
    url = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    status, found = ask(provider.name, "GET", url)
    if status != 200 or any(not isinstance(found.get(name), str) for name in _NEEDED):
        raise unavailable(provider.name, f"{url} does not describe an OpenID provider (status {status})")
    if found["issuer"] != issuer:
        raise unavailable(provider.name, f"it calls itself {found['issuer']!r}, not {issuer!r}")
    for name in _URLS:
        if name in found and not is_safe_url(found[name]):
            raise unavailable(provider.name, f"its {name} is no https URL")
    return found


def is_safe_url(url: Any) -> bool:
    """True for https, and for http to this machine or its own network."""
    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_local_host(host or "")))


def _read_keys(provider: Provider, document: Mapping[str, Any]) -> KeySet:
    """Those that we understand, and that are for signing."""
    found = document.get("keys")
    usable = []
    for one in found if isinstance(found, list) else []:
        if not isinstance(one, dict) or one.get("use", "sig") != "sig" or one.get("kty") == "oct":
            continue
        try:
            usable += KeySet.import_key_set({"keys": [one]}).keys
        except (JoseError, ValueError, TypeError, KeyError):
            continue
    if not usable:
        raise unavailable(provider.name, "it publishes no key that signs")
    return KeySet(usable)
