"""Signing in with an OpenID provider: a browser is sent there and comes back."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated
from urllib.parse import parse_qs, quote, urlsplit

from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.responses import RedirectResponse

from millpond.api.access import COOKIE, PUBLIC, DepsOf, SignedIn
from millpond.api.shapes.sign_in import addresses_of, base_url, cookie_path, is_https, where_of
from millpond.errors import BadRequest, Forbidden, MillError
from millpond.model.sign_in import ProviderKind
from millpond.services.deps import Deps
from millpond.services.people import sessions, tickets
from millpond.services.sign_in import flow, providers, sign_out
from millpond.wire import sign_in as wire

router = APIRouter(prefix="/sign-in", tags=["sign-in"])

_PROBLEM = "sign-in problem"
_PROBLEM_SECONDS = 600
Next = Annotated[str, Query(max_length=2000, description="Path of the page to show then.")]


@router.get("", dependencies=[PUBLIC])
def list_ways(
    deps: DepsOf, problem: Annotated[str | None, Query(max_length=4000)] = None
) -> wire.SignInWays:  # fmt: skip
    """How one may sign in; `problem`: what the page was told of a sign-in that failed."""
    known = providers.list_all(deps, enabled=True)
    shown = {
        kind: [wire.SignInProvider(name=one.name, title=one.title) for one in known if one.kind is kind]
        for kind in ProviderKind
    }
    return wire.SignInWays(
        password=providers.has_local_login(deps) or bool(shown[ProviderKind.LDAP]),
        providers=shown[ProviderKind.OIDC],
        directories=shown[ProviderKind.LDAP],
        problem=_open_problem(deps, problem),
    )


@router.get("/start/{provider}", dependencies=[PUBLIC], response_class=RedirectResponse, status_code=302)
def start_sign_in(provider: str, request: Request, deps: DepsOf, next: Next = "/") -> Response:
    """Send the browser to the provider. Problems are shown on the sign-in page."""
    try:
        leaving = flow.begin(deps, provider, addresses_of(request, deps), next=_own_path(next))
    except MillError as error:
        return _show_problem(request, deps, error, next)
    response = RedirectResponse(leaving.url, status_code=302)
    _keep(response, request, deps, leaving)
    return response


@router.post("/link/{provider}")
def start_link(
    provider: str, actor: SignedIn, request: Request, response: Response, deps: DepsOf
) -> wire.LinkStarted:  # fmt: skip
    """Begin to link an account of the provider with one's own: the browser goes to `url`."""
    if getattr(request.state, "session", None) is None:
        raise BadRequest("Linking begins on the page, not with a token.")
    leaving = flow.begin(deps, provider, addresses_of(request, deps), next="/account", link_user_id=actor.user_id)
    _keep(response, request, deps, leaving)
    return wire.LinkStarted(url=leaving.url)


@router.get("/callback", dependencies=[PUBLIC], response_class=RedirectResponse, status_code=303)
def finish_sign_in(request: Request, deps: DepsOf) -> Response:
    """Where the provider sends the browser back to."""
    answer = dict(request.query_params)
    try:
        arrived = flow.finish(deps, request.cookies, answer, addresses_of(request, deps), where_of(request))
    except MillError as error:
        response = _show_problem(request, deps, error, "/")
    else:
        response = RedirectResponse(_address(request, deps, arrived.next), status_code=303)
        set_session(response, request, deps, arrived.signed_in.cookie)
    response.delete_cookie(flow.cookie_name(answer.get("state", "")), path=cookie_path(deps))
    return response


async def _logout_token(request: Request) -> str:
    form = parse_qs((await request.body()).decode("ascii", errors="replace"))
    found = form.get("logout_token", [])
    if len(found) != 1:
        raise BadRequest("The form has no logout_token.")
    return found[0]


@router.post("/back-channel/{provider}", dependencies=[PUBLIC])
def end_provider_sessions(
    provider: str, response: Response, deps: DepsOf, token: Annotated[str, Depends(_logout_token)]
) -> None:
    """The provider tells that somebody signed out there (OpenID Connect Back-Channel Logout)."""
    response.headers["Cache-Control"] = "no-store"
    sign_out.back_channel(deps, provider, token)


def set_session(response: Response, request: Request, deps: Deps, cookie: str) -> None:
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=sessions.SESSION_DAYS * 86_400,
        httponly=True,
        samesite="lax",
        secure=is_https(request, deps),
        path=cookie_path(deps),
    )


def _keep(response: Response, request: Request, deps: Deps, leaving: flow.Leaving) -> None:
    """`lax`: the browser sends it along when the provider sends it back."""
    response.set_cookie(
        leaving.cookie_name,
        leaving.cookie,
        max_age=flow.SECONDS,
        httponly=True,
        samesite="lax",
        secure=is_https(request, deps),
        path=cookie_path(deps),
    )


def _own_path(next: str) -> str:
    """A path of this page; never an address elsewhere, however it is written."""
    is_own = next.startswith("/") and not next.startswith(("//", "/\\")) and next.isprintable() and "\\" not in next
    return next if is_own else "/"


def _address(request: Request, deps: Deps, next: str) -> str:
    """Of a path of the page, which behind a proxy has a prefix already."""
    base = base_url(request, deps)
    prefix = urlsplit(base).path
    return base.removesuffix(prefix) + next if prefix and next.startswith(f"{prefix}/") else base + next


def _show_problem(request: Request, deps: Deps, error: MillError, next: str) -> Response:
    """On the sign-in page. Sealed, so that nobody's link can show words of their own there."""
    told = {"code": error.code, "detail": error.message, "hint": error.hint}
    expires = deps.clock.now() + timedelta(seconds=_PROBLEM_SECONDS)
    sealed = tickets.seal(deps.secret, _PROBLEM, told, expires=expires)
    url = f"{base_url(request, deps)}/login?problem={sealed}&next={quote(_own_path(next), safe='')}"
    return RedirectResponse(url, status_code=303)


def _open_problem(deps: Deps, sealed: str | None) -> wire.SignInProblem | None:
    if not sealed:
        return None
    try:
        told = tickets.unseal(deps.secret, _PROBLEM, sealed, deps.clock.now())
    except Forbidden:
        return None
    return wire.SignInProblem(**told)
