"""One sign-in with an OpenID provider, from the button to the session.

What a sign-in is recognized by travels in a sealed cookie of the browser that began it, so any server of one database
can finish it, and an answer of the provider is of use in that browser alone. Whoever is signed in already can begin one
to link the account there with the one here.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from secrets import token_urlsafe

from millpond.db import auth_providers, users
from millpond.errors import Forbidden, SignInFailed, SignInRefused
from millpond.model.sign_in import Provider, ProviderKind
from millpond.services.deps import Deps
from millpond.services.people import tickets
from millpond.services.people.sessions import ProviderSession, SignedIn, Where
from millpond.services.sign_in import accounts, oidc
from millpond.services.sign_in.id_token import failed
from millpond.services.sign_in.oidc import Begun
from millpond.services.sign_in.providers import not_usable

COOKIE_PREFIX = "mill_signin_"
SECONDS = 600
_PURPOSE = "sign in"
_SIGN_OUT = "sign-out address"


@dataclass(frozen=True, slots=True)
class Leaving:
    """Where the browser goes, and what it keeps until it comes back."""

    url: str
    cookie_name: str
    cookie: str


@dataclass(frozen=True, slots=True)
class Arrived:
    signed_in: SignedIn
    next: str
    # What was forgotten on the way, for the person to know.
    linked: bool = False


@dataclass(frozen=True, slots=True)
class SignInAddresses:
    """The addresses of this server, as the provider and the browser know them."""

    redirect_uri: str
    after_sign_out: str


def begin(deps: Deps, name: str, site: SignInAddresses, *, next: str, link_user_id: str | None = None) -> Leaving:
    """With `link_user_id`, whoever comes back becomes a way to sign in as that user."""
    provider = _usable(deps, name)
    begun = Begun(token_urlsafe(24), token_urlsafe(24), token_urlsafe(48))
    url = oidc.authorization_url(deps, provider, begun, site.redirect_uri)
    kept = {**asdict(begun), "provider": provider.id, "next": next, "link": link_user_id}
    expires = deps.clock.now() + timedelta(seconds=SECONDS)
    return Leaving(url, cookie_name(begun.state), tickets.seal(deps.secret, _PURPOSE, kept, expires=expires))


def finish(
    deps: Deps, cookies: Mapping[str, str], answer: Mapping[str, str], site: SignInAddresses, where: Where
) -> Arrived:
    """A new session for whoever the provider sent back. SignInFailed unless this browser began it."""
    state = answer.get("state", "")
    try:
        kept = tickets.unseal(deps.secret, _PURPOSE, cookies.get(cookie_name(state), ""), deps.clock.now())
    except Forbidden:
        raise SignInFailed(
            "This sign-in was not begun in this browser, or more than 10 minutes ago.", hint="Sign in again."
        ) from None
    begun = Begun(kept["state"], kept["nonce"], kept["verifier"])
    if not hmac.compare_digest(begun.state.encode(), state.encode()):
        raise SignInFailed("The answer belongs to another sign-in.", hint="Sign in again.")
    provider = _usable_by_id(deps, kept["provider"])
    issuer = answer.get("iss")
    if issuer is not None and issuer != provider.oidc.issuer:
        raise failed(provider, "another provider answered (iss)")
    if "code" not in answer:
        raise _refused_there(provider, answer)
    back = oidc.redeem(
        deps, provider, begun, answer["code"], redirect_uri=site.redirect_uri, after_sign_out=site.after_sign_out
    )
    sign_out = None if back.sign_out_url is None else deps.seal.seal(back.sign_out_url, _SIGN_OUT)
    session = ProviderSession(provider.id, back.session, sign_out)
    signed_in = accounts.sign_in(deps, provider, back.claims, where, session=session, link_user_id=kept["link"])
    return Arrived(signed_in, kept["next"], linked=kept["link"] is not None)


def cookie_name(state: str) -> str:
    """One for each sign-in: people have several tabs."""
    return COOKIE_PREFIX + "".join(one for one in state[:12] if one.isascii() and (one.isalnum() or one in "-_"))


def open_sign_out(deps: Deps, sealed: bytes | None) -> str | None:
    """Where the provider's session is ended; None where there is none, or it cannot be told any more."""
    if sealed is None:
        return None
    try:
        return deps.seal.open(sealed, _SIGN_OUT)
    except Exception:  # noqa: BLE001 - a key that was changed must keep nobody from signing out
        return None


def _refused_there(provider: Provider, answer: Mapping[str, str]) -> SignInFailed | SignInRefused:
    if answer.get("error") == "access_denied":
        return SignInRefused(f"The provider {provider.name!r} did not let you in.", hint="Ask its administrator.")
    return failed(provider, f"it answered {oidc.error_of(answer)}")


def _usable(deps: Deps, name: str) -> Provider:
    with deps.db.read() as tx:
        return _checked(auth_providers.find(tx, name), name)


def _usable_by_id(deps: Deps, provider_id: str) -> Provider:
    with deps.db.read() as tx:
        return _checked(auth_providers.get(tx, provider_id), "")


def _checked(provider: Provider | None, name: str) -> Provider:
    if provider is None or not provider.enabled or provider.kind is not ProviderKind.OIDC:
        raise not_usable(name)
    return provider


def user_name(deps: Deps, user_id: str) -> str:
    with deps.db.read() as tx:
        user = users.get(tx, user_id)
    return user.name if user else ""
