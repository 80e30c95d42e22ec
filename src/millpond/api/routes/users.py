"""Users."""

from __future__ import annotations

from fastapi import APIRouter, Request

from millpond.api.access import COOKIE, DepsOf, SignedIn, SiteAdmin
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.services.people import users
from millpond.services.people.tokens import hash_secret
from millpond.wire import people as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/users", tags=["users"])


@router.get("")
def list_users(actor: SiteAdmin, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> Page[wire.User]:
    return page(users.list_users(deps, limit=limit, cursor=cursor), wire.User.model_validate)


@router.post("", status_code=201)
def create_user(body: wire.UserCreate, actor: SiteAdmin, deps: DepsOf) -> wire.User:
    user = users.create(
        deps, actor, name=body.name, password=body.password, full_name=body.full_name, is_admin=body.is_admin
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


def _caller(request: Request, *, is_own: bool) -> users.Caller:
    cookie = request.cookies.get(COOKIE) if getattr(request.state, "session", None) else None
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return users.Caller(
        limiter=request.app.state.login_limiter,
        address=request.client.host if request.client else "unknown",
        session=hash_secret(cookie) if cookie and is_own else None,
        token=hash_secret(secret.strip()) if scheme.lower() == "bearer" and is_own else None,
    )
