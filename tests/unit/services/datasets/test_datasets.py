"""Datasets: the hub's numbers, names, and what stands in the way of deleting."""

from __future__ import annotations

import pytest

from millpond.db import datasets as rows
from millpond.db import volumes
from millpond.errors import BadName, BadRequest, InUse, NameTaken, NotFound
from millpond.model.job_spec import JobInput
from millpond.model.names import CODE_DATASET
from millpond.model.people import Role
from millpond.services.caches import job_caches
from millpond.services.caches import requests as cache_requests
from millpond.services.datasets import datasets
from millpond.services.deps import Deps
from millpond.services.people import projects
from millpond.testing.builders_data import (
    GB,
    MB,
    a_commit,
    a_dataset,
    a_sized_commit,
    a_volume,
    an_actor,
    an_agent,
    carry_out,
    the_admin,
    the_project,
)
from millpond.testing.builders_work import add_job


def test_the_header_of_the_hub(deps: Deps) -> None:
    """6 Datasets · 290.2 MB · 3 NFS Connected · 1.07/360.77 GB used by cached commits."""
    sizes = [32.4, 170.5, 11.6, 29.7, 44.1, 1.9]
    for number, size in enumerate(sizes):
        made = a_dataset(deps, f"set-{number}")
        a_sized_commit(deps, made, size=10)  # an older commit counts for nothing
        a_sized_commit(deps, made, size=round(size * MB), branch="main")
    datasets.ensure_system_dataset(deps, the_project(deps), CODE_DATASET)
    agent = an_agent(deps)
    for name, capacity in (("a", 100 * GB), ("b", 160 * GB), ("c", 100_770 * MB)):
        a_volume(deps, agent, name, capacity=capacity)
    big = a_sized_commit(deps, a_dataset(deps, "set-0"), size=1070 * MB, branch="v2")
    cache_requests.request(deps, the_admin(deps), dataset=f"set-0@{big.id[:8]}", volume="a")
    carry_out(deps, agent)
    totals = datasets.totals(deps, the_admin(deps))
    assert (totals.datasets, round(totals.bytes / MB, 1), totals.volumes_connected) == (6, 290.2, 3)
    assert (round(totals.cached_bytes / GB, 2), round(totals.volume_bytes / GB, 2)) == (1.07, 360.77)


def test_the_header_leaves_out_volumes_that_are_away_and_other_projects(deps: Deps) -> None:
    agent, admin = an_agent(deps), the_admin(deps)
    volumes_there = [a_volume(deps, agent, name, capacity=10 * GB) for name in ("a", "b")]
    commit = a_sized_commit(deps, a_dataset(deps, "xray"), size=GB, branch="main")
    for volume in volumes_there:
        cache_requests.request(deps, admin, dataset=f"xray@{commit.id[:8]}", volume=volume.name)
        carry_out(deps, agent)
    assert datasets.card(deps, a_dataset(deps, "xray")).card.cached_commits == 1, "one commit on two volumes"
    both = datasets.totals(deps, admin)
    with deps.db.write() as tx:
        volumes.change(tx, volumes_there[1].id, problem="It is not mounted.")
    one = datasets.totals(deps, admin)
    assert (one.volumes_connected, one.volume_bytes) == (1, 10 * GB)
    assert one.cached_bytes == both.cached_bytes // 2 > 0
    projects.create(deps, admin, name="other")
    other = datasets.totals(deps, admin, "other")
    assert (other.datasets, other.bytes, other.cached_bytes) == (0, 0, 0)
    with pytest.raises(NotFound):
        datasets.totals(deps, an_actor(deps, "jonas"), "other")


def test_a_card_counts_commits_caches_and_members(deps: Deps) -> None:
    an_actor(deps, "maria", default=Role.VIEWER)
    a_commit(deps, {"a": b"1"})
    newest = a_commit(deps, {"a": b"22", "b": b"3"})
    view = datasets.card(deps, a_dataset(deps))
    card = view.card
    assert (card.commits, card.files, card.bytes, card.head) == (2, 2, 3, newest.id)
    assert list(view.members) == ["admin", "maria"]


def test_lists_only_what_one_may_see_and_hides_what_jobs_made(deps: Deps) -> None:
    for name in ("b", "a", "c"):
        a_dataset(deps, name)
    datasets.ensure_system_dataset(deps, the_project(deps), CODE_DATASET)
    first = datasets.list_visible(deps, the_admin(deps), project=None, search="", limit=2, cursor=None)
    rest = datasets.list_visible(deps, the_admin(deps), project=None, search="", limit=2, cursor=first.next)
    assert [item.card.dataset.name for item in (*first.items, *rest.items)] == ["a", "b", "c"]
    assert rest.next is None
    stranger = an_actor(deps, "stranger")
    assert datasets.list_visible(deps, stranger, project=None, search="", limit=9, cursor=None).items == []


def test_search_takes_wildcards_as_they_are(deps: Deps) -> None:
    a_dataset(deps, "x-ray")
    a_dataset(deps, "x_ray")
    found = datasets.list_visible(deps, the_admin(deps), project=None, search="X_R", limit=9, cursor=None)
    assert [item.card.dataset.name for item in found.items] == ["x_ray"]


@pytest.mark.parametrize("name", ["", "With Space", "a/b", "..", ".code", "ünïcode", "a" * 64])
def test_refuses_names_that_cannot_be(deps: Deps, name: str) -> None:
    with pytest.raises(BadName):
        datasets.create(deps, the_admin(deps), the_project(deps), name=name)


def test_a_name_is_taken_once_and_free_after_deletion(deps: Deps) -> None:
    first = a_dataset(deps, "xray")
    with pytest.raises(NameTaken):
        datasets.create(deps, the_admin(deps), the_project(deps), name="xray")
    datasets.delete(deps, the_admin(deps), first)
    assert a_dataset(deps, "xray").id != first.id


def test_an_unknown_dataset_is_answered_with_the_nearest(deps: Deps) -> None:
    a_dataset(deps, "xray")
    with deps.db.read() as tx, pytest.raises(NotFound) as caught:
        datasets.find(tx, the_project(deps), "xrya")
    assert caught.value.details["near"] == ["xray"]


def test_a_written_name_without_project_must_be_clear(deps: Deps) -> None:
    admin = the_admin(deps)
    stranger = an_actor(deps, "stranger")
    a_dataset(deps, "xray")
    with deps.db.read() as tx:
        assert datasets.find_written(tx, admin, "xray@v3")[1] == "v3"
        with pytest.raises(NotFound):
            datasets.find_written(tx, stranger, "xray")
    other = projects.create(deps, admin, name="team-b")
    datasets.create(deps, admin, other, name="xray")
    with deps.db.read() as tx:
        with pytest.raises(BadRequest, match="default/xray"):
            datasets.find_written(tx, admin, "xray")
        assert datasets.find_written(tx, admin, f"{other.name}/xray")[0].project == other.name


def test_hidden_datasets_cannot_be_changed_or_deleted(deps: Deps) -> None:
    code = datasets.ensure_system_dataset(deps, the_project(deps), CODE_DATASET)
    assert datasets.ensure_system_dataset(deps, the_project(deps), CODE_DATASET) == code
    with pytest.raises(BadRequest):
        datasets.delete(deps, the_admin(deps), code)


def test_deleting_names_who_uses_it_and_clears_its_caches_afterwards(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    commit = a_commit(deps, {"a": b"1"})
    cached = cache_requests.request(deps, the_admin(deps), dataset="xray").cached
    carry_out(deps, agent)
    job = add_job(deps.db)
    with deps.db.write() as tx:
        job_caches.lease_for_job(tx, job.id, [cached.id], now=deps.clock.now())
    with pytest.raises(InUse) as caught:
        datasets.delete(deps, the_admin(deps), a_dataset(deps))
    assert caught.value.details["depends"] == [f"job default/{job.name}"]
    with deps.db.write() as tx:
        job_caches.release_for_job(tx, job.id, now=deps.clock.now())
    datasets.delete(deps, the_admin(deps), a_dataset(deps, "xray"))
    (gone,) = carry_out(deps, agent)
    assert (gone.want, gone.commit_id) == ("absent", commit.id)
    evictions = cache_requests.evictions(deps, the_admin(deps), limit=9, cursor=None)
    assert [item.reason for item in evictions.items] == ["its dataset was deleted"]


def test_a_queued_job_keeps_its_dataset(deps: Deps) -> None:
    commit = a_commit(deps, {"a": b"1"})
    dataset = a_dataset(deps)
    job = add_job(deps.db, inputs=(JobInput("default/xray", "main", commit.id, dataset.id, "MILL_DATA_XRAY"),))
    with pytest.raises(InUse, match=job.name):
        datasets.delete(deps, the_admin(deps), dataset)
    with deps.db.read() as tx:
        assert rows.get(tx, dataset.id) is not None
