"""Signing in command lines with a browser: on the same machine (grants), or by a code (devices)."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from millpond.api.access import PUBLIC, DepsOf, SignedIn
from millpond.api.shapes.sign_in import base_url, where_of
from millpond.errors import BadRequest
from millpond.services.sign_in import machine_logins
from millpond.wire import people
from millpond.wire import sign_in as wire

router = APIRouter(tags=["sign-in"])


@router.post("/login-grants", status_code=201)
def grant_login(body: wire.LoginGrantCreate, actor: SignedIn, request: Request, deps: DepsOf) -> wire.LoginGrant:
    """A one-time code for a command line on the machine of this browser."""
    _check_browser(request)
    return wire.LoginGrant(code=machine_logins.grant(deps, actor, machine=body.machine, challenge=body.challenge))


@router.post("/login-grants/redeem", dependencies=[PUBLIC], status_code=201)
def redeem_login_grant(body: wire.LoginGrantRedeem, deps: DepsOf) -> people.NewToken:
    token, secret = machine_logins.redeem(deps, code=body.code, verifier=body.verifier)
    return people.NewToken(**people.Token.model_validate(token).model_dump(), secret=secret)


@router.post("/device-logins", dependencies=[PUBLIC], status_code=201)
def begin_device_login(body: wire.DeviceLoginCreate, request: Request, deps: DepsOf) -> wire.DeviceLoginBegun:
    """A code for a person to confirm on the page within 10 minutes."""
    begun = machine_logins.begin_device(deps, machine=body.machine, address=where_of(request).address)
    return wire.DeviceLoginBegun(
        secret=begun.secret,
        user_code=begun.login.user_code,
        url=f"{base_url(request, deps)}/device",
        interval=machine_logins.POLL_SECONDS,
        expires_at=begun.login.expires_at,
    )


@router.post("/device-logins/poll", dependencies=[PUBLIC], responses={202: {"description": "Not confirmed yet."}})
def poll_device_login(body: wire.DeviceLoginPoll, response: Response, deps: DepsOf) -> people.NewToken | None:
    """The token, this once; 202 and null while nobody has confirmed the code."""
    found = machine_logins.poll_device(deps, body.secret)
    if found is None:
        response.status_code = 202
        return None
    token, secret = found
    return people.NewToken(**people.Token.model_validate(token).model_dump(), secret=secret)


@router.get("/device-logins/{code}")
def get_device_login(code: str, actor: SignedIn, deps: DepsOf) -> wire.DeviceLogin:
    return wire.DeviceLogin.model_validate(machine_logins.get_device(deps, code))


@router.post("/device-logins/{code}/answer")
def answer_device_login(
    code: str, body: wire.DeviceLoginAnswer, actor: SignedIn, request: Request, deps: DepsOf
) -> wire.DeviceLogin:
    """Confirm that the command line with this code may act as oneself, or deny it."""
    _check_browser(request)
    return wire.DeviceLogin.model_validate(machine_logins.answer_device(deps, actor, code, confirm=body.confirm))


def _check_browser(request: Request) -> None:
    """A token that leaked must not make others of itself that outlive it."""
    if getattr(request.state, "session", None) is None:
        raise BadRequest("This is done on the page, not with a token.", hint="Open the page, and confirm it there.")
