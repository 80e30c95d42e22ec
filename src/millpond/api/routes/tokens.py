"""API tokens: one's own, and those of service accounts."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, SignedIn
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.routes.sessions import OfUser
from millpond.services.people import tokens
from millpond.wire import people as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/tokens", tags=["tokens"])


@router.get("")
def list_tokens(
    actor: SignedIn, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None, user: OfUser = None
) -> Page[wire.Token]:
    return page(tokens.list_of(deps, actor, user, limit=limit, cursor=cursor), wire.Token.model_validate)


@router.post("", status_code=201)
def create_token(body: wire.TokenCreate, actor: SignedIn, deps: DepsOf) -> wire.NewToken:
    """The secret is in this answer and nowhere else."""
    token, secret = tokens.create(
        deps, actor, body.user, name=body.name, expires_seconds=body.expires_seconds, scopes=body.scopes
    )
    return wire.NewToken(**wire.Token.model_validate(token).model_dump(), secret=secret)


@router.delete("/{token}", status_code=204)
def delete_token(token: str, actor: SignedIn, deps: DepsOf, user: OfUser = None) -> None:
    tokens.delete(deps, actor, token, user)
