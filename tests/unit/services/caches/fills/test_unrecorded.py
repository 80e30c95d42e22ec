"""Published commits that no row knows: which are taken up, and what becomes of those that went meanwhile."""

from __future__ import annotations

from millpond.db import caches
from millpond.model.cached_state import CachedState
from millpond.model.dataset import Commit
from millpond.services.caches.fills import desired as desired_fills
from millpond.services.caches.fills import reports as cache_reports
from millpond.services.deps import Deps
from millpond.testing.builders_data import (
    GB,
    a_dataset,
    a_sized_commit,
    a_volume,
    an_agent,
    the_project,
    the_volume,
    told,
)
from millpond.wire.observed import CommitSeen, VolumeSeen


def seen(deps: Deps, commit: Commit, **changes: str) -> CommitSeen:
    place = {"project_id": the_project(deps).id, "dataset_id": commit.dataset_id, "commit_id": commit.id}
    return CommitSeen.model_validate({**place, **changes})


def test_only_what_the_server_knows_by_all_its_names_is_taken_up(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent, capacity=100 * GB)
    volume = the_volume(deps)
    mine, moved, old_agent = (a_sized_commit(deps, a_dataset(deps), size=60 * GB + n) for n in range(3))
    listed = [
        seen(deps, mine),
        seen(deps, moved, dataset_id="another"),
        seen(deps, old_agent, project_id=""),
        seen(deps, mine, commit_id="0" * 64),
    ]
    report = VolumeSeen(id=volume.id, disk_total_bytes=200 * GB, disk_free_bytes=50 * GB, commits=listed)
    for _ in range(2):
        cache_reports.observe_volumes(deps, agent, [report])
    _, (wanted,) = desired_fills.desired_for(deps, agent)
    assert (wanted.want, wanted.commit_id, wanted.attempt) == ("found", mine.id, 1)
    with deps.db.read() as tx:
        (view,) = caches.of_volume(tx, volume.id)
    assert view.cached.reserved_bytes == 0, "its bytes are on the disk, and measured once it is ready"

    cache_reports.observe_fills(deps, agent, [told(wanted, "ready")])
    with deps.db.read() as tx:
        (view,) = caches.of_volume(tx, volume.id)
    assert (view.cached.state, view.cached.found) == (CachedState.READY, False)
    (described, *_), fills = desired_fills.desired_for(deps, agent)
    assert fills == []
    assert [one.commits for one in described.measure] == [[(mine.dataset_id, mine.id)]]


def test_what_went_before_anybody_looked_is_forgotten(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent, capacity=100 * GB)
    volume = the_volume(deps)
    commit = a_sized_commit(deps, a_dataset(deps), size=GB)
    report = VolumeSeen(id=volume.id, disk_total_bytes=200 * GB, disk_free_bytes=50 * GB, commits=[seen(deps, commit)])
    cache_reports.observe_volumes(deps, agent, [report])
    _, (wanted,) = desired_fills.desired_for(deps, agent)
    cache_reports.observe_fills(deps, agent, [told(wanted, "evicted")])
    with deps.db.read() as tx:
        assert caches.of_volume(tx, volume.id) == []
