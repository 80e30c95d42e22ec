"""Looking after the lake over the API, on both databases, and while clients sync."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.blobs.local import LocalStore
from millpond.blobs.signing import LocalSigner
from millpond.client.clone import clone
from millpond.client.datasets import create_dataset, delete_dataset
from millpond.client.http import Api
from millpond.client.lake_care import collect, stats
from millpond.client.sync import sync
from millpond.client.working_copy import WorkingCopy
from millpond.model.people import Role
from millpond.services.commits import accept
from millpond.services.lake import collect as collecting
from millpond.testing.builders_data import a_commit, the_admin
from millpond.testing.clock import FakeClock
from millpond.testing.postgres import Postgres
from millpond.testing.server import ADMIN, SECRET, RunningServer, running_server

BASE = "/projects/default/datasets/xray"
DAY = 86_400.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["sqlite", "postgres"])
def server(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[RunningServer]:
    store = LocalStore(tmp_path / "lake", LocalSigner(SECRET))
    if request.param == "sqlite":
        with running_server(tmp_path / "server", store=store, clock=clock) as running:
            yield running
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    with (
        postgres.database() as url,
        running_server(tmp_path / "server", store=store, clock=clock, database_url=url) as running,
    ):
        yield running


def test_delete_bring_back_purge_and_collect(server: RunningServer, clock: FakeClock) -> None:
    admin, maria = server.admin, server.user("maria", roles={"default": Role.MEMBER})
    a_commit(server.deps, {"a": b"1" * 1000})
    assert maria.delete(BASE).status_code == 403
    assert admin.delete(BASE).status_code == 204
    assert [item["name"] for item in maria.get("/datasets?deleted=1").json()["items"]] == ["xray"]
    assert maria.get("/datasets").json()["items"] == []
    assert maria.post(f"{BASE}/undelete").status_code == 403
    assert admin.post(f"{BASE}/undelete").json()["commits"] == 1
    assert maria.get("/datasets").json()["items"][0]["name"] == "xray"
    admin.delete(BASE)
    assert admin.post(f"{BASE}/purge").status_code == 204
    assert admin.post(f"{BASE}/undelete").status_code == 404
    assert maria.post("/lake/collect", json={"dry_run": True}).status_code == 403
    clock.advance(2 * DAY)
    planned = admin.post("/lake/collect", json={"dry_run": True}).json()
    done = admin.post("/lake/collect", json={}).json()
    assert planned["projects"][0]["packs"] == done["projects"][0]["packs"] == 1
    assert done["objects"] > 3
    actions = [record["action"] for record in admin.get("/audit").json()["items"]]
    assert {"dataset.delete", "dataset.undelete", "dataset.purge", "lake.collect"} <= set(actions)


def test_rules_are_set_shown_and_taken_away(server: RunningServer) -> None:
    admin, maria = server.admin, server.user("maria", roles={"default": Role.MEMBER})
    for number in range(3):
        a_commit(server.deps, {"a": b"%d" % number})
    assert maria.patch(BASE, json={"retention": {"keep_last": 1}}).status_code == 403
    assert admin.patch(BASE, json={"retention": {}}).status_code == 422
    assert admin.patch(BASE, json={"retention": {"keep_last": 1}}).json()["retention"] == {
        "keep_last": 1,
        "keep_days": None,
    }
    assert maria.patch(BASE, json={"description": "x"}).json()["retention"] is not None
    report = admin.post("/lake/collect", json={"now": True, "dry_run": True}).json()["projects"][0]
    assert [item["reason"] for item in report["going_commits"]] == ["the rule keeps the newest 1 of each branch"] * 2
    assert admin.patch(BASE, json={"retention": "off"}).json()["retention"] is None
    assert admin.post("/lake/collect", json={"now": True}).json()["projects"][0]["commits"] == 0


def test_what_is_saved(server: RunningServer) -> None:
    text = b"the same words again and again " * 1000
    a_commit(server.deps, {"a": text})
    a_commit(server.deps, {"a": text, "b": text})
    with Api(server.url, server.token_of(ADMIN)) as api:
        found = stats(api)
    assert found.total.logical_bytes == 3 * len(text)
    assert found.total.raw_bytes == len(text)
    assert found.total.saved_by_deduplication == 2 * len(text)
    assert 0 < found.total.stored_bytes < len(text) / 5
    assert found.projects[0].saved_by_compression > len(text) / 2


def test_a_client_sends_again_what_was_removed_before_its_commit(
    server: RunningServer, clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst moment: everything was sent and checked, and then nobody heard of the client for days."""
    real = accept.keep
    late: list[str] = []

    def days_later(*arguments: object) -> None:
        if not late:
            late.append("collected")
            raise _Later
        real(*arguments)  # type: ignore[arg-type]

    def make_visible(*arguments: object) -> object:
        try:
            return visible(*arguments)  # type: ignore[arg-type]
        except _Later:
            clock.advance(2 * DAY)
            collecting.collect(server.deps, the_admin(server.deps), now=True)
            return visible(*arguments)  # type: ignore[arg-type]

    visible = accept.make_visible
    monkeypatch.setattr(accept, "keep", days_later)
    monkeypatch.setattr(accept, "make_visible", make_visible)
    with Api(server.url, server.token_of(ADMIN)) as api:
        made = commit(api, server, folder(tmp_path / "data", 20), "late")
        assert late == ["collected"]
        clone(api, "default", "late", made, tmp_path / "back")
    assert (tmp_path / "back/7.txt").read_text() == "file 7"


class _Later(Exception):
    """Out of the transaction first: the collection needs one of its own."""


@pytest.mark.long
def test_syncs_and_collections_at_once(server: RunningServer, tmp_path: Path) -> None:
    """Real threads: three people sync, delete and sync again, while the lake is collected without a pause."""
    stop = threading.Event()
    problems: list[BaseException] = []

    def keep_collecting() -> None:
        with Api(server.url, server.token_of(ADMIN)) as api:
            while not stop.is_set():
                collect(api, dry_run=False, now=True)

    def work(number: int) -> None:
        name = f"set-{number}"
        with Api(server.url, server.token_of(ADMIN)) as api:
            for turn in range(3):
                root = folder(tmp_path / f"{name}-{turn}", 15 + turn)
                made = commit(api, server, root, name)
                clone(api, "default", name, made, tmp_path / f"{name}-{turn}-back")
                delete_dataset(api, "default", name)
                server_purge(server, name)

    def guarded(call: object, *arguments: object) -> None:
        try:
            call(*arguments)  # type: ignore[operator]
        except BaseException as error:
            problems.append(error)
            raise

    workers = [threading.Thread(target=guarded, args=(work, number)) for number in range(3)]
    collector = threading.Thread(target=guarded, args=(keep_collecting,))
    for thread in (collector, *workers):
        thread.start()
    for thread in workers:
        thread.join()
    stop.set()
    collector.join()
    assert problems == []


def folder(root: Path, files: int) -> Path:
    root.mkdir()
    for number in range(files):
        (root / f"{number}.txt").write_text(f"file {number}")
    return root


def commit(api: Api, server: RunningServer, root: Path, name: str) -> str:
    dataset = create_dataset(api, "default", name)
    done = sync(api, WorkingCopy(root, server.url, "default", name, dataset.id))
    assert done.commit is not None
    return done.commit.id


def server_purge(server: RunningServer, name: str) -> None:
    with Api(server.url, server.token_of(ADMIN)) as api:
        api.request("POST", f"/projects/default/datasets/{name}/purge")
