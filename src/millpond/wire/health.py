"""What the server says of its own health."""

from __future__ import annotations

from typing import Literal

from millpond.wire.base import Response, Time

# Less room than this on a disk is told, here and there.
LEAST_FREE_BYTES = 1_000_000_000


class Check(Response):
    name: str
    ok: bool
    message: str
    hint: str | None = None
    # A warning is worth a look, and nothing is broken. Null from older servers.
    level: Literal["ok", "warning", "error"] | None = None

    @property
    def is_error(self) -> bool:
        return not self.ok and self.level != "warning"


class Doctor(Response):
    checks: list[Check]
    # So that a caller can see how far its own clock is off.
    server_time: Time


class PartHealth(Response):
    """`seconds` since when it is not well."""

    name: str
    ok: bool
    message: str
    seconds: float = 0.0


class ServerHealth(Response):
    """`degraded`: a part is away, and what needs it waits; `unavailable`: this server can answer nothing."""

    status: Literal["ready", "degraded", "unavailable"]
    is_stopping: bool = False
    parts: list[PartHealth]
