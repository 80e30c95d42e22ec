"""Where queued jobs go: by what waiting, filling and money cost, template by template, with data before GPUs."""

from __future__ import annotations

from typing import Any

import pytest

from millpond.db import links as link_rows
from millpond.db import sites, volumes
from millpond.model.job import Job, JobState
from millpond.model.job_spec import JobInput, JobSpec
from millpond.model.people import SYSTEM
from millpond.model.template import QueueEntry, TemplateSpec
from millpond.model.topology import LAKE, Link
from millpond.services.caches.fills import reports as cache_reports
from millpond.services.computes import agents as agent_service
from millpond.services.computes import queues, templates
from millpond.services.jobs import dry_run, schedule, why
from millpond.services.jobs.why import WhyView
from millpond.testing.builders_work import GB, AddedAgent, add_agent, add_commit, add_volume, observed
from millpond.wire.desired import Desired
from millpond.wire.observed import FillSeen, NodeFacts, VolumeSeen
from tests.unit.services.world import World

MB = 10**6


class Sites:
    """Two sites, `here` and `there`, each with a compute of two GPUs and a volume."""

    def __init__(self, world: World) -> None:
        self.world, self.db, self.clock = world, world.deps.db, world.clock
        self.agents = {name: self._add(name) for name in ("here", "there")}

    def _add(self, name: str) -> AddedAgent:
        agent = add_agent(self.db, name, site=name, gpus=2, now=self.clock.now())
        add_volume(self.db, f"{name}-disk", site=name, now=self.clock.now())
        return agent

    def link(self, site: str, *, mb_per_second: float, price_per_gb: float = 0.0) -> None:
        """From the lake."""
        with self.db.write() as tx:
            ids = {name: one for one, name in sites.by_id(tx).items()}
            speed = int(mb_per_second * 8 * MB)
            link_rows.put(tx, Link(LAKE, ids[site], bits_per_second=speed, price_per_gb=price_per_gb, set_at=self.now))

    @property
    def now(self) -> Any:
        return self.clock.now()

    def sync(self, site: str, **told: Any) -> Desired:
        agent = self.agents[site]
        with self.db.read() as tx:
            volume = next(one for one in volumes.all_of(tx) if one.site == site)
        seen = observed(
            NodeFacts(name=site, cpus=4, memory_bytes=16 * GB, gpus=2), instance=site,
            volumes=[VolumeSeen(id=volume.id, disk_free_bytes=100 * GB)], **told,
        )  # fmt: skip
        return agent_service.desired(
            self.world.deps, agent_service.observe(self.world.deps, agent.actor, seen), seen
        )  # fmt: skip

    def fills(self, site: str) -> list[Any]:
        return list(self.sync(site).fills)

    def fill_all(self, site: str) -> None:
        for fill in self.fills(site):
            seen = FillSeen(cached_id=fill.cached_id, attempt=fill.attempt, state="ready")
            cache_reports.observe_fills(self.world.deps, self.agents[site].agent, [seen])

    def submit(self, name: str, **wanted: Any) -> Job:
        return self.world.submit(name, **{"gpu_hundredths": 100, **wanted})

    def schedule(self, seconds: float = 0.0) -> None:
        """Time passes; agents that were heard of stay connected."""
        self.clock.advance(seconds)
        for site in self.agents:
            self.sync(site)
        schedule.run_once(self.world.deps, self.clock.now())

    def where(self, job: Job) -> str | None:
        found = self.world.job(job.id).status
        return found.compute if found.state is not JobState.QUEUED else None

    def why(self, job: Job) -> WhyView:
        return why.why(self.world.deps, self.world.maria, self.world.project, job.id)


@pytest.fixture
def places(world: World) -> Sites:
    found = Sites(world)
    # The world's own compute has no GPUs.
    found.schedule()
    return found


def take_all(places: Sites, site: str, **wanted: Any) -> list[Job]:
    found = [places.submit(f"{site}-{number}", compute=site, **wanted) for number in range(2)]
    places.schedule()
    assert [places.where(job) for job in found] == [site, site]
    return found


def test_money_counts_as_much_as_time(places: Sites) -> None:
    """60 MB over a link of 50 per GB cost 3; the other site needs 27 s, which are worth less than a cent."""
    places.link("here", mb_per_second=600, price_per_gb=50.0)
    places.link("there", mb_per_second=60 / 27)
    add_commit(places.db, "xray", size=60 * MB)
    job = places.submit("train", inputs=["xray"])
    places.schedule()
    assert (places.fills("here"), len(places.fills("there"))) == ([], 1)
    table = {one.place: one for one in places.why(job).places}
    assert (table["there"].chosen, table["here"].egress_cost, round(table["there"].fill_seconds)) == (True, 3.0, 27)
    places.fill_all("there")
    places.schedule()
    assert places.where(job) == "there"
    assert [one.place for one in places.why(job).places if one.chosen] == ["there"]


def test_data_before_gpus(places: Sites) -> None:
    """A job whose data takes a minute holds no GPU meanwhile, and keeps its place in line."""
    places.link("here", mb_per_second=1)
    places.link("there", mb_per_second=0.001)
    add_commit(places.db, "xray", size=60 * MB)
    first = places.submit("first", inputs=["xray"], gpu_hundredths=200)
    places.schedule()
    found = places.why(first)
    assert (found.state, found.rule) == (JobState.QUEUED, "locality")
    assert "fetched to here" in found.reasons[-1]
    second = places.submit("second", gpu_hundredths=200, compute="here")
    places.schedule()
    assert places.where(second) == "here", "its GPUs are not held through the fill"
    places.fill_all("here")
    places.schedule()
    assert (places.where(first), places.why(first).rule) == (None, "locality"), "its site has filled up meanwhile"


def test_a_job_takes_gpus_when_its_data_is_expected_soon(places: Sites) -> None:
    places.link("here", mb_per_second=10)
    places.link("there", mb_per_second=0.001)
    add_commit(places.db, "xray", size=60 * MB)
    job = places.submit("train", inputs=["xray"])
    places.schedule()
    assert places.where(job) == "here"


def test_patience_for_locality_is_bounded(places: Sites) -> None:
    """The site with the data is full; the other one needs hours. The job waits five minutes, then its data moves."""
    places.link("here", mb_per_second=100)
    places.link("there", mb_per_second=0.01)
    add_commit(places.db, "xray", size=60 * MB)
    take_all(places, "here", inputs=["xray"])
    places.fill_all("here")
    job = places.submit("train", inputs=["xray"])
    places.schedule()
    assert places.why(job).rule == "locality"
    places.schedule(200)
    assert places.fills("there") == []
    places.schedule(120)
    assert len(places.fills("there")) == 1
    places.fill_all("there")
    places.schedule()
    assert places.where(job) == "there"


def test_jobs_that_share_a_dataset_attract_each_other(places: Sites) -> None:
    places.link("here", mb_per_second=1)
    places.link("there", mb_per_second=1)
    add_commit(places.db, "xray", size=600 * MB)
    for number in range(3):
        places.submit(f"job{number}", inputs=["xray"], cpu=1 + number)
    places.schedule()
    assert sorted(len(places.fills(site)) for site in ("here", "there")) == [0, 1]


def a_queue(places: Sites, *, patience: int) -> None:
    deps = places.world.deps
    templates.put(deps, SYSTEM, "ours", TemplateSpec(compute="here", gpu_hundredths=100, price_per_hour=1.0))
    templates.put(deps, SYSTEM, "cloud", TemplateSpec(compute="there", gpu_hundredths=200, env={"WHERE": "cloud"}))
    queues.put(deps, SYSTEM, "burst", [QueueEntry("ours", patience), QueueEntry("cloud")])


def test_a_queue_starts_on_its_first_template(places: Sites) -> None:
    a_queue(places, patience=60)
    job = places.submit("train", gpu_hundredths=0, on="burst")
    places.schedule()
    assert places.where(job) == "here"
    assert places.world.job(job.id).spec.gpu_hundredths == 100


def test_a_queue_bursts_when_patience_is_over(places: Sites) -> None:
    take_all(places, "here")
    a_queue(places, patience=60)
    job = places.submit("train", gpu_hundredths=0, on="burst")
    places.schedule()
    found = places.why(job)
    assert (places.where(job), found.rule) == (None, "template")
    assert "template ours until" in found.reasons[-1] and "then for cloud" in found.reasons[-1]
    assert [(one.template, one.place) for one in found.places] == [("ours", "here"), ("cloud", "there")]
    places.schedule(59)
    assert places.where(job) is None
    places.schedule(1)
    assert places.where(job) == "there"
    after = places.world.job(job.id)
    assert (after.spec.gpu_hundredths, after.spec.env) == (200, {"WHERE": "cloud"})
    assert after.status.template is not None and after.status.template.name == "cloud"
    assert [one.place for one in places.why(job).places if one.chosen] == ["there"]


def test_the_first_template_is_taken_while_it_has_room_though_the_next_costs_less(places: Sites) -> None:
    a_queue(places, patience=0)
    job = places.submit("train", gpu_hundredths=0, on="burst")
    places.schedule()
    assert places.where(job) == "here"


def test_without_patience_a_queue_bursts_at_once(places: Sites) -> None:
    take_all(places, "here")
    a_queue(places, patience=0)
    jobs = [places.submit(f"train{number}", gpu_hundredths=0, on="burst") for number in range(2)]
    places.schedule()
    assert [places.where(job) for job in jobs] == ["there", None]


def test_a_dry_run_shows_what_each_place_costs(places: Sites) -> None:
    places.link("here", mb_per_second=600, price_per_gb=50.0)
    places.link("there", mb_per_second=2)
    add_commit(places.db, "xray", size=60 * MB)
    a_queue(places, patience=60)
    deps, world = places.world.deps, places.world
    spec = JobSpec(command=("true",), on="burst", inputs=(JobInput.parse("xray"),))
    found = dry_run.dry_run(deps, world.maria, world.project, spec)
    assert (found.template, found.spec.gpu_hundredths) == ("ours", 100)
    assert [(one.template, one.place, one.compute_cost, one.egress_cost) for one in found.places] == [
        ("ours", "here", 1.0, 3.0), ("cloud", "there", 0.0, 0.0),
    ]  # fmt: skip
    assert found.places[1].note is not None and "in 1 m" in found.places[1].note
    assert found.places[0].chosen
