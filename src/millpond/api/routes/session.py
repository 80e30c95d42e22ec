"""Signing in and out with a browser."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from millpond import __version__
from millpond.api.access import COOKIE, PUBLIC, DepsOf, SignedIn, check_origin
from millpond.api.routes.sign_in import set_session
from millpond.api.shapes.sign_in import cookie_path, where_of
from millpond.model.people import Actor, Session, User
from millpond.services.deps import Deps
from millpond.services.network_warnings import network_warnings
from millpond.services.people import sessions, users
from millpond.services.sign_in import passwords
from millpond.services.sign_in.sign_out import provider_sign_out_url
from millpond.wire import people as wire

router = APIRouter(tags=["session"])


@router.post("/session", dependencies=[PUBLIC], status_code=201)
def sign_in(body: wire.Login, request: Request, response: Response, deps: DepsOf) -> wire.Session:
    """Sign in with name and password; answers with the session cookie."""
    check_origin(request)
    limiter: sessions.LoginLimiter = request.app.state.login_limiter
    signed_in = passwords.sign_in(deps, limiter, name=body.name, password=body.password, where=where_of(request))
    set_session(response, request, deps, signed_in.cookie)
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
        response.delete_cookie(COOKIE, path=cookie_path(deps))


@router.post("/session/end")
def end_own_session(actor: SignedIn, request: Request, response: Response, deps: DepsOf) -> wire.SignedOut:
    """As DELETE, and tells where the session at the provider is ended."""
    if getattr(request.state, "session", None) is None:
        return wire.SignedOut()
    url = provider_sign_out_url(deps, request.cookies[COOKIE])
    sign_out(actor, request, response, deps)
    return wire.SignedOut(url=url)


def _session(deps: Deps, actor: Actor, user: User, session: Session | None) -> wire.Session:
    return wire.Session(
        user=wire.User.model_validate(user),
        projects=[wire.ProjectRole(project=name, role=role) for name, role in sessions.own_roles(deps, actor)],
        csrf=session.csrf if session else None,
        server_version=__version__,
        warnings=list(network_warnings(deps)) if actor.is_admin else [],
        has_password=users.has_password(deps, user),
        scopes=None if actor.scopes is None else sorted(actor.scopes, key=lambda scope: scope.value),
    )
