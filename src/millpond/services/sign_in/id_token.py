"""Whether a token of an OpenID provider is genuine and meant for us: signature, issuer, audience, times, nonce."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from authlib.oidc.core import CodeIDToken
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from millpond.errors import SignInFailed
from millpond.model.sign_in import Provider
from millpond.services.deps import Deps

# Only those whose keys a provider can publish: a token signed with a shared secret, or not at all, is none of theirs.
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
SKEW_SECONDS = 60
_LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
_LOGOUT_AGE_SECONDS = 300


def read_id_token(
    deps: Deps, provider: Provider, token: str, *, nonce: str, access_token: str | None
) -> Mapping[str, Any]:
    """Its claims. SignInFailed, saying what is wrong with it."""
    header, claims = _decode(deps, provider, token)
    checked = CodeIDToken(
        claims,
        header,
        options={
            "iss": {"essential": True, "value": provider.oidc.issuer},
            "aud": {"essential": True, "value": provider.oidc.client_id},
        },
        params={"nonce": nonce, "client_id": provider.oidc.client_id, "access_token": access_token},
    )
    try:
        checked.validate(now=int(deps.clock.now().timestamp()), leeway=SKEW_SECONDS)
    except JoseError as error:
        raise failed(provider, _reason(error)) from error
    return claims


def read_logout_token(deps: Deps, provider: Provider, token: str) -> tuple[str | None, str | None]:
    """Subject and session that the provider ended; one of them at least."""
    _, claims = _decode(deps, provider, token)
    now = deps.clock.now()
    audience = claims.get("aud")
    events = claims.get("events")
    subject, session = claims.get("sub"), claims.get("sid")
    is_ours = (
        claims.get("iss") == provider.oidc.issuer
        and provider.oidc.client_id in (audience if isinstance(audience, list) else [audience])
        and isinstance(events, dict)
        and _LOGOUT_EVENT in events
        and "nonce" not in claims
    )
    if not is_ours:
        raise failed(provider, "this is no logout token for this server")
    if not _is_recent(claims.get("iat"), now):
        raise failed(provider, "the logout token has expired")
    if not (isinstance(subject, str) or isinstance(session, str)):
        raise failed(provider, "the logout token names nobody")
    return subject if isinstance(subject, str) else None, session if isinstance(session, str) else None


def failed(provider: Provider, reason: str) -> SignInFailed:
    return SignInFailed(
        f"Cannot sign in with {provider.name!r}: {reason}.",
        hint="Begin again from the sign-in page. If it happens again, ask an administrator.",
    )


def _decode(deps: Deps, provider: Provider, token: str) -> tuple[Mapping[str, Any], dict[str, Any]]:
    try:
        wanted = jws.extract_compact(token.encode()).headers().get("kid")
    except (JoseError, ValueError, TypeError) as error:
        raise failed(provider, "its token cannot be read") from error
    keys = deps.sign_in.keys(provider, deps.clock.elapsed(), wanted=wanted if isinstance(wanted, str) else None)
    return _verify(provider, token, keys, wanted)


def _verify(provider: Provider, token: str, keys: KeySet, wanted: Any) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Without a key id, any of the keys will do."""
    named = [key for key in keys.keys if wanted is None or key.kid == wanted]
    if not named:
        raise failed(provider, "its token is signed with a key that the provider does not publish")
    reason = ""
    for key in named:
        try:
            read = jwt.decode(token, key, algorithms=_ALGORITHMS)
        except (JoseError, ValueError, TypeError) as error:
            reason = _reason(error)
            continue
        return read.header, dict(read.claims)
    raise failed(provider, f"the signature of its token is wrong ({reason})")


def _is_recent(issued: Any, now: datetime) -> bool:
    return isinstance(issued, int | float) and abs(now.timestamp() - issued) <= _LOGOUT_AGE_SECONDS


def _reason(error: Exception) -> str:
    """In words: authlib's are names."""
    kind = type(error).__name__
    claim = getattr(error, "claim", None)
    words = {
        "ExpiredTokenError": "its token has expired; check the clocks of this server and the provider",
        "InvalidTokenError": "its token is not valid yet; check the clocks of this server and the provider",
        "BadSignatureError": "bad signature",
        "UnsupportedAlgorithmError": "an algorithm that is not allowed",
    }
    if kind in words:
        return words[kind]
    if claim == "iat":
        return words["InvalidTokenError"]
    if claim == "nonce":
        return "the answer belongs to another sign-in (nonce)"
    if claim == "aud":
        return "its token is meant for another client (aud)"
    if claim:
        return f"the claim {claim!r} of its token is {'missing' if kind == 'MissingClaimError' else 'wrong'}"
    return kind
