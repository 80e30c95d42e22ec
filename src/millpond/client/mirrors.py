"""Mirrors over the API."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from millpond.client.commits import COMMIT_SECONDS
from millpond.client.http import Api, segment
from millpond.wire.mirrors import Mirror, MirrorChange, MirrorCreate, MirrorResult

_POLL_SECONDS = 1.0


def list_mirrors(api: Api, project: str) -> Iterator[Mirror]:
    return api.items(_path(project), Mirror)


def get_mirror(api: Api, project: str, name: str) -> Mirror:
    return api.get(_path(project, name), Mirror)


def create_mirror(api: Api, project: str, asked: MirrorCreate) -> Mirror:
    return api.send("POST", _path(project), Mirror, asked)


def plan_new_mirror(api: Api, project: str, asked: MirrorCreate) -> MirrorResult:
    """What the first run would do: both ends are gone through, which takes a while where there is much."""
    return api.send("POST", f"{_path(project)}/plan", MirrorResult, asked, idempotent=True, timeout=COMMIT_SECONDS)


def plan_mirror(api: Api, project: str, name: str) -> MirrorResult:
    """What a run would do now."""
    path = f"{_path(project, name)}/plan"
    return api.send("POST", path, MirrorResult, idempotent=True, timeout=COMMIT_SECONDS)


def change_mirror(api: Api, project: str, name: str, asked: MirrorChange) -> Mirror:
    return api.send("PATCH", _path(project, name), Mirror, asked, idempotent=True)


def run_mirror(api: Api, project: str, name: str) -> Mirror:
    """Let it run now; it has not run yet when this returns."""
    return api.send("POST", f"{_path(project, name)}/run", Mirror, idempotent=True)


def wait_for_run(
    api: Api,
    asked: Mirror,
    *,
    changed: Callable[[Mirror], None] = lambda now: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Mirror:
    """The mirror when a run that began once it was `asked` for, or at its creation, has ended, well or not."""
    since = asked.asked_at or asked.created_at
    while True:
        now = get_mirror(api, asked.project, asked.id)
        is_of_ours = now.started_at is not None and now.started_at >= since
        if is_of_ours and now.state != "running" and now.ended_at is not None and now.ended_at >= since:
            return now
        changed(now)
        sleep(_POLL_SECONDS)


def delete_mirror(api: Api, project: str, name: str) -> None:
    api.request("DELETE", _path(project, name))


def _path(project: str, name: str | None = None) -> str:
    base = f"/projects/{segment(project)}/mirrors"
    return f"{base}/{segment(name)}" if name is not None else base
