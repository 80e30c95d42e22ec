"""The authorization code flow with PKCE: where a browser is sent, and who came back with a code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from authlib.oauth2.rfc7636 import create_s256_code_challenge

from millpond.errors import SignInRefused
from millpond.model.sign_in import Claims, Provider
from millpond.services.deps import Deps
from millpond.services.sign_in.discovery import is_safe_url
from millpond.services.sign_in.http import ask
from millpond.services.sign_in.id_token import failed, read_id_token

_MOST_GROUPS = 2_000


@dataclass(frozen=True, slots=True)
class Begun:
    """What one sign-in is recognized by when the browser comes back; kept in its cookie."""

    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True, slots=True)
class CameBack:
    claims: Claims
    # What the provider calls its session, and where it is ended.
    session: str | None
    sign_out_url: str | None


def secret_of(deps: Deps, provider: Provider) -> str | None:
    return None if provider.secret is None else deps.seal.open(provider.secret, purpose(provider.id))


def purpose(provider_id: str) -> str:
    return f"auth provider {provider_id}"


def authorization_url(deps: Deps, provider: Provider, begun: Begun, redirect_uri: str) -> str:
    """Asks the provider where that is, the first time. Not inside a transaction."""
    endpoint = deps.sign_in.metadata(provider, deps.clock.elapsed())["authorization_endpoint"]
    asked = {
        "response_type": "code",
        "client_id": provider.oidc.client_id,
        "redirect_uri": redirect_uri,
        "scope": " ".join(provider.oidc.scopes),
        "state": begun.state,
        "nonce": begun.nonce,
        "code_challenge": create_s256_code_challenge(begun.verifier),
        "code_challenge_method": "S256",
    }
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"


def redeem(
    deps: Deps, provider: Provider, begun: Begun, code: str, *, redirect_uri: str, after_sign_out: str
) -> CameBack:
    """Whoever the code stands for. SignInFailed for an answer that cannot be trusted, SignInRefused for somebody who
    is not let in. Not inside a transaction."""
    metadata = deps.sign_in.metadata(provider, deps.clock.elapsed())
    answer = _exchange(deps, provider, metadata, begun, code, redirect_uri)
    id_token, access_token = answer.get("id_token"), answer.get("access_token")
    if not isinstance(id_token, str):
        raise failed(provider, "it gave no ID token; is the scope 'openid' asked for?")
    access_token = access_token if isinstance(access_token, str) else None
    claims = dict(read_id_token(deps, provider, id_token, nonce=begun.nonce, access_token=access_token))
    claims = _with_userinfo(provider, metadata, claims, access_token)
    session = claims.get("sid")
    return CameBack(
        claims=read_claims(provider, claims),
        session=session if isinstance(session, str) and len(session) <= 255 else None,
        sign_out_url=_sign_out_url(provider, metadata, id_token, after_sign_out),
    )


def read_claims(provider: Provider, claims: Mapping[str, Any]) -> Claims:
    """What counts of the claims. SignInRefused for an address that is not verified, or of another domain."""
    settings = provider.oidc
    subject, email = _text(claims, "sub"), _text(claims, "email")
    if not subject or len(subject) > 300:
        raise failed(provider, "it does not say who you are (sub)")
    if email and claims.get("email_verified") not in (True, "true") and not settings.allow_unverified_email:
        raise SignInRefused(
            f"The provider {provider.name!r} has not verified the e-mail address {email}.",
            hint="Verify it there and sign in again. Administrators of providers that never say so: "
            f"mill auth provider set {provider.name} --allow-unverified-email",
        )
    domain = email.rpartition("@")[2].lower()
    if settings.domains and domain not in {one.lower() for one in settings.domains}:
        raise SignInRefused(
            f"Only addresses of {', '.join(settings.domains)} may sign in with {provider.name!r}"
            f", not {email or 'one without an address'}.",
            hint="Choose another account there, or ask an administrator.",
        )
    name = next((found for key in (settings.name_claim, "preferred_username") if (found := _text(claims, key))), "")
    return Claims(
        issuer=settings.issuer,
        subject=subject,
        name=name or email or subject,
        full_name=_text(claims, "name")[:200],
        email=email[:320],
        groups=_groups(claims, settings.groups_claim),
    )


def _exchange(
    deps: Deps, provider: Provider, metadata: Mapping[str, Any], begun: Begun, code: str, redirect_uri: str
) -> Mapping[str, Any]:
    secret, client_id = secret_of(deps, provider), provider.oidc.client_id
    methods = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": begun.verifier,
    }
    auth = None
    if secret is None or "client_secret_basic" not in methods:
        form |= {"client_id": client_id} | ({} if secret is None else {"client_secret": secret})
    else:
        auth = (quote(client_id, safe=""), quote(secret, safe=""))
    status, answer = ask(provider.name, "POST", metadata["token_endpoint"], form=form, auth=auth)
    if status != 200:
        raise failed(provider, f"it did not accept the code ({error_of(answer)})")
    return answer


def _with_userinfo(
    provider: Provider, metadata: Mapping[str, Any], claims: dict[str, Any], access_token: str | None
) -> dict[str, Any]:
    """Many providers put groups and addresses not into the ID token, but where one has to ask."""
    endpoint = metadata.get("userinfo_endpoint")
    wanted = {provider.oidc.groups_claim.partition(".")[0], provider.oidc.name_claim, "email"}
    if not is_safe_url(endpoint) or access_token is None or wanted <= claims.keys():
        return claims
    status, found = ask(provider.name, "GET", str(endpoint), bearer=access_token)
    if status != 200:
        return claims
    if found.get("sub") != claims.get("sub"):
        raise failed(provider, "its answers speak of different people")
    # What is signed comes first.
    return {**found, **claims}


def _groups(claims: Mapping[str, Any], name: str) -> frozenset[str] | None:
    """None where the provider says that there are too many to tell (Entra ID does)."""
    elsewhere = claims.get("_claim_names")
    if name not in claims and isinstance(elsewhere, dict) and name in elsewhere:
        return None
    found = _at(claims, name)
    listed = [found] if isinstance(found, str) else found
    if not isinstance(listed, list):
        return frozenset()
    return frozenset(group for group in listed[:_MOST_GROUPS] if isinstance(group, str) and group)


def _at(claims: Mapping[str, Any], name: str) -> Any:
    """A claim; with dots, one inside others: `realm_access.roles`."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _sign_out_url(provider: Provider, metadata: Mapping[str, Any], id_token: str, after_sign_out: str) -> str | None:
    endpoint = metadata.get("end_session_endpoint")
    if not is_safe_url(endpoint):
        return None
    asked = {
        "id_token_hint": id_token,
        "client_id": provider.oidc.client_id,
        "post_logout_redirect_uri": after_sign_out,
    }
    return f"{endpoint}{'&' if '?' in str(endpoint) else '?'}{urlencode(asked)}"


def error_of(answer: Mapping[str, Any]) -> str:
    """What an OAuth error says, short enough to be shown."""
    told = [str(answer[key])[:200] for key in ("error", "error_description") if answer.get(key)]
    return ": ".join(told) or "no reason given"


def _text(claims: Mapping[str, Any], name: str) -> str:
    found = claims.get(name)
    return found.strip() if isinstance(found, str) and "\0" not in found else ""
