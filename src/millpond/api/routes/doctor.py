"""The server's own health, for `mill doctor`."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, SignedIn
from millpond.services import doctor
from millpond.wire import health as wire

router = APIRouter(tags=["doctor"])


@router.get("/doctor")
def get_doctor(actor: SignedIn, deps: DepsOf) -> wire.Doctor:
    """What only the server can see: database, lake, disk, agents, volumes."""
    checks = [wire.Check.model_validate(check) for check in doctor.examine(deps)]
    return wire.Doctor(checks=checks, server_time=deps.clock.now())
