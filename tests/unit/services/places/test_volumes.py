"""Volumes: what may be added and changed, and what stands in the way of removing one."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from millpond.errors import BadName, BadPath, InUse, Invalid, NameTaken, NotFound
from millpond.services.caches import job_caches
from millpond.services.caches import requests as cache_requests
from millpond.services.deps import Deps
from millpond.services.places import sites, volumes
from millpond.testing.builders_data import (
    GB,
    a_commit,
    a_dataset,
    a_sized_commit,
    a_volume,
    an_agent,
    carry_out,
    the_admin,
)
from millpond.testing.builders_work import add_job
from millpond.testing.clock import FakeClock
from millpond.wire.cache import VolumeCreate


def add(deps: Deps, name: str = "nfs", path: str = "/mnt/nfs", site: str = "lab", **more: Any) -> None:
    volumes.create(deps, the_admin(deps), name=name, path=path, site=site, **more)


@pytest.mark.parametrize("path", ["mnt/nfs", "", "/", "/mnt/../etc", "/mnt/a\nb", "/mnt/\0"])
def test_a_path_is_absolute_and_plain(deps: Deps, path: str) -> None:
    an_agent(deps)
    with pytest.raises(BadPath):
        add(deps, path=path)


def test_names_paths_and_sites_are_checked(deps: Deps) -> None:
    with pytest.raises(NotFound):
        add(deps)
    sites.create(deps, the_admin(deps), "lab")
    with pytest.raises(NameTaken):
        sites.create(deps, the_admin(deps), "lab")
    with pytest.raises(BadName):
        add(deps, name="Big Disk")
    add(deps)
    with pytest.raises(NameTaken, match="Volume 'nfs' already"):
        add(deps, path="/mnt/other")
    with pytest.raises(NameTaken, match="is already volume 'nfs'"):
        add(deps, name="other", path="/mnt/nfs/")
    with pytest.raises(Invalid):
        add(deps, name="other", path="/o", high_percent=50, low_percent=60)
    with pytest.raises(Invalid):
        add(deps, name="other", path="/o", capacity_bytes=10, reserve_bytes=10)
    with pytest.raises(ValidationError):
        VolumeCreate(name="other", path="/o", capacity_bytes=0)


def test_changes_are_held_against_what_stays(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent, capacity=10 * GB)
    changed = volumes.change(deps, the_admin(deps), "nfs", idle_seconds=60, capacity_bytes=20 * GB).volume
    assert (changed.idle_seconds, changed.capacity_bytes, changed.reserve_bytes) == (
        60,
        20 * GB,
        GB // 2,
    )
    with pytest.raises(Invalid):
        volumes.change(deps, the_admin(deps), "nfs", low_percent=95)
    with pytest.raises(NotFound) as caught:
        volumes.change(deps, the_admin(deps), "nsf", idle_seconds=60)
    assert caught.value.details["near"] == ["nfs"]


def test_a_volume_is_connected_while_its_agent_is(deps: Deps, clock: FakeClock) -> None:
    a_volume(deps, an_agent(deps))
    assert volumes.get(deps, "nfs").connected
    clock.advance(91)
    assert not volumes.get(deps, "nfs").connected


def test_removing_says_what_is_there_and_force_clears_what_nobody_uses(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    held = a_sized_commit(deps, a_dataset(deps), size=GB)
    used = cache_requests.request(deps, the_admin(deps), dataset=f"xray@{held.id}").cached
    a_commit(deps, {"a": b"1"})
    cache_requests.request(deps, the_admin(deps), dataset="xray")
    carry_out(deps, agent)
    job = add_job(deps.db)
    with deps.db.write() as tx:
        job_caches.lease_for_job(tx, job.id, [used.id], now=deps.clock.now())
    with pytest.raises(InUse) as caught:
        volumes.delete(deps, the_admin(deps), "nfs", force=False)
    assert len(caught.value.details["depends"]) == 2
    assert "--force" in (caught.value.hint or "")
    with pytest.raises(InUse):
        volumes.delete(deps, the_admin(deps), "nfs", force=True)
    carry_out(deps, agent)
    with pytest.raises(InUse) as caught:
        volumes.delete(deps, the_admin(deps), "nfs", force=True)
    assert caught.value.details["depends"] == [f"default/xray@{held.id[:8]} (ready, used by job default/{job.name})"]
    assert "--force" not in (caught.value.hint or "")
    with deps.db.write() as tx:
        job_caches.release_for_job(tx, job.id, now=deps.clock.now())
    with pytest.raises(InUse):
        volumes.delete(deps, the_admin(deps), "nfs", force=True)
    carry_out(deps, agent)
    volumes.delete(deps, the_admin(deps), "nfs", force=False)
    assert volumes.list_all(deps, limit=9, cursor=None).items == []
