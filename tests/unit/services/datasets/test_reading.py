"""Reading: what a ref means, and which objects one may be given URLs of."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from millpond.errors import BadRequest, Forbidden, NotFound
from millpond.model.dataset import DatasetKind
from millpond.model.job_spec import JobInput
from millpond.model.people import Actor, ActorKind, Role
from millpond.services.commits import refs
from millpond.services.commits.pages import PageCache
from millpond.services.datasets import datasets, reading, urls
from millpond.services.datasets.reading import CommitView
from millpond.services.datasets.urls import UrlsWanted
from millpond.services.deps import Deps
from millpond.services.people import projects
from millpond.testing.builders_data import a_commit, a_dataset, a_sized_commit, the_admin, the_project
from millpond.testing.builders_work import add_commit, add_job
from millpond.testing.clock import NOON


def test_a_ref_is_a_branch_or_the_beginning_of_an_id(deps: Deps) -> None:
    first = a_commit(deps, {"a": b"1"})
    second = a_commit(deps, {"a": b"2"})
    dataset = a_dataset(deps)
    assert reading.get_commit(deps, dataset, "main") == second
    assert reading.get_commit(deps, dataset, first.id[:10]) == first
    for unknown in ("mian", first.id[:3], "ffff" * 16, first.id[:10].upper()):
        with pytest.raises(NotFound):
            reading.get_commit(deps, dataset, unknown)
    with pytest.raises(NotFound) as caught:
        reading.get_commit(deps, dataset, "mian")
    assert caught.value.details["near"] == ["main"]


def test_a_branch_named_like_a_commit_is_the_branch(deps: Deps) -> None:
    first = a_commit(deps, {"a": b"1"})
    named = a_commit(deps, {"b": b"1"}, branch=first.id[:8])
    assert reading.get_commit(deps, a_dataset(deps), first.id[:8]) == named


def test_an_unclear_beginning_names_the_candidates(deps: Deps) -> None:
    dataset = a_dataset(deps)
    seen: dict[str, str] = {}
    for _ in range(5000):  # after some hundred, two ids begin alike
        commit = a_sized_commit(deps, dataset, size=1)
        other = seen.setdefault(commit.id[:4], commit.id)
        if other != commit.id:
            break
    with deps.db.read() as tx, pytest.raises(BadRequest) as caught:
        refs.resolve(tx, dataset, commit.id[:4])
    assert {other, commit.id} <= set(caught.value.details["candidates"])


def test_an_empty_dataset_says_so(deps: Deps) -> None:
    with pytest.raises(NotFound, match="no commits yet"):
        reading.get_commit(deps, a_dataset(deps), "main")


def test_people_get_what_their_project_has_and_nothing_else(deps: Deps) -> None:
    commit = a_commit(deps, {"a": b"1"})
    projects.create(deps, the_admin(deps), name="secret")
    foreign = a_commit(deps, {"s": b"secret"}, project="secret")
    dataset = a_dataset(deps)
    found = urls.sign(deps, the_admin(deps), dataset, commit, UrlsWanted(pages=[commit.tree]))
    assert f"/projects/{dataset.project_id}/pages/" in found.pages[commit.tree]
    for asked in (UrlsWanted(pages=[foreign.tree]), UrlsWanted(packs=["0" * 32]), UrlsWanted(locators=["1" * 64])):
        with pytest.raises(NotFound):
            urls.sign(deps, the_admin(deps), dataset, commit, asked)
    with pytest.raises(BadRequest):
        urls.sign(deps, the_admin(deps), dataset, commit, UrlsWanted(pages=["../../etc"]))


def test_a_job_reads_its_inputs_alone(deps: Deps) -> None:
    commit = a_commit(deps, {"a": b"1"})
    other = a_commit(deps, {"b": b"2"})
    dataset = a_dataset(deps)
    job = add_job(deps.db, inputs=(JobInput("default/xray", "main", commit.id, dataset.id, "MILL_DATA_XRAY"),))
    roles = {the_project(deps).id: Role.MEMBER}
    actor = Actor(kind=ActorKind.PLACEMENT, name="m", placement_id="p1", job_id=job.id, roles=roles)
    assert urls.sign(deps, actor, dataset, commit, UrlsWanted(pages=[commit.tree])).pages
    with pytest.raises(Forbidden):
        urls.sign(deps, actor, dataset, other, UrlsWanted(pages=[other.tree]))
    # What it wrote itself it may see: that is how it learns that a commit was made whose answer was lost.
    urls.check_may_know(deps, actor, replace(other, lineage={"job": job.id}))
    with pytest.raises(Forbidden):
        urls.check_may_know(deps, actor, replace(other, lineage={"job": "another"}))


def test_the_page_cache_keeps_to_its_bound() -> None:
    cache = PageCache(most_bytes=100)
    loads: list[str] = []

    def get(key: str, size: int) -> None:
        cache.get(key, lambda: loads.append(key) or bytes(size))

    for key in ("a", "b", "a", "c", "a", "b"):
        get(key, 40)
    assert loads == ["a", "b", "c", "b"]
    get("large", 1000)
    get("large", 1000)
    assert loads[-2:] == ["large", "large"]


def test_code_and_outputs_are_listed_whole_with_their_jobs(deps: Deps) -> None:
    made = [
        add_commit(deps.db, ".outputs", kind=DatasetKind.OUTPUT, branch=f"job{n}", now=NOON + timedelta(minutes=n))
        for n in range(5)
    ]
    add_job(deps.db, name="train", number=7, output_commit=made[3])
    add_job(deps.db, name="gone", output_commit=made[2], deleted_at=NOON)
    with deps.db.read() as tx:
        dataset = datasets.find(tx, the_project(deps), ".outputs")
    shown: list[CommitView] = []
    cursor = None
    while not shown or cursor:
        page = reading.history(deps, dataset, ref=None, limit=2, cursor=cursor)
        shown, cursor = [*shown, *page.items], page.next
    assert [view.commit.id for view in shown] == made[::-1]
    assert [[(job.name, job.number) for job in view.jobs] for view in shown[1:3]] == [[("train", 7)], []]
    (alone,) = reading.history(deps, dataset, ref="job1", limit=9, cursor=None).items
    assert alone.commit.id == made[1]


def test_a_directory_is_listed_from_a_name_on(deps: Deps) -> None:
    commit = a_commit(deps, {f"d/{name}": b"1" for name in ("apple", "banana/x", "cherry")})

    def names(start: str, path: str = "d") -> list[str]:
        found = reading.entries(deps, a_dataset(deps), commit, path=path, limit=9, cursor=None, start=start)
        return [entry.name for entry in found.items]

    assert names("b") == names("banana") == ["banana", "cherry"]
    assert (names("bz"), names("z")) == (["cherry"], [])
    with pytest.raises(NotFound):
        names("b", path="nowhere")
