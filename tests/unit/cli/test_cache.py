"""What `mill cache` says while a fill or an eviction is under way, held up or impossible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millpond.cli import progress
from millpond.client import caches, caching
from tests.unit.cli.conftest import Mill
from tests.unit.client.fake_server import Answer, FakeServer, Received, problem

COMMIT = "3fa2c1d0" + "0" * 56
CACHED: dict[str, Any] = {
    "id": "c1", "volume": "nfs", "site": "local", "project": "default", "dataset": "xray", "dataset_id": "d1",
    "commit_id": COMMIT, "path": "/mnt/nfs/commits/p1/d1/3fa2", "state": "ready", "bytes": 1000, "files": 10,
    "done_bytes": 1000, "done_files": 10, "requested_by": "maria", "requested_at": "2026-11-15T20:00:00Z",
    "ready_at": None, "used_at": "2026-11-15T20:00:00Z", "expires_at": None, "idle_seconds": 86400, "pinned": False,
    "leased_by": [], "reason": "", "problem": None,
}  # fmt: skip
FULL = "The disk of the volume at /mnt/nfs is too full."


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (caches, caching):
        monkeypatch.setattr(module, "LOOK_SECONDS", 0.01)


def answers(*found: dict[str, Any] | Answer) -> Iterator[Any]:
    yield from (one if isinstance(one, Answer) else CACHED | one for one in found)


def adds(server: FakeServer, *seen: dict[str, Any] | Answer) -> None:
    """Asked for, it is being filled; looked at again, it is as `seen`, one after the other."""
    looks = answers(*seen)
    added = {"cached": CACHED | {"state": "filling", "done_bytes": 0}, "started": True, "reasons": ["nfs was chosen"]}
    server.on("POST", "/caches", lambda received: added)
    server.on("GET", "/caches/c1", lambda received: next(looks))


def test_a_fill_that_is_held_up_says_so_once_and_goes_on(server: FakeServer, mill: Mill) -> None:
    held_up = {"state": "filling", "problem": FULL}
    adds(server, held_up, held_up, {"state": "filling"}, held_up, {})
    done = mill("cache", "add", "xray")
    assert done.code == 0, done.err
    assert done.err.count(f"xray@3fa2c1d0 is delayed on nfs: {FULL}") == 1
    assert "xray@3fa2c1d0 is on volume nfs: 10 files" in done.err
    assert CACHED["path"] in done.out


def test_what_a_fill_waits_for_stands_in_the_line_of_progress(
    server: FakeServer, mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
    held_up = {"state": "filling", "done_bytes": 100, "done_files": 1, "problem": FULL}
    adds(server, held_up, held_up, {"state": "filling", "done_bytes": 0, "done_files": 0, "waiting": True}, {})
    done = mill("cache", "add", "xray")
    assert done.code == 0, done.err
    line = "Caching xray@3fa2c1d0 on nfs: "
    assert done.err.count(f"{line}1/10 files · 100 B/1.0 kB · waiting: {FULL}") == 2
    assert f"{line}0/10 files · 0 B/1.0 kB · waiting for space" in done.err


def test_a_fill_that_cannot_be_done_says_why_and_where_to_look(server: FakeServer, mill: Mill) -> None:
    adds(server, {"state": "failed", "problem": "The volume takes 'A' and 'a' for one name."})
    done = mill("cache", "add", "xray")
    assert done.code == 5
    assert "Cannot cache xray@3fa2c1d0 on nfs: The volume takes 'A' and 'a' for one name." in done.err
    assert "mill volume show nfs" in done.err


def test_without_waiting_it_is_on_its_way(server: FakeServer, mill: Mill) -> None:
    adds(server)
    done = mill("cache", "add", "xray", "--no-wait")
    assert done.code == 0 and "Caching xray@3fa2c1d0 on volume nfs" in done.err


def test_what_is_just_leaving_is_asked_for_until_it_has_left(server: FakeServer, mill: Mill) -> None:
    leaving = problem(409, "not_ready", "default/xray@3fa2c1d0 is being evicted from nfs.")
    told: Iterator[Any] = iter([leaving, leaving, {"cached": CACHED, "started": True, "reasons": []}])
    server.on("POST", "/caches", lambda received: next(told))
    assert mill("cache", "add", "xray").code == 0


def test_what_is_left_of_a_deleted_dataset_is_found_by_its_name(server: FakeServer, mill: Mill) -> None:
    """One's own hold keeps it there: it can be let go, although there is no such dataset any more."""
    gone = problem(404, "not_found", "No dataset 'xray' found, or you have no access to it.")
    listed = [CACHED | {"leaving": True}, CACHED | {"id": "c2", "dataset": "other", "leaving": True}]
    released: list[str] = []
    server.on("GET", "/projects/default/datasets/xray/commits/.*", lambda received: gone)
    server.on("GET", "/caches", lambda received: gone if "dataset" in received.query else {"items": listed})
    server.on("DELETE", "/caches/(.*)/hold", lambda received: released.append(received.path) or listed[0])
    for written in ("xray", "xray@3fa2"):
        assert mill("cache", "release", written).code == 0
    assert [path.rpartition("/caches/")[2] for path in released] == ["c1/hold", "c1/hold"]
    other = mill("cache", "release", "xray@4fff")
    assert other.code != 0 and "No dataset 'xray'" in other.err


def clears(server: FakeServer, *seen: dict[str, Any] | Answer) -> None:
    looks = answers(*seen)
    server.on("GET", "/projects/default/datasets/xray/commits/.*", _commit)
    server.on("GET", "/caches", lambda received: {"items": [CACHED]})
    server.on("DELETE", "/caches/c1", lambda received: Answer(204))
    server.on("GET", "/caches/c1", lambda received: next(looks))


def _commit(received: Received) -> dict[str, Any]:
    return {
        "id": COMMIT, "dataset": "default/xray", "dataset_id": "d1", "project_id": "p1", "tree": "0" * 64,
        "parents": [], "author": "maria", "time": "2026-11-15T20:00:00Z", "message": "", "files": 10, "bytes": 1000,
    }  # fmt: skip


def test_clearing_ends_when_the_bytes_are_gone(server: FakeServer, mill: Mill) -> None:
    leaving = {"state": "evicting"}
    clears(server, leaving, leaving, problem(404, "not_found", "There is no cached commit 'c1'."))
    done = mill("cache", "clear", "xray", "--yes")
    assert done.code == 0, done.err
    assert "xray@3fa2c1d0 cleared from volume nfs." in done.err
    assert len(server.calls("GET", "/caches/c1")) == 3


def test_clearing_what_cannot_go_now_says_what_is_in_the_way(server: FakeServer, mill: Mill) -> None:
    clears(server, {"state": "evicting", "problem": "/mnt/nfs is mounted read-only."})
    done = mill("cache", "clear", "xray", "--yes")
    assert done.code == 0
    assert "will be removed from volume nfs as soon as possible. /mnt/nfs is mounted read-only." in done.err


def test_clearing_without_waiting_does_not_look_again(server: FakeServer, mill: Mill) -> None:
    clears(server)
    done = mill("cache", "clear", "xray", "--yes", "--no-wait")
    assert done.code == 0 and "Removing xray@3fa2c1d0 from volume nfs" in done.err
    assert server.calls("GET", "/caches/c1") == []
