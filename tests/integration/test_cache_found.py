"""Commits on a volume that the database does not know of any more: taken up again, put right, never fetched anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from millpond.db import caches, volumes
from millpond.testing.builders_data import a_commit
from millpond.testing.server import running_server
from millpond.testing.waiting import wait_until
from tests.integration.cache_site import CacheSite, is_whole


@pytest.fixture
def site(tmp_path: Path) -> Iterator[CacheSite]:
    with running_server(tmp_path / "data") as server, ExitStack() as stack:
        yield CacheSite(tmp_path, server, stack, ["one"])


def forget(site: CacheSite, *, volume: bool) -> None:
    """The database is older than what lies on the volume, or knows nothing of the volume at all."""
    with site.server.deps.db.write() as tx:
        found = volumes.find(tx, "shared")
        assert found is not None
        for view in caches.of_volume(tx, found.id):
            caches.delete(tx, view.cached.id)
        if volume:
            volumes.delete(tx, found.id)


def states(site: CacheSite) -> dict[str, str]:
    listed = site.server.admin.get("/caches").json()["items"]
    return {item["commit_id"]: item["state"] for item in listed if item["measured"]}


def test_what_an_older_database_does_not_know_is_taken_up(site: CacheSite) -> None:
    before = {f"{n % 7}/{n:03d}": b"%04d" % n for n in range(120)}
    after = {**before, "new": b"new"}
    commits = [a_commit(site.server.deps, content) for content in (before, after)]
    for commit in commits:
        site.wait_for(site.cache(commit), "ready")
    known = {commit.id: "ready" for commit in commits}
    foreign = site.path(commits[0]).parent / ("f" * 64)
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("not Millpond's")
    torn = site.path(commits[1]) / "1/008"
    torn.chmod(0o644)
    torn.write_bytes(b"torn off")

    forget(site, volume=False)
    wait_until(lambda: states(site) == known, what="commits that were found", within=60)
    assert is_whole(site.path(commits[0]), before) and is_whole(site.path(commits[1]), after)

    forget(site, volume=True)
    made = site.server.admin.post("/volumes", json={"name": "again", "path": str(site.volume), "site": "local"})
    assert made.status_code == 201
    wait_until(lambda: states(site) == known, what="commits of a volume of a database that is gone", within=60)
    reasons = {item["reason"] for item in site.server.admin.get("/caches").json()["items"]}
    assert reasons == {"it was found on the volume"}
    assert (foreign / "thesis.tex").read_text() == "not Millpond's"
    assert site.server.admin.get("/evictions").json()["items"] == []
