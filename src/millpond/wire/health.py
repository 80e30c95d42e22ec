"""What the server says of its own health."""

from __future__ import annotations

from millpond.wire.base import Response, Time

# Less room than this on a disk is told, here and there.
LEAST_FREE_BYTES = 1_000_000_000


class Check(Response):
    name: str
    ok: bool
    message: str
    hint: str | None = None


class Doctor(Response):
    checks: list[Check]
    # So that a caller can see how far its own clock is off.
    server_time: Time
