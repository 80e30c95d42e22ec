"""Computes, the tokens with which their agents join, and tests of them, over the API."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from millpond.client.http import Api, segment
from millpond.errors import Unavailable
from millpond.wire.computes import Compute, ComputeTest, Drain, JoinToken, JoinTokenCreate, NewJoinToken
from millpond.wire.top import Top
from millpond.wire.trust import TrustChange

POLL_SECONDS = 0.3


def list_computes(api: Api) -> Iterator[Compute]:
    return api.items("/computes", Compute)


def get_top(api: Api) -> Top:
    """Nodes and running jobs as they are used now."""
    return api.get("/top", Top)


def get_compute(api: Api, name: str) -> Compute:
    return api.get(_path(name), Compute)


def cordon_compute(api: Api, name: str) -> Compute:
    return api.send("POST", f"{_path(name)}/cordon", Compute, idempotent=True)


def uncordon_compute(api: Api, name: str) -> Compute:
    return api.send("POST", f"{_path(name)}/uncordon", Compute, idempotent=True)


def drain_compute(api: Api, name: str, *, stop: bool = False) -> Compute:
    """Cordon it. Its jobs are let finish, or stopped: `wait_until_empty` tells when they have."""
    return api.send("POST", f"{_path(name)}/drain", Compute, Drain(stop=stop), idempotent=True)


def wait_until_empty(
    api: Api,
    name: str,
    *,
    timeout: float | None = None,
    changed: Callable[[Compute], None] = lambda compute: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Compute:
    """The compute once nothing runs there, or as it is when `timeout` seconds are over."""
    deadline = None if timeout is None else time.monotonic() + timeout
    seen: int | None = None
    while True:
        found = get_compute(api, name)
        if found.running != seen:
            changed(found)
            seen = found.running
        if not found.running or (deadline is not None and time.monotonic() >= deadline):
            return found
        sleep(POLL_SECONDS)


def trust_projects(api: Api, name: str, projects: Sequence[str] = (), *, everyone: bool = False) -> Compute:
    """Let these projects, or everyone, onto a compute whose jobs share one account."""
    return _change_trust(api, name, "trust", projects, everyone)


def distrust_projects(api: Api, name: str, projects: Sequence[str] = (), *, everyone: bool = False) -> Compute:
    """Let nothing new of these projects, or of any, begin there."""
    return _change_trust(api, name, "distrust", projects, everyone)


def _change_trust(api: Api, name: str, how: str, projects: Sequence[str], everyone: bool) -> Compute:
    change = TrustChange(projects=list(projects), all=everyone)
    return api.send("POST", f"{_path(name)}/{how}", Compute, change, idempotent=True)


def revoke_compute(api: Api, name: str) -> Compute:
    return api.send("POST", f"{_path(name)}/revoke", Compute, idempotent=True)


def detach_compute(api: Api, name: str, *, force: bool = False) -> None:
    api.request("DELETE", _path(name), params={"force": force or None})


def run_compute_test(
    api: Api, name: str, *, timeout: float = 120.0, sleep: Callable[[float], None] = time.sleep
) -> ComputeTest:
    """What the agent found. Unavailable if it does not tell within `timeout` seconds."""
    started = api.send("POST", f"{_path(name)}/tests", ComputeTest)
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        found = api.get(f"{_path(name)}/tests/{segment(started.id)}", ComputeTest)
        if found.ended_at is not None:
            return found
        sleep(POLL_SECONDS)
    raise Unavailable(
        f"The agent of compute {name!r} did not report within {timeout:.0f} s.",
        hint="Look at the agent's log on its machine.",
    )


def create_join_token(
    api: Api, site: str | None = None, *, compute: str | None = None, seconds: int = 3600
) -> NewJoinToken:
    """Let one agent join, once: with a new compute at `site`, or to speak for `compute`. The secret is shown once."""
    asked = JoinTokenCreate(site=site, compute=compute, seconds=seconds)
    return api.send("POST", "/join-tokens", NewJoinToken, asked)


def list_join_tokens(api: Api) -> Iterator[JoinToken]:
    return api.items("/join-tokens", JoinToken)


def revoke_join_token(api: Api, token: str) -> None:
    api.request("DELETE", f"/join-tokens/{segment(token)}")


def _path(name: str) -> str:
    return f"/computes/{segment(name)}"
