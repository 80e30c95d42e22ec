"""A volume through a real agent: shared files, measured space, names of branches, verifications, kills."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from millpond.db import shares, volumes
from millpond.model.dataset import Commit
from millpond.testing.builders_data import a_commit
from millpond.testing.server import running_server
from millpond.testing.waiting import wait_until
from tests.integration.cache_site import CacheSite, is_whole


@pytest.fixture
def site(tmp_path: Path) -> Iterator[CacheSite]:
    with running_server(tmp_path / "data") as server, ExitStack() as stack:
        yield CacheSite(tmp_path, server, stack, ["one"])


def files(seed: int, count: int = 200) -> dict[str, bytes]:
    chance = random.Random(seed)
    return {f"{n % 10}/{n:04d}": chance.randbytes(3000) for n in range(count)}


def ready(site: CacheSite, commit: Commit) -> str:
    cached = site.cache(commit)
    site.wait_for(cached, "ready")
    return cached


def shares_of(site: CacheSite) -> list[tuple[int, int]]:
    """How many commits have each share, and its inodes."""
    with site.server.deps.db.read() as tx:
        volume = volumes.find(tx, "shared")
        found = shares.of_volume(tx, volume.id) if volume else []
    return sorted((len(share.members), share.inodes) for share in found)


def verification(site: CacheSite, cached: str) -> dict[str, Any]:
    return dict(site.server.admin.get(f"/caches/{cached}").json()["verification"])


def test_two_commits_share_what_is_unchanged_and_are_healed_together(site: CacheSite) -> None:
    before = files(1)
    after = {**before, "0/0000": b"changed", "new": b"new"}
    first, second = (a_commit(site.server.deps, content) for content in (before, after))
    ready(site, first)
    assert (site.volume / "branches").exists() is False, "the branch has moved on to the second"
    cached = ready(site, second)
    assert is_whole(site.path(first), before) and is_whole(site.path(second), after)
    shared = [path for path in site.path(second).rglob("*") if path.is_file() and path.stat().st_nlink == 2]
    assert len(shared) == 199
    # Eleven directories and the changed file each, and one new one.
    wait_until(lambda: shares_of(site) == [(1, 12), (1, 13), (2, 199)], what="shares that were measured")
    features = site.row()["features"]
    assert features["link"] and features["case_sensitive"]
    wait_until(lambda: (site.volume / "branches/default/xray/main/new").exists(), what="the branch's name")

    damaged = shared[7]
    damaged.chmod(0o644)
    damaged.write_bytes(b"rotten")
    site.server.admin.post(f"/caches/{cached}/verify")
    wait_until(lambda: verification(site, cached)["state"] == "done", what="the verification")
    found = verification(site, cached)
    assert (found["checked_files"], found["damaged_files"], found["healed_files"]) == (201, 1, 1)
    assert is_whole(site.path(first), before) and is_whole(site.path(second), after)

    site.clear(cached)
    site.wait_for(cached, "gone")
    wait_until(lambda: shares_of(site) == [(1, 211)], what="shares after the eviction")
    assert is_whole(site.path(first), before)
    site.assert_tidy()


def kill_again_and_again(site: CacheSite, times: int) -> None:
    """At random moments of fills, evictions and verifications; what is published is whole all the time."""
    chance = random.Random()
    contents = [files(1), {**files(1), **files(2, 40)}, {**files(1), "extra": b"x"}]
    commits = [a_commit(site.server.deps, content) for content in contents]
    by_id = {commit.id: content for commit, content in zip(commits, contents, strict=True)}
    for _ in range(times):
        for commit in commits:
            cached = site.cache(commit)
            if site.state(cached) == "ready":
                wish = chance.choice(["verify", "clear"])
                if wish == "clear":
                    site.clear(cached)
                else:
                    site.server.admin.post(f"/caches/{cached}/verify")
        # The moment of the kill is what is random here; nothing is waited for.
        time.sleep(chance.uniform(0.0, 0.8))
        site.processes["one"].send_signal(signal.SIGKILL)
        site.processes["one"].wait()
        for path in site.volume.glob("commits/*/*/*"):
            assert is_whole(path, by_id[path.name])
        site.start("one")
        wait_until(lambda: site.row()["problem"] is None, what="the agent again")
    for commit in commits:
        ready(site, commit)
        assert is_whole(site.path(commit), by_id[commit.id])
    site.assert_tidy()
    assert len(list(site.volume.glob("commits/*/*/*"))) == len(commits)
    assert sorted(os.listdir(site.volume)) == [".millpond", "branches", "commits"]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_ten_kills(site: CacheSite) -> None:
    kill_again_and_again(site, 10)


@pytest.mark.long
@pytest.mark.timeout(3000)
def test_a_hundred_kills(site: CacheSite) -> None:
    kill_again_and_again(site, 100)
