"""Users."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from millpond.api.access import COOKIE, DepsOf, SignedIn, SiteAdmin
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.services.people import users
from millpond.services.people.tokens import hash_secret
from millpond.services.sign_in import identities
from millpond.wire import people as wire
from millpond.wire.base import Page
from millpond.wire.sign_in import LinkedSignIn, LinkedSignInList, SignInLinkPut

router = APIRouter(prefix="/users", tags=["users"])


@router.get("")
def list_users(actor: SiteAdmin, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> Page[wire.User]:
    return page(users.list_users(deps, limit=limit, cursor=cursor), wire.User.model_validate)


@router.post("", status_code=201)
def create_user(body: wire.UserCreate, actor: SiteAdmin, deps: DepsOf) -> wire.User:
    user = users.create(
        deps,
        actor,
        name=body.name,
        password=body.password,
        full_name=body.full_name,
        is_admin=body.is_admin,
        is_service=body.is_service,
    )
    return wire.User.model_validate(user)


@router.get("/{user}")
def get_user(user: str, actor: SignedIn, deps: DepsOf) -> wire.User:
    """Oneself; anybody for a site administrator."""
    return wire.User.model_validate(users.get(deps, actor, user))


@router.patch("/{user}")
def change_user(user: str, body: wire.UserChange, actor: SignedIn, request: Request, deps: DepsOf) -> wire.User:
    """One's own full name and password; everything for a site administrator.

    A new password revokes the user's sessions and API tokens, except those of this request.
    """
    wanted = users.UserChange(**body.model_dump())
    changed = users.change(deps, actor, user, wanted, _caller(request, is_own=user == actor.name))
    return wire.User.model_validate(changed)


@router.delete("/{user}", status_code=204)
def delete_user(user: str, actor: SiteAdmin, deps: DepsOf) -> None:
    users.delete(deps, actor, user)


@router.get("/{user}/sign-ins")
def list_linked_sign_ins(user: str, actor: SignedIn, deps: DepsOf) -> LinkedSignInList:
    """Accounts at providers that are linked with this user."""
    found = identities.list_of(deps, actor, user)
    return LinkedSignInList(items=[LinkedSignIn.model_validate(one) for one in found])


@router.post("/{user}/sign-ins", status_code=201)
def link_sign_in(user: str, body: SignInLinkPut, actor: SiteAdmin, deps: DepsOf) -> LinkedSignIn:
    """Let whoever has this subject at the provider sign in as this user. People link their own on the page."""
    made = identities.link(deps, actor, user, provider_name=body.provider, subject=body.subject)
    return LinkedSignIn.model_validate(made)


@router.delete("/{user}/sign-ins/{provider}", status_code=204)
def unlink_sign_in(
    user: str, provider: str, subject: Annotated[str, Query(max_length=300)], actor: SignedIn, deps: DepsOf
) -> None:
    identities.unlink(deps, actor, user, provider_name=provider, subject=subject)


def _caller(request: Request, *, is_own: bool) -> users.Caller:
    cookie = request.cookies.get(COOKIE) if getattr(request.state, "session", None) else None
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return users.Caller(
        limiter=request.app.state.login_limiter,
        address=request.client.host if request.client else "unknown",
        session=hash_secret(cookie) if cookie and is_own else None,
        token=hash_secret(secret.strip()) if scheme.lower() == "bearer" and is_own else None,
    )
