"""Whether the process lives (/livez, /healthz), and whether it can serve, part by part (/readyz)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from millpond.api.access import PUBLIC, HubOf
from millpond.services.health import Health
from millpond.wire import health as wire

router = APIRouter(include_in_schema=False)
# The same under /api/v1, where the page finds its shape.
api_router = APIRouter(tags=["doctor"])


async def _health(request: Request) -> Health:
    health: Health = request.app.state.health
    return health


HealthOf = Annotated[Health, Depends(_health)]


@router.api_route("/livez", methods=["GET", "HEAD"])
@router.api_route("/healthz", methods=["GET", "HEAD"])
async def livez() -> dict[str, str]:
    return {"status": "ok"}


@router.api_route("/readyz", methods=["GET", "HEAD"])
def readyz(health: HealthOf, hub: HubOf, response: Response) -> wire.ServerHealth:
    """503 while this server can do nothing, so that balancers ask another one; 200 while it only does less."""
    found = _found(health, is_stopping=hub.is_closed)
    response.status_code = 503 if found.status == "unavailable" else 200
    response.headers["Cache-Control"] = "no-store"
    return found


@api_router.get("/health", dependencies=[PUBLIC])
def get_health(health: HealthOf, hub: HubOf) -> wire.ServerHealth:
    """Which parts this server needs, and which of them it cannot use now."""
    return _found(health, is_stopping=hub.is_closed)


def _found(health: Health, *, is_stopping: bool) -> wire.ServerHealth:
    found = health.parts()
    parts = [wire.PartHealth.model_validate(one) for one in found]
    if is_stopping or any(one.is_needed and not one.ok for one in found):
        return wire.ServerHealth(status="unavailable", is_stopping=is_stopping, parts=parts)
    return wire.ServerHealth(status="ready" if all(one.ok for one in found) else "degraded", parts=parts)
