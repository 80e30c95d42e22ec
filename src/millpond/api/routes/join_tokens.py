"""Join tokens, with which agents join."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, SiteAdmin
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.shapes import computes as shapes
from millpond.errors import Invalid
from millpond.services.computes import joining
from millpond.wire.base import Page
from millpond.wire.computes import JoinToken, JoinTokenCreate, NewJoinToken

router = APIRouter(prefix="/join-tokens", tags=["computes"])


@router.get("")
def list_join_tokens(
    actor: SiteAdmin, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[JoinToken]:
    """Without their secrets, which are not kept. Those that are over stay listed for a week."""
    return page(joining.list_all(deps, limit=limit, cursor=cursor), shapes.join_token)


@router.post("", status_code=201)
def create_join_token(body: JoinTokenCreate, actor: SiteAdmin, deps: DepsOf) -> NewJoinToken:
    """The secret is shown this once."""
    if body.compute is not None and body.site is None:
        return shapes.new_join_token(*joining.create_for(deps, actor, compute=body.compute, seconds=body.seconds))
    if body.site is not None and body.compute is None:
        return shapes.new_join_token(*joining.create(deps, actor, site=body.site, seconds=body.seconds))
    raise Invalid("Name either a site or a compute.", fields=["site", "compute"])


@router.delete("/{token}", status_code=204)
def revoke_join_token(token: str, actor: SiteAdmin, deps: DepsOf) -> None:
    joining.revoke(deps, actor, token)
