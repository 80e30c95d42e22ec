"""Computes and their nodes, what administrators do to them, and tests of them."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, SignedIn, SiteAdmin
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.shapes import computes as shapes
from millpond.model.people import Actor
from millpond.services.computes import compute_care, compute_tests, computes, trust
from millpond.services.computes.computes import ComputeView
from millpond.services.deps import Deps
from millpond.wire.base import Page
from millpond.wire.computes import Compute, ComputeTest, Drain
from millpond.wire.trust import TrustChange

router = APIRouter(prefix="/computes", tags=["computes"])


@router.get("")
def list_computes(actor: SignedIn, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> Page[Compute]:
    return page(computes.list_computes(deps, limit=limit, cursor=cursor), lambda view: _shape(deps, actor, view))


@router.get("/{compute}")
def get_compute(compute: str, actor: SignedIn, deps: DepsOf) -> Compute:
    return _shape(deps, actor, computes.get(deps, compute))


@router.delete("/{compute}", status_code=204)
def detach_compute(compute: str, actor: SiteAdmin, deps: DepsOf, force: bool = False) -> None:
    """Its credential is revoked and it is forgotten. Refused while jobs are there, unless forced."""
    compute_care.detach(deps, actor, compute, force=force)


@router.post("/{compute}/cordon")
def cordon_compute(compute: str, actor: SiteAdmin, deps: DepsOf) -> Compute:
    """Nothing new is placed there."""
    return _shape(deps, actor, compute_care.cordon(deps, actor, compute))


@router.post("/{compute}/uncordon")
def uncordon_compute(compute: str, actor: SiteAdmin, deps: DepsOf) -> Compute:
    return _shape(deps, actor, compute_care.uncordon(deps, actor, compute))


@router.post("/{compute}/drain")
def drain_compute(compute: str, body: Drain, actor: SiteAdmin, deps: DepsOf) -> Compute:
    """Cordoned; what runs there is let finish, or stopped."""
    return _shape(deps, actor, compute_care.drain(deps, actor, compute, stop=body.stop))


@router.post("/{compute}/revoke")
def revoke_compute(compute: str, actor: SiteAdmin, deps: DepsOf) -> Compute:
    """Its agent is refused from now on."""
    return _shape(deps, actor, compute_care.revoke(deps, actor, compute))


@router.post("/{compute}/trust")
def trust_projects(compute: str, body: TrustChange, actor: SiteAdmin, deps: DepsOf) -> Compute:
    """Let projects, or all, onto a compute whose jobs share one account."""
    return _shape(deps, actor, trust.let_in(deps, actor, compute, body.projects, everyone=body.all))


@router.post("/{compute}/distrust")
def distrust_projects(compute: str, body: TrustChange, actor: SiteAdmin, deps: DepsOf) -> Compute:
    """Let nothing new of these projects, or of any, begin there."""
    return _shape(deps, actor, trust.keep_out(deps, actor, compute, body.projects, everyone=body.all))


@router.post("/{compute}/tests", status_code=201)
def start_compute_test(compute: str, actor: SiteAdmin, deps: DepsOf) -> ComputeTest:
    """Ask its agent to try out what it can reach; `not_ready` while it is not connected."""
    return shapes.test(compute_tests.start(deps, actor, compute))


@router.get("/{compute}/tests/{test}")
def get_compute_test(compute: str, test: str, actor: SiteAdmin, deps: DepsOf) -> ComputeTest:
    return shapes.test(compute_tests.get(deps, compute, test))


def _shape(deps: Deps, actor: Actor, view: ComputeView) -> Compute:
    """Projects that were let in are named to those who may know of them."""
    with deps.db.read() as tx:
        return shapes.compute(view, trust.shown(tx, view.trust, actor))
