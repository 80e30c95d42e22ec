"""Links, bandwidth, sights, uses and samples on both databases; two servers may write the same at once."""

from __future__ import annotations

from datetime import timedelta

from millpond.db import links, projects, sites, volume_sightings, volume_usage, volumes
from millpond.db.engine import Database
from millpond.model.people import Project
from millpond.model.topology import LAKE, Bandwidth, CacheUses, Link, Sight, VolumeSample
from millpond.testing.builders_work import add_agent, add_volume
from millpond.testing.clock import NOON

HOUR = timedelta(hours=1)


def test_links_are_found_from_both_ends_and_go_with_their_site(db: Database) -> None:
    first, second = add_volume(db, "a", site="berlin"), add_volume(db, "b", site="paris")
    with db.write() as tx:
        links.put(tx, Link(second.site_id, first.site_id, 10, 1.5, None, NOON))
        links.put(tx, Link(first.site_id, second.site_id, 20, None, 0.5, NOON))
        links.put(tx, Link(first.site_id, LAKE, 30, set_at=NOON))
        links.put_bandwidth(tx, Bandwidth(first.id, second.site_id, 1e9, 1, NOON))
        assert len(links.all_links(tx)) == 2
        found = links.find(tx, second.site_id, first.site_id)
        assert found is not None
        assert (found.bits_per_second, found.latency_ms, found.price_per_gb) == (20, None, 0.5)
        assert (LAKE, first.site_id) in links.all_links(tx)
        links.delete_of(tx, second.site_id)
        assert list(links.all_links(tx)) == [(LAKE, first.site_id)]
        assert links.bandwidths(tx) == []
        assert set(sites.by_id(tx).values()) == {"berlin", "paris"}


def test_sights_are_the_newest_of_each_agent(db: Database) -> None:
    agent, volume = add_agent(db).agent, add_volume(db)
    with db.write() as tx:
        volume_sightings.put(tx, Sight(agent.id, volume.id, "It is not mounted.", NOON))
        volume_sightings.put(tx, Sight(agent.id, volume.id, None, NOON + HOUR))
        assert volume_sightings.all_sights(tx) == {(agent.id, volume.id): Sight(agent.id, volume.id, None, NOON + HOUR)}


def test_uses_add_up_by_volume_project_and_hour(db: Database) -> None:
    volume = add_volume(db)
    mine, other = (Project(f"id-{name}", name, "", NOON) for name in ("mine", "other"))
    one = CacheUses(hits=1, saved_bytes=10**12, saved_seconds=1.5, fills=2, filled_bytes=3, fill_seconds=0.25)
    with db.write() as tx:
        projects.insert(tx, mine), projects.insert(tx, other)
        for project, hour in ((mine, NOON), (mine, NOON), (mine, NOON + HOUR), (other, NOON)):
            volume_usage.add_uses(tx, volume.id, project.id, hour, one)
        volume_usage.add_uses(tx, volume.id, mine.id, NOON, CacheUses(misses=4))
        assert volume_usage.uses(tx, among=None).hits == 4
        assert volume_usage.uses(tx, among={mine.id}) == CacheUses(3, 4, 3 * 10**12, 4.5, 6, 9, 0.75)
        assert volume_usage.uses(tx, among=None, since=NOON + HOUR).hits == 1
        found = volume_usage.hours(tx, volume.id, among={mine.id}, since=NOON, until=NOON + HOUR)
        assert [(at, uses.hits) for at, uses in found] == [(NOON, 2), (NOON + HOUR, 1)]
        assert volume_usage.uses_by_volume(tx)[volume.id].misses == 4


def test_samples_of_one_moment_are_one_and_go_with_their_volume(db: Database) -> None:
    volume = add_volume(db)
    with db.write() as tx:
        for used in (1, 2):
            volume_usage.put_sample(tx, volume.id, 60, VolumeSample(NOON, 100, used, 0, 50, 0))
        volume_usage.put_sample(tx, volume.id, 3600, VolumeSample(NOON, 100, 3, 0, 50, 0))
        (found,) = volume_usage.samples(tx, volume.id, 60, since=NOON, until=NOON)
        assert found.used_bytes == 1
        volume_usage.forget_samples(tx, 60, before=NOON + HOUR)
        assert volume_usage.samples(tx, volume.id, 60, since=NOON, until=NOON) == []
        volumes.delete(tx, volume.id)
        assert volume_usage.samples(tx, volume.id, 3600, since=NOON, until=NOON) == []
