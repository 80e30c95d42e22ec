"""Signing in and out with a browser."""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import APIRouter, Request, Response

from millpond import __version__
from millpond.api.access import COOKIE, PUBLIC, DepsOf, SignedIn, check_origin
from millpond.model.people import Actor, Session, User
from millpond.services.deps import Deps
from millpond.services.people import sessions, users
from millpond.wire import people as wire

router = APIRouter(tags=["session"])


@router.post("/session", dependencies=[PUBLIC], status_code=201)
def sign_in(body: wire.Login, request: Request, response: Response, deps: DepsOf) -> wire.Session:
    """Sign in with name and password; answers with the session cookie."""
    check_origin(request)
    address = request.client.host if request.client else "unknown"
    limiter: sessions.LoginLimiter = request.app.state.login_limiter
    signed_in = sessions.sign_in(deps, limiter, name=body.name, password=body.password, address=address)
    response.set_cookie(
        COOKIE,
        signed_in.cookie,
        max_age=sessions.SESSION_DAYS * 86_400,
        httponly=True,
        samesite="lax",
        secure=_is_https(request, deps),
        path=_cookie_path(deps),
    )
    actor, session = sessions.actor_of(deps, signed_in.cookie)
    return _session(deps, actor, signed_in.user, session)


@router.get("/session")
def get_session(actor: SignedIn, request: Request, deps: DepsOf) -> wire.Session:
    """Who I am and what I may do."""
    return _session(deps, actor, users.get(deps, actor, actor.name), getattr(request.state, "session", None))


@router.delete("/session", status_code=204)
def sign_out(actor: SignedIn, request: Request, response: Response, deps: DepsOf) -> None:
    """End the session of this browser. With a token there is nothing to end."""
    if getattr(request.state, "session", None) is not None:
        sessions.sign_out(deps, actor, request.cookies[COOKIE])
        response.delete_cookie(COOKIE, path=_cookie_path(deps))


def _session(deps: Deps, actor: Actor, user: User, session: Session | None) -> wire.Session:
    return wire.Session(
        user=wire.User.model_validate(user),
        projects=[wire.ProjectRole(project=name, role=role) for name, role in sessions.own_roles(deps, actor)],
        csrf=session.csrf if session else None,
        server_version=__version__,
    )


def _is_https(request: Request, deps: Deps) -> bool:
    return request.url.scheme == "https" or (deps.settings.public_url or "").startswith("https:")


def _cookie_path(deps: Deps) -> str:
    """Only the API needs it. Cookies do not know ports: with `/` browsers would send it to the second origin, too."""
    return urlsplit(deps.settings.public_url or "").path.rstrip("/") + "/api"
