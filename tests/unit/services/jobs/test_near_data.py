"""What it takes to have a commit near a compute: from rows of caches, links and measured bandwidths."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from millpond.db import agents, caches, links, sites, volumes
from millpond.db.engine import Database
from millpond.decide.near import NearRule
from millpond.decide.score import Fill
from millpond.model.cached_state import CachedState
from millpond.model.rate_limit import LimitWindow, RateLimit
from millpond.model.topology import LAKE, Bandwidth, FillRate, Link
from millpond.services.caches import job_caches
from millpond.services.deps import Deps
from millpond.services.jobs.near_data import fills_near
from millpond.services.places import geography
from millpond.testing.builders_work import add_agent, add_commit, add_job, add_volume
from millpond.testing.clock import NOON
from millpond.testing.server import ADMIN

MB = 10**6
SIZE = 60 * MB


@pytest.fixture
def db(deps: Deps) -> Database:
    """A volume at each of two sites; the way from the lake to the second one is fast and costs 50 per GB."""
    add_agent(deps.db, "gpu", site="local")
    add_agent(deps.db, "far", site="paris")
    add_volume(deps.db, "here", site="local")
    add_volume(deps.db, "there", site="paris")
    with deps.db.write() as tx:
        ids = {name: one for one, name in sites.by_id(tx).items()}
        links.put(tx, Link(LAKE, ids["local"], bits_per_second=16 * MB, set_at=NOON))
        links.put(tx, Link(LAKE, ids["paris"], bits_per_second=800 * MB, price_per_gb=50.0, set_at=NOON))
    return deps.db


@pytest.fixture
def commit(db: Database) -> str:
    return add_commit(db, "xray", size=SIZE)


def volume_id(db: Database, name: str) -> str:
    with db.read() as tx:
        return next(volume.id for volume in volumes.all_of(tx) if volume.name == name)


def fills(db: Database, commit: str) -> Mapping[str, Fill | None]:
    """By volume: what is to be fetched there."""
    with db.read() as tx:
        serving = {volume.name: [volume] for volume in volumes.all_of(tx)}
        places = geography.load(tx, NearRule(), NOON)
        found = fills_near(tx, {**serving, "none": []}, {commit: SIZE}, places, fill_price=1.0)
    return {name: one.get(commit) for name, one in found.items()}


def begin(db: Database, commit: str, volume: str, **changes: object) -> str:
    """The fill of a commit; the id of its row."""
    job = add_job(db)
    with db.write() as tx:
        (view,) = job_caches.ensure_cached_for_job(
            tx, now=NOON, job_id=job.id, requested_by=ADMIN, commits=[commit], volume_id=volume
        )
        caches.change(tx, view.cached.id, **changes)  # type: ignore[arg-type]
        return view.cached.id


def test_what_links_say_counts_until_something_was_measured(db: Database, commit: str) -> None:
    assert fills(db, commit) == {"here": Fill(SIZE, 30.0, 0.0), "there": Fill(SIZE, 0.6, 3.0), "none": None}
    with db.write() as tx:
        links.put_bandwidth(tx, Bandwidth(volume_id(db, "here"), LAKE, 6 * MB, 3, NOON))
    assert fills(db, commit)["here"] == Fill(SIZE, 10.0, 0.0)
    with db.write() as tx:
        ids = {name: one for one, name in sites.by_id(tx).items()}
        sites.put_limit(tx, ids["local"], RateLimit((LimitWindow(8 * MB),)))
    assert fills(db, commit)["here"] == Fill(SIZE, 60.0, 0.0), "a limit of 1 MB/s counts"


def test_nothing_is_fetched_to_where_it_is(db: Database, commit: str) -> None:
    begin(db, commit, volume_id(db, "there"), state=CachedState.READY)
    assert fills(db, commit)["there"] is None


def test_a_fill_under_way_takes_what_is_left_of_it_and_costs_no_more(db: Database, commit: str) -> None:
    cached = begin(db, commit, volume_id(db, "there"), done_bytes=40 * MB)
    with db.write() as tx:
        links.put_rate(tx, FillRate(cached, LAKE, 40 * MB, 80.0))
    assert fills(db, commit)["there"] == Fill(20 * MB, 40.0, 0.0)


def test_what_another_site_sends_counts_with_its_link(db: Database, commit: str) -> None:
    begin(db, commit, volume_id(db, "there"), state=CachedState.READY)
    with db.write() as tx:
        ids = {name: one for one, name in sites.by_id(tx).items()}
        links.put(tx, Link(ids["local"], ids["paris"], bits_per_second=160 * MB, price_per_gb=0.1, set_at=NOON))
        sender = agents.first_at(tx, ids["paris"], since=NOON)
        assert sender is not None
        volumes.change(tx, volume_id(db, "there"), filler_id=sender)
    assert fills(db, commit)["here"] == Fill(SIZE, 30.0, 0.0), "nobody sends it yet"
    with db.write() as tx:
        agents.seen(tx, sender, version="1", instance="1", peer="a" * 64, now=NOON)
        sites.change(tx, ids["paris"], address="paris:7000")
    assert fills(db, commit)["here"] == Fill(SIZE, 3.0, pytest.approx(0.006))
