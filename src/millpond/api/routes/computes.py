"""Computes and their nodes, what administrators do to them, and tests of them."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api import compute_shapes as shapes
from millpond.api.access import DepsOf, SignedIn, SiteAdmin
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.services import compute_care, compute_tests, computes
from millpond.wire.base import Page
from millpond.wire.computes import ComputeTest, Drain
from millpond.wire.work import Compute

router = APIRouter(prefix="/computes", tags=["computes"])


@router.get("")
def list_computes(actor: SignedIn, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> Page[Compute]:
    return page(computes.list_computes(deps, limit=limit, cursor=cursor), shapes.compute)


@router.get("/{compute}")
def get_compute(compute: str, actor: SignedIn, deps: DepsOf) -> Compute:
    return shapes.compute(computes.get(deps, compute))


@router.delete("/{compute}", status_code=204)
def detach_compute(compute: str, actor: SiteAdmin, deps: DepsOf, force: bool = False) -> None:
    """Its credential is revoked and it is forgotten. Refused while jobs are there, unless forced."""
    compute_care.detach(deps, actor, compute, force=force)


@router.post("/{compute}/cordon")
def cordon_compute(compute: str, actor: SiteAdmin, deps: DepsOf) -> Compute:
    """Nothing new is placed there."""
    return shapes.compute(compute_care.cordon(deps, actor, compute))


@router.post("/{compute}/uncordon")
def uncordon_compute(compute: str, actor: SiteAdmin, deps: DepsOf) -> Compute:
    return shapes.compute(compute_care.uncordon(deps, actor, compute))


@router.post("/{compute}/drain")
def drain_compute(compute: str, body: Drain, actor: SiteAdmin, deps: DepsOf) -> Compute:
    """Cordoned; what runs there is let finish, or stopped."""
    return shapes.compute(compute_care.drain(deps, actor, compute, stop=body.stop))


@router.post("/{compute}/revoke")
def revoke_compute(compute: str, actor: SiteAdmin, deps: DepsOf) -> Compute:
    """Its agent is refused from now on."""
    return shapes.compute(compute_care.revoke(deps, actor, compute))


@router.post("/{compute}/tests", status_code=201)
def start_compute_test(compute: str, actor: SiteAdmin, deps: DepsOf) -> ComputeTest:
    """Ask its agent to try out what it can reach; `not_ready` while it is not connected."""
    return shapes.test(compute_tests.start(deps, actor, compute))


@router.get("/{compute}/tests/{test}")
def get_compute_test(compute: str, test: str, actor: SiteAdmin, deps: DepsOf) -> ComputeTest:
    return shapes.test(compute_tests.get(deps, compute, test))
