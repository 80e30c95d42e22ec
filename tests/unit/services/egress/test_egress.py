"""Egress counted from reports once and only once, shown by what one may see, and kept within budgets."""

from __future__ import annotations

import pytest

from millpond.db import lake_replica_content, lake_replicas
from millpond.errors import BadRequest, Forbidden, NotFound, OverBudget
from millpond.model.agent import Agent
from millpond.model.job_spec import JobInput
from millpond.model.lake_replica import LakeReplica
from millpond.model.people import Role
from millpond.services import doctor
from millpond.services.caches import requests as cache_requests
from millpond.services.caches.explain import why as cache_why
from millpond.services.caches.fills import desired as desired_fills
from millpond.services.caches.fills import reports as cache_reports
from millpond.services.deps import Deps
from millpond.services.egress import budgets, reading
from millpond.services.egress.reading import EgressBy, EgressFilter
from millpond.services.jobs import job_data
from millpond.services.people import projects
from millpond.services.places import links
from millpond.testing.builders_data import (
    GB,
    a_dataset,
    a_sized_commit,
    a_volume,
    an_actor,
    an_agent,
    carry_out,
    the_admin,
    the_volume,
    told,
)
from millpond.testing.builders_work import add_job
from millpond.testing.clock import FakeClock
from millpond.wire.desired import DesiredFill
from millpond.wire.observed import SourceSeen, VolumeSeen


@pytest.fixture
def agent(deps: Deps) -> Agent:
    found = an_agent(deps)
    a_volume(deps, found)
    links.put(deps, the_admin(deps), "lake", "lab", price_per_gb=0.1)
    return found


def begin(deps: Deps, agent: Agent, name: str = "xray", project: str = "default") -> DesiredFill:
    a_sized_commit(deps, a_dataset(deps, name, project=project), size=GB, branch="main")
    cache_requests.request(deps, the_admin(deps), f"{project}/{name}", volume="nfs")
    return next(one for one in desired_fills.desired_for(deps, agent)[1] if one.dataset == name)


def say(deps: Deps, agent: Agent, fill: DesiredFill, state: str, lake: int, **more: object) -> None:
    sources = [SourceSeen(kind="lake", bytes=lake), SourceSeen(kind="volume", bytes=5)]
    seen = told(fill, state, **{"sources": sources, "session": "a", "done_bytes": lake, **more})
    cache_reports.observe_fills(deps, agent, [seen])


def total(deps: Deps, **chosen: str) -> tuple[int, float]:
    found = reading.report(deps, the_admin(deps), EgressFilter(**chosen), [EgressBy.DAY]).total
    return found.bytes, round(found.money, 6)


def test_reports_that_come_again_are_counted_once(deps: Deps, agent: Agent) -> None:
    fill = begin(deps, agent)
    for lake in (100_000_000, 100_000_000, 300_000_000, 200_000_000, 300_000_000):
        say(deps, agent, fill, "filling", lake)
    assert total(deps) == (300_000_000, 0.03)
    # The agent is killed and begins anew; what it had fetched came over the link all the same.
    say(deps, agent, fill, "filling", 50_000_000, session="b")
    say(deps, agent, fill, "ready", 700_000_000, session="b")
    for _ in range(3):
        say(deps, agent, fill, "ready", 700_000_000, session="b")
    assert total(deps) == (GB, 0.1)


def test_a_failed_try_counts_what_it_brought(deps: Deps, agent: Agent) -> None:
    fill = begin(deps, agent)
    say(deps, agent, fill, "failed", 10_000_000, problem="The lake is away.", transient=True)
    say(deps, agent, fill, "filling", 20_000_000, session="b")
    assert total(deps)[0] == 30_000_000


def test_by_day_project_site_and_link(deps: Deps, agent: Agent, clock: FakeClock) -> None:
    projects.create(deps, the_admin(deps), name="vision")
    say(deps, agent, begin(deps, agent), "ready", GB)
    clock.advance(86_400)
    say(deps, agent, begin(deps, agent, "ct", "vision"), "ready", 2 * GB)
    admin = the_admin(deps)
    found = reading.report(deps, admin, EgressFilter(), list(EgressBy))
    assert [(row.project, row.site, row.link, row.bytes) for row in found.rows] == [
        ("default", "lab", "lake – lab", GB),
        ("vision", "lab", "lake – lab", 2 * GB),
    ]
    assert len({row.day for row in found.rows}) == 2
    assert total(deps, project="vision") == (2 * GB, 0.2)
    assert total(deps, link="lake:lab")[0] == total(deps, site="lab")[0] == 3 * GB
    viewer = an_actor(deps, "eve", vision=Role.VIEWER)
    seen = reading.report(deps, viewer, EgressFilter(), [EgressBy.PROJECT])
    assert [(row.project, row.bytes) for row in seen.rows] == [("vision", 2 * GB)]
    with pytest.raises((NotFound, Forbidden)):
        reading.report(deps, viewer, EgressFilter(project="default"), [EgressBy.DAY])
    with pytest.raises(BadRequest, match="not a link"):
        reading.report(deps, admin, EgressFilter(link="lab"), [EgressBy.DAY])
    day = clock.now().date()
    with pytest.raises(BadRequest, match="before it begins"):
        reading.report(deps, admin, EgressFilter(since=day, until=day.replace(year=2020)), [EgressBy.DAY])


def test_a_used_up_budget_refuses_what_would_cost(deps: Deps, agent: Agent, clock: FakeClock) -> None:
    admin = the_admin(deps)
    budgets.put(deps, admin, "default", bytes_=None, money=0.1, warn_percent=80)
    fill = begin(deps, agent)
    say(deps, agent, fill, "filling", 900_000_000)
    (view,) = budgets.list_visible(deps, admin)
    assert (view.use.level, view.text) == ("warning", "0.09 of 0.10 (90 %)")
    assert not next(one for one in doctor.examine(deps) if one.name == "egress").ok
    say(deps, agent, fill, "ready", GB)
    with pytest.raises(OverBudget, match=r"project default is used up: 0\.10 of 0\.10") as refused:
        begin(deps, agent, "ct")
    assert "mill egress budget set" in (refused.value.hint or "")
    (there,) = cache_why.why(deps, admin, "ct").volumes
    assert any(one.startswith("it would be refused now: The monthly egress budget") for one in there.reasons)
    assert not any("accepted" in one for one in there.reasons)
    # What is there can be used, another project is not held up, and a month later all is well.
    assert not cache_requests.request(deps, admin, "xray", volume="nfs").started
    projects.create(deps, admin, name="vision")
    begin(deps, agent, "ct", "vision")
    clock.advance(32 * 86_400)
    an_agent_looks(deps, agent)
    begin(deps, agent, "mri")


def test_a_job_waits_with_the_reason(deps: Deps, agent: Agent) -> None:
    say(deps, agent, begin(deps, agent), "ready", GB)
    budgets.put(deps, the_admin(deps), None, bytes_=1, money=None, warn_percent=80)
    commit = a_sized_commit(deps, a_dataset(deps, "ct"), size=GB, branch="main")
    wanted = JobInput("default/ct", commit_id=commit.id, dataset_id=commit.dataset_id)
    job = add_job(deps.db, inputs=(wanted,), created_by=the_admin(deps).name)
    told_why = job_data.begin_fills(deps, job, [the_volume(deps)], deps.clock.now())
    assert told_why is not None and "egress budget of all projects is used up" in told_why.words


def an_agent_looks(deps: Deps, agent: Agent) -> None:
    for volume in desired_fills.desired_for(deps, agent)[0]:
        cache_reports.observe_volumes(deps, agent, [VolumeSeen(id=volume.id, disk_free_bytes=100 * GB)])


def test_links_without_a_price_work_whatever_the_budget(deps: Deps, agent: Agent) -> None:
    budgets.put(deps, the_admin(deps), None, bytes_=1, money=None, warn_percent=80)
    say(deps, agent, begin(deps, agent), "ready", GB)
    with pytest.raises(OverBudget, match="all projects"):
        begin(deps, agent, "ct")
    links.put(deps, the_admin(deps), "lake", "lab")
    begin(deps, agent, "ct")


def test_a_site_that_has_it_for_nothing_gives_it(deps: Deps, agent: Agent) -> None:
    admin, paris = the_admin(deps), an_agent(deps, "paris")
    a_volume(deps, paris, "p")
    links.put(deps, admin, "lake", "lab", bits_per_second=10**12, price_per_gb=0.1)
    links.put(deps, admin, "lab", "paris", bits_per_second=10**6)
    a_sized_commit(deps, a_dataset(deps), size=GB, branch="main")
    cache_requests.request(deps, admin, "xray", volume="p")
    carry_out(deps, paris)
    say(deps, agent, begin(deps, agent, "ct"), "ready", GB)
    budgets.put(deps, admin, None, bytes_=1, money=None, warn_percent=80)
    there = next(one for one in desired_fills.desired_for(deps, agent)[0] if one.path == "/mnt/p")
    cache_reports.observe_volumes(deps, agent, [VolumeSeen(id=there.id)])
    cache_requests.request(deps, admin, "xray", volume="nfs")
    fill = next(one for one in desired_fills.desired_for(deps, agent)[1] if one.dataset == "xray")
    assert fill.source == there.id, "slow, and free"


def test_budgets_are_for_administrators_and_projects_that_are_there(deps: Deps) -> None:
    with pytest.raises(NotFound):
        budgets.put(deps, the_admin(deps), "nowhere", bytes_=1, money=None, warn_percent=80)
    with pytest.raises(NotFound):
        budgets.remove(deps, the_admin(deps), None)
    with pytest.raises(BadRequest):
        budgets.put(deps, the_admin(deps), None, bytes_=None, money=None, warn_percent=80)
    budgets.put(deps, the_admin(deps), None, bytes_=5, money=None, warn_percent=80)
    budgets.remove(deps, the_admin(deps), None)
    assert budgets.list_visible(deps, the_admin(deps)) == []


def test_a_replica_beside_the_site_costs_nothing_whatever_the_budget(deps: Deps, agent: Agent) -> None:
    budgets.put(deps, the_admin(deps), None, bytes_=1, money=None, warn_percent=80)
    say(deps, agent, begin(deps, agent), "ready", GB)
    commit = a_sized_commit(deps, a_dataset(deps, "ct"), size=GB, branch="main")
    now = deps.clock.now()
    made = LakeReplica("r1", "copy", "s3://copy", None, "us-east-1", None, now, "admin", sites=[agent.site_id])
    with deps.db.write() as tx:
        lake_replicas.insert(tx, made)
    with pytest.raises(OverBudget):
        cache_requests.request(deps, the_admin(deps), "ct", volume="nfs")
    with deps.db.write() as tx:
        lake_replica_content.add_commit(tx, made.id, commit.id, now)
    assert cache_requests.request(deps, the_admin(deps), "ct", volume="nfs").started
