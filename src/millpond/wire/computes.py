"""Join tokens, what is done to computes, and tests of them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from millpond.wire.agent import PROTOCOL
from millpond.wire.base import Request, Response, Time


class JoinTokenCreate(Request):
    site: str
    seconds: int = 3600


class JoinToken(Response):
    """A token as it is listed; its secret is not kept anywhere."""

    id: str
    site: str
    created_by: str
    created_at: Time
    expires_at: Time
    used_at: Time | None
    # The compute that came in with it, while it is attached.
    compute: str | None = None


class NewJoinToken(JoinToken):
    """Shown once."""

    secret: str


class Join(Request):
    """An agent exchanges a join token. It has made its credential itself and tells its SHA-256."""

    token: str = Field(max_length=200)
    credential_sha256: str = Field(pattern="^[0-9a-f]{64}$")
    protocol: int = PROTOCOL
    version: str
    name: str
    # Refused when the name is taken; otherwise a number is put behind it.
    exact: bool = False
    # Refused when the token is for another one.
    site: str | None = None
    driver: str = "process"


class Joined(Response):
    agent_id: str
    name: str
    site: str


class Drain(Request):
    # Running jobs are stopped instead of let finish.
    stop: bool = False


class Check(Request):
    """One thing a test of a compute looked at. `value` is in `unit`, for programs; `message` is for people."""

    name: str
    state: Literal["ok", "failed", "skipped"]
    message: str
    value: float | None = None
    unit: str | None = None


class Checks(Request):
    """What an agent found."""

    checks: list[Check] = Field(max_length=1000)


class ComputeTest(Response):
    id: str
    compute: str
    created_by: str
    created_at: Time
    ended_at: Time | None
    # Empty until the agent has told.
    checks: list[Check]
