"""Every rule of docs/design/014 as a table: nodes, projects, jobs in the order they are submitted -> who runs, who was
preempted, and under which rule the others wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from millpond.decide.scheduling.backoff import over_quota_from
from millpond.decide.scheduling.explain import explain
from millpond.decide.scheduling.planner import Planner, plan
from millpond.decide.scheduling.snapshot import Node, Pending, Project
from millpond.decide.scheduling.waits import waiting_rules
from millpond.testing.scheduling import Cluster, a_gpu_node, a_pending, a_project


@dataclass(frozen=True)
class Scenario:
    sentence: str
    nodes: tuple[Node, ...]
    projects: tuple[Project, ...]
    # Submitted one after the other; a name alone is a job that ends.
    story: tuple[Pending | str, ...]
    runs: frozenset[str]
    preempted: tuple[str, ...] = ()
    waits: Mapping[str, str] = field(default_factory=dict)
    rebalance: bool = True


ONE_OF_2, ONE_OF_4, ONE_OF_8 = (a_gpu_node("n", 2),), (a_gpu_node("n", 4),), (a_gpu_node("n", 8),)
TWO_OF_2 = tuple(a_gpu_node(name, 2, compute="farm") for name in ("m", "n"))
GUARANTEED = (a_project("a", 2), a_project("b", 2))


def job(name: str, gpus: float = 1, **more: object) -> Pending:
    """The first letter is its project."""
    return a_pending(name, name[0], gpus, **more)


SCENARIOS = (
    Scenario(
        "a project runs no more jobs than its quota of jobs, whatever is free; others start",
        ONE_OF_8, (a_project("a", 4, jobs=2), a_project("b", 4)),
        (job("a1"), job("a2"), job("a3"), job("b1")),
        frozenset({"a1", "a2", "b1"}), (), {"a3": "jobs"},
    ),
    Scenario(
        "when one of them has ended, the next one starts",
        ONE_OF_8, (a_project("a", 4, jobs=2), a_project("b", 4)),
        (job("a1"), job("a2"), job("a3"), "a1"),
        frozenset({"a2", "a3"}),
    ),
    Scenario(
        "jobs without GPUs count",
        ONE_OF_8, (a_project("a", 4, jobs=1), a_project("b", 4)), (job("a1", 0), job("a2", 0)),
        frozenset({"a1"}), (), {"a2": "jobs"},
    ),
    Scenario(
        "a quota of no jobs holds all of them back",
        ONE_OF_8, (a_project("a", 4, jobs=0), a_project("b", 4)), (job("a1"), job("b1")),
        frozenset({"b1"}), (), {"a1": "jobs"},
    ),
    Scenario(
        "(b) a job that does not fit into the quota is over quota as a whole, a later one that fits is not",
        ONE_OF_8, (a_project("a", 3), a_project("b", 5)),
        (job("a1", 2), job("a2", 2), job("a3", 1), job("b1", 5)),
        frozenset({"a1", "a3", "b1"}), ("a2",), {"a2": "order"},
    ),
    Scenario(
        "(b) jobs that are never preempted use up the quota first",
        ONE_OF_4, GUARANTEED,
        (job("a1", 2), job("a2", 2, preemptible=False), job("b1", 2)),
        frozenset({"a2", "b1"}), ("a1",), {"a1": "order"},
    ),
    Scenario(
        "(c) a claim preempts an over-quota job of another project",
        ONE_OF_4, GUARANTEED, (job("a1", 2), job("a2", 2), job("b1", 2)),
        frozenset({"a1", "b1"}), ("a2",), {"a2": "order"},
    ),
    Scenario(
        "(c) nobody within quota is preempted: a job beyond its own quota waits",
        ONE_OF_4, GUARANTEED, (job("a1", 2), job("b1", 2), job("b2", 1)),
        frozenset({"a1", "b1"}), (), {"b2": "order"},
    ),
    Scenario(
        "(d) the guarantee wins over the number: quota 3 with jobs of 2 falls to 2",
        ONE_OF_4, (a_project("a", 3), a_project("b", 1)), (job("a1", 2), job("a2", 2), job("b1", 1)),
        frozenset({"a1", "b1"}), ("a2",), {"a2": "order"},
    ),
    Scenario(
        "(e) no victim could be left out: one of two small jobs is enough",
        ONE_OF_2, (a_project("a", 0), a_project("b", 1)), (job("a1"), job("a2"), job("b1")),
        frozenset({"a1", "b1"}), ("a2",), {"a2": "order"},
    ),
    Scenario(
        "(e) the project that is farthest above its share gives",
        ONE_OF_8, (a_project("a", 1), a_project("b", 1), a_project("c", 1)),
        (job("a1", 1), job("a2", 5), job("b1", 2), job("c1", 1)),
        frozenset({"a1", "b1", "c1"}), ("a2",), {"a2": "order"},
    ),
    Scenario(
        "(f) a project below its share takes from one above its own",
        ONE_OF_4, (a_project("a", 0), a_project("b", 0), a_project("c", 1)),
        (job("a1"), job("a2"), job("a3"), job("a4"), job("b1"), job("b2")),
        frozenset({"a1", "a2", "b1", "b2"}), ("a4", "a3"), {"a3": "order", "a4": "order"},
    ),
    Scenario(
        "(f) without rebalancing it waits",
        ONE_OF_4, (a_project("a", 0), a_project("b", 0), a_project("c", 1)),
        (job("a1"), job("a2"), job("a3"), job("a4"), job("b1")),
        frozenset({"a1", "a2", "a3", "a4"}), (), {"b1": "order"}, rebalance=False,
    ),
    Scenario(
        "(g) free room goes to the project with the least per weight, not to who came first",
        ONE_OF_2, (a_project("a", 0), a_project("b", 0), a_project("c", 2)),
        (job("c1", 2), job("a1"), job("a2"), job("b1"), "c1"),
        frozenset({"a1", "b1"}), (), {"a2": "order"},
    ),
    Scenario(
        "(h) a job that is never preempted starts only within the quota",
        ONE_OF_4, GUARANTEED, (job("a1", 2, preemptible=False), job("a2", 1, preemptible=False)),
        frozenset({"a1"}), (), {"a2": "nonpreemptible-quota"},
    ),
    Scenario(
        "(h) nobody preempts it, not even a claim",
        ONE_OF_2, (a_project("a", 2), a_project("b", 2)), (job("a1", 2, preemptible=False), job("b1", 2)),
        frozenset({"a1"}), (), {"b1": "order"},
    ),
    Scenario(
        "(i) within a project a higher priority preempts a lower one",
        ONE_OF_2, (a_project("a", 2),), (job("a1", 2), job("a2", 2, priority=5)),
        frozenset({"a2"}), ("a1",), {"a1": "order"},
    ),
    Scenario(
        "(i) a priority means nothing to another project",
        ONE_OF_2, (a_project("a", 2), a_project("b", 0)), (job("a1", 2), job("b1", 1, priority=100)),
        frozenset({"a1"}), (), {"b1": "order"},
    ),
    Scenario(
        "(j) GPUs of elastic nodes count for no quota: a claim elsewhere is still one",
        (a_gpu_node("cloud", 2, elastic=True), a_gpu_node("n", 2)), (a_project("a", 2), a_project("b", 0)),
        (job("b1", 2), job("b2", 2), job("a1", 2)),
        frozenset({"a1", "b2"}), ("b1",), {"b1": "order"},
    ),
    Scenario(
        "(j) a limit is never passed, whatever is free",
        ONE_OF_8, (a_project("a", 2, limit=300), a_project("b", 2)), (job("a1", 2), job("a2", 2)),
        frozenset({"a1"}), (), {"a2": "limit"},
    ),
    Scenario(
        "(j) a project that may not go over quota does not",
        ONE_OF_8, (a_project("a", 2, over_quota=False), a_project("b", 2)), (job("a1", 2), job("a2", 1)),
        frozenset({"a1"}), (), {"a2": "limit"},
    ),
    Scenario(
        "(k) while nobody has a quota, jobs are served first come",
        ONE_OF_2, (a_project("a"), a_project("b")), (job("a1"), job("a2"), job("b1")),
        frozenset({"a1", "a2"}), (), {"b1": "order"},
    ),
    Scenario(
        "(k) a job without GPUs makes way for a claim that needs its CPUs",
        ONE_OF_2, (a_project("a", 1), a_project("b", 0)), (job("b1", 0, cpu=64), job("a1", 1, cpu=4)),
        frozenset({"a1"}), ("b1",), {"b1": "order"},
    ),
    Scenario(
        "(l) all processes of a gang start, or none",
        TWO_OF_2, (a_project("a", 4), a_project("b", 0)), (job("a0", 1), job("a1", 2, processes=2)),
        frozenset({"a0"}), (), {"a1": "order"},
    ),
    Scenario(
        "(l) nodes are reserved for a large claim: a later small one does not overtake it",
        ONE_OF_4, (a_project("a", 4), a_project("b", 4)), (job("a1", 2), job("b1", 4), job("a2", 1)),
        frozenset({"a1"}), (), {"a2": "reservation", "b1": "order"},
    ),
    Scenario(
        "(l) on reserved nodes a job starts that ends before the expected start",
        ONE_OF_4, (a_project("a", 4), a_project("b", 4)),
        (job("a1", 2, time_limit=600.0), job("b1", 4), job("a2", 1, time_limit=60.0)),
        frozenset({"a1", "a2"}), (), {"b1": "order"},
    ),
    Scenario(
        "(o) a job that was preempted often waits before it goes over quota again",
        ONE_OF_4, GUARANTEED, (job("a1", 3, over_quota_from=2e9),),
        frozenset(), (), {"a1": "backoff"},
    ),
    Scenario(
        "(o) within its quota it starts at once",
        ONE_OF_4, GUARANTEED, (job("a1", 2, over_quota_from=2e9),), frozenset({"a1"}),
    ),
    Scenario(
        "what no node offers is never started",
        ONE_OF_4, GUARANTEED, (job("a1", 1, requires=frozenset({"gpu-type=H100"})), job("b1", 8)),
        frozenset(), (), {"a1": "affinity", "b1": "no-fit"},
    ),
)  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.sentence)
def test_rule(scenario: Scenario) -> None:
    cluster = Cluster(scenario.nodes, scenario.projects, rebalance=scenario.rebalance)
    for event in scenario.story:
        if isinstance(event, str):
            cluster.delete(event)
            cluster.settle()
        else:
            cluster.submit(event)
    assert set(cluster.running) == scenario.runs
    assert tuple(cluster.preempted) == scenario.preempted
    snapshot = cluster.snapshot()
    planner = Planner(snapshot)
    assert planner.plan(snapshot.now).changes_nothing
    assert waiting_rules(planner, snapshot) == scenario.waits
    for name, rule in scenario.waits.items():
        told = explain(snapshot, plan(snapshot), name)
        assert told.rule == rule
        assert told.reasons


def test_a_fractions_share_as_few_gpus_as_possible() -> None:
    cluster = Cluster(TWO_OF_2, (a_project("a"),))
    cluster.submit(job("a1", 0.6), job("a2", 0.5), job("a3", 0.4), job("a4", 0.5))
    gpus = {(seat.node, seat.gpu_ids) for one in cluster.running.values() for seat in one.seats}
    assert len(gpus) == 2
    assert len({node for node, _ in gpus}) == 1


def test_e_of_equal_projects_the_one_that_loses_least_gives() -> None:
    cluster = Cluster(TWO_OF_2, (a_project("a", 0), a_project("b", 2)))
    cluster.submit(job("a1", 2))
    cluster.now += 100
    cluster.submit(job("a2", 2), job("b1", 2))
    assert cluster.preempted == ["a2"]


def test_e_a_minimum_runtime_protects_a_job_for_so_long() -> None:
    cluster = Cluster(ONE_OF_2, (a_project("a", 0, min_runtime=600.0), a_project("b", 2)))
    cluster.submit(job("a1", 2), job("b1", 2))
    assert set(cluster.running) == {"a1"}
    cluster.now += 600
    cluster.settle()
    assert set(cluster.running) == {"b1"}


def test_n_until_its_victims_have_ended_a_claim_is_nominated_and_holds_their_gpus() -> None:
    cluster = Cluster(ONE_OF_2, (a_project("a", 0), a_project("b", 2)))
    cluster.submit(job("a1", 2))
    cluster.pending["b1"] = job("b1", 2)
    made = Planner(cluster.snapshot()).plan(cluster.now)
    (start,) = made.starts
    assert (start.job, start.rule, start.victims) == ("b1", "claim", ("a1",))
    cluster.follow(made)
    cluster.pending["a2"] = job("a2", 1)
    assert Planner(cluster.snapshot()).plan(cluster.now).changes_nothing
    assert cluster.running["b1"].nominated


@pytest.mark.parametrize(("times", "wait"), [(1, 2), (2, 4), (5, 32), (10, 600), (50, 600)])
def test_o_the_wait_doubles_up_to_ten_minutes(times: int, wait: float) -> None:
    assert over_quota_from([1000.0] * times, 1000.0) == 1000.0 + wait


def test_o_preemptions_are_forgotten_after_an_hour() -> None:
    assert over_quota_from([1000.0], 1000.0 + 3600) == 0.0


def test_why_names_who_holds_what_and_when_it_ends() -> None:
    cluster = Cluster(ONE_OF_4, (a_project("a", 4), a_project("b", 4, limit=300)))
    cluster.submit(job("a1", 2, time_limit=600.0), job("b1", 2, time_limit=60.0), job("a2", 4), job("b2", 2))
    snapshot = cluster.snapshot()
    order, limit = (explain(snapshot, plan(snapshot), name) for name in ("a2", "b2"))
    assert [one.job for one in order.blockers] == ["b1", "a1"]
    assert order.earliest_start == cluster.running["a1"].started + 600
    assert (limit.rule, [one.job for one in limit.blockers]) == ("limit", ["b1"])
    assert "raises the limit" in limit.reasons[0]
