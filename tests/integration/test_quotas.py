"""Quotas of projects: set by administrators, kept where something is taken, and told with who has it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from millpond.errors import MillError, OverQuota
from millpond.model.people import Role
from millpond.services.commits.uploads import uploads
from millpond.services.jobs.schedule import run_once
from millpond.services.quotas.calls import CallMeter
from millpond.testing.builders_data import a_commit, a_volume, an_actor, an_agent, the_admin, the_project
from millpond.testing.builders_work import add_agent, add_job
from millpond.testing.clock import FakeClock
from millpond.testing.postgres import Postgres
from millpond.testing.server import RunningServer, running_server

MB = 1_000_000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with running_server(tmp_path, clock=FakeClock()) as running:
        yield running


def limit(server: RunningServer, **quota: int | None) -> None:
    answer = server.admin.patch("/projects/default/quota", json=quota)
    assert answer.status_code == 200, answer.text
    server.deps.calls.sync(server.deps.db, server.deps.clock.now())


def use(server: RunningServer, kind: str) -> dict[str, object]:
    (found,) = [one for one in server.admin.get("/projects/default/usage").json()["items"] if one["kind"] == kind]
    assert isinstance(found, dict)
    return found


def test_administrators_set_quotas_and_members_see_who_uses_what(server: RunningServer) -> None:
    ada = server.user("ada", roles={"default": Role.ADMIN})
    assert ada.patch("/projects/default/quota", json={"jobs": 1}).status_code == 403
    a_commit(server.deps, {"a": b"x" * 5000}, actor=an_actor(server.deps, "bea", default=Role.MEMBER))
    limit(server, lake_bytes=MB, jobs=3)
    shown = ada.get("/projects/default/usage").json()
    assert [one["limit"] for one in shown["items"]] == [MB, None, 3, None]
    assert shown["items"][0]["holders"][0]["name"] == "bea"
    assert shown["items"][0]["used"] == shown["items"][0]["holders"][0]["amount"] > 0
    limit(server, lake_bytes=None)
    assert use(server, "lake")["limit"] is None
    assert server.admin.patch("/projects/default/quota", json={"jobs": -1}).status_code == 422
    assert server.user("eve").get("/projects/default/usage").status_code == 404


def test_an_upload_over_the_quota_is_refused_before_it_is_sent(server: RunningServer) -> None:
    limit(server, lake_bytes=MB)
    upload = server.admin.post("/projects/default/uploads", json={}).json()
    assert upload["takes_sizes"] is True
    path = f"/projects/default/uploads/{upload['id']}/packs"
    crc = "AAAAAA=="
    asked = {"count": 2, "crc32": [crc, crc], "sizes": [600_000, 600_000]}
    refused = server.admin.post(path, json=asked)
    assert (refused.status_code, refused.json()["code"]) == (409, "over_quota")
    assert "may keep 1.0 MB in the lake" in refused.json()["detail"]
    assert "mill project quota default" in refused.json()["hint"]
    assert server.admin.post(path, json=asked | {"sizes": [400_000, 500_000]}).status_code == 200
    # What was promised counts at once, also for those who do not tell sizes.
    assert server.admin.post(path, json=asked | {"sizes": [100_001, 0]}).status_code == 409
    assert use(server, "lake")["used"] == 900_000


def test_a_client_that_tells_no_sizes_is_refused_when_it_has_sent(server: RunningServer) -> None:
    limit(server, lake_bytes=10)
    with pytest.raises(OverQuota, match="more are needed"):
        a_commit(server.deps, {"a": b"more than ten bytes, whatever happens"})
    limit(server, lake_bytes=None)
    a_commit(server.deps, {"a": b"more than ten bytes, whatever happens"})


def race_for_the_lake(server: RunningServer) -> None:
    """Many at once get together what there is, and not a byte more."""
    deps, actor = server.deps, the_admin(server.deps)
    limit(server, lake_bytes=10 * MB)
    upload = uploads.create(deps, actor, the_project(deps))

    def ask(_: int) -> int:
        try:
            return len(uploads.pack_slots(deps, upload, 1, sizes=[MB]))
        except OverQuota:
            return 0

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(24))) == 10
    assert use(server, "lake")["used"] == 10 * MB


def test_those_who_upload_at_once_do_not_pass_the_quota_together(server: RunningServer) -> None:
    race_for_the_lake(server)


@pytest.mark.long
def test_nor_do_they_on_postgresql(postgres: Postgres, tmp_path: Path) -> None:
    with (
        postgres.database() as url,
        running_server(tmp_path, clock=FakeClock(), database_url=url) as server,
    ):
        race_for_the_lake(server)


def test_caching_over_the_quota_is_refused_on_all_volumes_together(server: RunningServer) -> None:
    deps = server.deps
    agent = an_agent(deps)
    first = a_commit(deps, {"a": b"1" * 300_000}, dataset="first")
    second = a_commit(deps, {"a": b"2" * 300_000}, dataset="second")
    for name in ("one", "two"):
        a_volume(deps, agent, name)
    limit(server, cached_bytes=500_000)
    asked = {"dataset": f"default/first@{first.id}", "volume": "one"}
    assert server.admin.post("/caches", json=asked).status_code == 201
    refused = server.admin.post("/caches", json={"dataset": f"default/second@{second.id}", "volume": "two"})
    assert (refused.status_code, refused.json()["code"]) == (409, "over_quota")
    assert "Most of it: first" in refused.json()["detail"]


def test_jobs_over_the_quota_wait_and_say_why(server: RunningServer) -> None:
    deps = server.deps
    add_agent(deps.db, "farm")
    for number in range(3):
        add_job(deps.db, id=f"job0000{number}", name=f"train-{number}")
    limit(server, jobs=2)
    run_once(deps, deps.clock.now())
    found = server.admin.get("/jobs", params={"project": "default"}).json()["items"]
    states = sorted(job["state"] for job in found)
    assert states == ["placed", "placed", "queued"], found
    waiting = next(job for job in found if job["state"] == "queued")
    why = server.admin.get(f"/projects/default/jobs/{waiting['id']}/why").json()
    assert "default runs 2 of at most 2 jobs" in str(why)
    assert use(server, "jobs")["used"] == 2
    limit(server, jobs=3)
    run_once(deps, deps.clock.now())
    assert use(server, "jobs")["used"] == 3


def test_calls_over_the_quota_are_told_when_to_come_back(server: RunningServer) -> None:
    clock = server.deps.clock
    assert isinstance(clock, FakeClock)
    clock.advance(60 - clock.now().timestamp() % 60 + 15)
    ada = server.user("ada", roles={"default": Role.MEMBER})
    limit(server, calls_per_minute=3)
    answers = [ada.get("/projects/default/members") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert answers[-1].headers["Retry-After"] == "45"
    assert answers[-1].json()["code"] == "too_many"
    assert "ada (3)" in answers[-1].json()["detail"]
    # Administrators can see and raise it all the same: that is no call within the project.
    limit(server, calls_per_minute=4)
    assert ada.get("/projects/default/members").status_code == 200
    clock.advance(45)
    assert ada.get("/projects/default/members").status_code == 200


def test_servers_of_one_database_learn_of_each_others_calls(server: RunningServer) -> None:
    deps, other = server.deps, CallMeter()
    actor, project = the_admin(deps), the_project(deps)
    limit(server, calls_per_minute=10)
    other.sync(deps.db, deps.clock.now())
    for _ in range(6):
        other.count(deps.clock.now(), actor, project.id, project.name)
    other.sync(deps.db, deps.clock.now())
    deps.calls.sync(deps.db, deps.clock.now())
    for _ in range(4):
        deps.calls.count(deps.clock.now(), actor, project.id, project.name)
    with pytest.raises(MillError, match="10 API calls a minute"):
        deps.calls.count(deps.clock.now(), actor, project.id, project.name)
    deps.calls.sync(deps.db, deps.clock.now())
    assert use(server, "calls")["used"] == 10
