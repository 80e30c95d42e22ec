"""Browsers that are signed in, listed and ended."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from millpond.api.access import COOKIE, DepsOf, SignedIn
from millpond.services.people import sessions
from millpond.services.people.tokens import hash_secret
from millpond.services.sign_in import providers
from millpond.wire import people as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/sessions", tags=["session"])
OfUser = Annotated[str | None, Query(max_length=100, description="Whose; for site administrators.")]


@router.get("")
def list_sessions(actor: SignedIn, request: Request, deps: DepsOf, user: OfUser = None) -> Page[wire.BrowserSession]:
    """One's own, the one used last first."""
    names = {one.id: one.name for one in providers.list_all(deps)}
    current = _current(request)
    items = [
        wire.BrowserSession(
            id=one.id,
            created_at=one.created_at,
            last_used_at=one.last_used_at,
            expires_at=one.expires_at,
            address=one.address,
            user_agent=one.user_agent,
            provider=names.get(one.provider_id or ""),
            current=one.id == current,
        )
        for one in sessions.list_of(deps, actor, user)
    ]
    return Page(items=items)


@router.delete("")
def end_sessions(actor: SignedIn, request: Request, deps: DepsOf, user: OfUser = None) -> wire.SessionsEnded:
    """All of them but the one that asks."""
    is_browser = getattr(request.state, "session", None) is not None
    but = request.cookies.get(COOKIE) if is_browser else None
    return wire.SessionsEnded(count=sessions.revoke_all(deps, actor, user, but=but))


@router.delete("/{session}", status_code=204)
def end_session(session: str, actor: SignedIn, deps: DepsOf, user: OfUser = None) -> None:
    sessions.revoke(deps, actor, session, user)


def _current(request: Request) -> str | None:
    is_browser = getattr(request.state, "session", None) is not None
    return hash_secret(request.cookies[COOKIE]).hex()[:16] if is_browser else None
