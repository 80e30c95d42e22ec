"""The server's own health, for `mill doctor`."""

from __future__ import annotations

from fastapi import APIRouter, Request
from prometheus_client import generate_latest
from starlette.responses import Response

from millpond.api.access import DepsOf, SignedIn, SiteAdmin
from millpond.api.health import HealthOf
from millpond.api.metrics.registries import Registries
from millpond.services import doctor, server_doctor
from millpond.services.support import bundle
from millpond.wire import health as wire

router = APIRouter(tags=["doctor"])


@router.get("/doctor")
def get_doctor(actor: SignedIn, deps: DepsOf) -> wire.Doctor:
    """What only the server can see: database, lake, disk, agents, volumes."""
    checks = [wire.Check.model_validate(check) for check in doctor.examine(deps)]
    return wire.Doctor(checks=checks, server_time=deps.clock.now())


@router.get("/doctor/server")
def get_server_doctor(actor: SiteAdmin, deps: DepsOf, health: HealthOf) -> wire.Doctor:
    """The same, and what operators ask: versions, keys, loops, queue, space, sources, mirrors, quotas, audit log."""
    checks = [wire.Check.model_validate(check) for check in server_doctor.examine(deps, health)]
    return wire.Doctor(checks=checks, server_time=deps.clock.now())


@router.post("/support-bundle", response_class=Response)
def make_support_bundle(actor: SiteAdmin, deps: DepsOf, health: HealthOf, request: Request) -> Response:
    """A tar.gz of what support needs to see, without secrets; what is inside is said in its README."""
    registries: Registries = request.app.state.metrics

    def metrics() -> bytes:
        return b"".join(generate_latest(one) for one in (registries.process, registries.system, registries.projects))

    data = bundle.make(deps, actor, checks=server_doctor.examine(deps, health), metrics=metrics)
    name = f"{bundle.name_of(deps.clock.now())}.tar.gz"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(data, media_type="application/gzip", headers=headers)
