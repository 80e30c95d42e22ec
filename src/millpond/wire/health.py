"""What the server says of its own health."""

from __future__ import annotations

from millpond.wire.base import Response, Time


class Check(Response):
    name: str
    ok: bool
    message: str
    hint: str | None = None


class Doctor(Response):
    checks: list[Check]
    # So that a caller can see how far its own clock is off.
    server_time: Time
