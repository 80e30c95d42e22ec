"""Testing a compute: the server asks, the agent tries out what it can reach and tells what it found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection

from millpond.db import compute_tests
from millpond.errors import NotReady
from millpond.model.compute import ComputeTest
from millpond.model.ids import new_id
from millpond.model.people import Actor
from millpond.services.computes import computes
from millpond.services.computes.presence import is_connected
from millpond.services.deps import Deps
from millpond.services.people import access, audit
from millpond.wire.agent import TrialUrls
from millpond.wire.computes import Check

# A test that was not answered by then is not asked for any more.
OPEN_SECONDS = 120
LAKE_BYTES = 16 << 20
_KEPT = timedelta(hours=1)


def start(deps: Deps, actor: Actor, name: str) -> tuple[str, ComputeTest]:
    """The compute's name and the test. NotReady when its agent is away: nobody could do it."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        compute = computes.lock(tx, name)
        if compute.revoked_at is not None or not is_connected(compute.seen_at, now):
            seen = f"was last seen at {compute.seen_at:%Y-%m-%d %H:%M:%S} UTC" if compute.seen_at else "was never seen"
            raise NotReady(
                f"The agent of compute {name!r} is not connected; it {seen}.",
                hint="Look at its log on its machine, or start it again: mill agent",
            )
        test = ComputeTest(new_id(), compute.id, actor.name, now)
        compute_tests.insert(tx, test)
        audit.record(tx, now=now, actor=actor, action="compute.test", subject=name, details={"test": test.id})
    deps.events.wake("agents")
    return compute.name, test


def get(deps: Deps, name: str, test_id: str) -> tuple[str, ComputeTest]:
    with deps.db.read() as tx:
        compute = computes.find(tx, name)
        test = compute_tests.get(tx, compute.id, test_id)
    if test is None:
        raise access.not_found("test", test_id)
    return compute.name, test


def wanted(tx: Connection, compute_id: str, now: datetime) -> list[str]:
    """Ids of the tests that the agent of this compute is to make now."""
    return list(compute_tests.open_of_compute(tx, compute_id, now - timedelta(seconds=OPEN_SECONDS)))


def urls(deps: Deps, actor: Actor, test_id: str) -> TrialUrls:
    """Where the agent may write and read one object of the lake, through the same URLs as everything else."""
    with deps.db.read() as tx:
        _own(tx, actor, test_id)
    put, get = (deps.store.sign(method, _key(test_id), deps.settings.url_seconds) for method in ("PUT", "GET"))
    return TrialUrls(
        put=put.url, put_headers=dict(put.headers), get=get.url, bytes=LAKE_BYTES, server_time=deps.clock.now()
    )


def finish(deps: Deps, actor: Actor, test_id: str, checks: Sequence[Check]) -> None:
    """Keep what the agent found; what it wrote is removed. Told twice, the first counts."""
    with deps.db.write() as tx:
        test = _own(tx, actor, test_id)
        if test.ended_at is None:
            compute_tests.end(tx, test_id, [check.model_dump() for check in checks], deps.clock.now())
    deps.store.delete(_key(test_id))
    deps.events.publish("computes", project_id=None, data={"id": test.compute_id, "what": "tested"})


def forget_old(deps: Deps, now: datetime) -> int:
    """Housekeeping, also of objects that were written for tests nobody finished."""
    with deps.db.read() as tx:
        old = compute_tests.ids_before(tx, now - _KEPT)
    for test_id in old:
        deps.store.delete(_key(test_id))
    if old:
        with deps.db.write() as tx:
            compute_tests.delete(tx, old)
    return len(old)


def _own(tx: Connection, actor: Actor, test_id: str) -> ComputeTest:
    test = compute_tests.get(tx, actor.compute_id or "", test_id)
    if test is None:
        raise access.not_found("test", test_id)
    return test


def _key(test_id: str) -> str:
    return f"doctor/computes/{test_id}"
