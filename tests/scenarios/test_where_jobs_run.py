"""Where jobs may run: zones, what nodes must offer, the likely node, and what people are told of each node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from millpond.decide.capability import refusal
from millpond.decide.computes import NearView, NodeView, QueuedJob
from millpond.decide.entitlement import beyond_quota, limited
from millpond.decide.likely_node import likely_node
from millpond.decide.obstacles import obstacles
from millpond.decide.placed_words import placed_words
from millpond.decide.places import Asked, places_of, plan_node, required, zones_of
from millpond.decide.scheduling.planner import Planner
from millpond.decide.scheduling.room import Room
from millpond.decide.scheduling.snapshot import Job, Node, Pending, Place, Project, Size, Snapshot
from millpond.decide.scheduling.waits import waiting_rules
from millpond.model.compute import Trust
from millpond.model.job import RankPlace
from millpond.model.job_spec import JobKind, JobSpec
from millpond.model.people import Project as ProjectRow
from millpond.model.project_shares import NO_SHARES, ProjectShares
from millpond.testing.builders_work import GB, a_node, a_queued_job
from millpond.testing.clock import NOON

NEAR = NearView(volumes=1)


def cluster(*cpus: int, gpus: int = 0, **more: Any) -> list[NodeView]:
    """Nodes n0, n1 … of one compute that runs distributed jobs."""
    return [
        replace(a_node(f"n{n}", cpus=many, gpus=gpus, **more), compute_id="c", compute="slurm", gangs=True)
        for n, many in enumerate(cpus)
    ]


def rooms(nodes: list[NodeView]) -> dict[str, Room]:
    return {node.written: Room(Node(node.written, "", node.gpus, node.cpus, node.memory_bytes), 0) for node in nodes}


def told(job: QueuedJob, nodes: list[NodeView], near: NearView = NEAR, **more: Any) -> tuple[str, ...]:
    zones = zones_of(nodes, {node.compute_id: near for node in nodes}, {})
    return obstacles(job, nodes, zones, rooms(nodes), **more)


def test_computes_that_are_alike_are_one_zone() -> None:
    nodes = [a_node(name, site_id="lab") for name in "abc"] + [a_node("d", site_id="lab", containers=True)]
    zones = zones_of(nodes, {}, {})
    assert [zones[node.compute_id].name for node in nodes] == ["a", "a", "a", "d"]
    apart = zones_of(nodes, {}, {"compute-b": ["fast"]})
    assert apart["compute-b"].name == "b"


def test_places_are_where_a_job_can_run_with_what_is_to_be_fetched() -> None:
    nodes = [a_node("here", containers=True), a_node("there")]
    near = {"compute-here": NearView(1, frozenset({"x"})), "compute-there": NEAR}
    zones = list(zones_of(nodes, near, {"compute-here": ["v1"], "compute-there": ["v2"]}).values())
    assert places_of(a_queued_job("a"), zones) is None
    assert places_of(a_queued_job("a", needs={"x": GB}), zones) == (Place("here", 0), Place("there", GB))
    assert places_of(a_queued_job("a", image="python"), zones) == (Place("here", 0),)


@pytest.mark.parametrize(
    ("spec", "node", "is_met"),
    [
        ({}, {}, True),
        ({"compute": "local"}, {}, True),
        ({"compute": "other"}, {}, False),
        ({"node_selector": {"zone": "a"}}, {"labels": {"zone": "a"}}, True),
        ({"node_selector": {"zone": "a"}}, {"labels": {"zone": "b"}}, False),
        ({"options": {"partition": "long"}}, {"options": frozenset({"partition=long"})}, True),
        ({"options": {"partition": "long"}}, {"options": frozenset({"partition=*"})}, True),
        ({"options": {"partition": "long"}}, {"options": frozenset({"partition=short"})}, False),
        ({"gpu_type": "A100"}, {"gpu_model": "NVIDIA A100-SXM4-40GB"}, True),
        ({"gpu_type": "A100"}, {"gpu_model": "T4"}, False),
        ({"min_gpu_memory_bytes": 40 * GB}, {"gpu_memory_bytes": 80 * GB}, True),
        ({"min_gpu_memory_bytes": 40 * GB}, {"gpu_memory_bytes": 16 * GB}, False),
        ({"affinity": {"gpu": "a100"}}, {"labels": {"gpu": "a100"}}, True),
        ({"affinity": {"gpu": "a100"}}, {}, False),
    ],
)
def test_what_a_job_requires_is_what_a_node_offers(spec: dict[str, Any], node: dict[str, Any], is_met: bool) -> None:
    shares = ProjectShares(train_affinity=spec.get("affinity", {}))
    asked = JobSpec(command=("true",), **{key: value for key, value in spec.items() if key != "affinity"})
    view = a_node("local", **node)
    zone = zones_of([view], {}, {})[view.compute_id]
    assert (required(asked, shares) <= plan_node(view, zone, Asked.by([asked])).offers) is is_met


def test_the_likely_node_could_run_the_job_if_it_were_empty() -> None:
    nodes = [a_node("big", cpus=64, gpus=8), a_node("small", gpus=1), a_node("away", gpus=1, connected=False)]
    zones = zones_of(nodes, {node.compute_id: NEAR for node in nodes}, {})
    chosen = [likely_node(a_queued_job("a", gpus=gpus), nodes, zones) for gpus in (100, 400, 900)]
    assert [node and node.name for node in chosen] == ["small", "big", None]


def test_the_likely_node_of_a_distributed_job_has_room_for_all_beside_it() -> None:
    nodes = cluster(2, 4)
    zones = zones_of(nodes, {}, {})
    node = likely_node(a_queued_job("a", cpu=2, processes=3), nodes, zones)
    assert node is not None and node.compute == "slurm"
    assert likely_node(a_queued_job("a", cpu=2, processes=4), nodes, zones) is None


def test_what_would_never_fit_is_refused_with_what_would() -> None:
    refused = refusal(a_queued_job("a", cpu=3, memory_bytes=GB, processes=4), cluster(8, 4))
    assert refused is not None and "slurm has room for 3" in refused.reason
    assert refusal(a_queued_job("a", cpu=3, processes=3), cluster(8, 4)) is None


@pytest.mark.parametrize(
    ("job", "node", "words"),
    [
        ({}, {"connected": False}, "local is not connected."),
        ({}, {"cordoned_by": "ada"}, "local accepts no new jobs: cordoned by ada."),
        ({}, {"closed": "drained"}, "local takes no new jobs: drained."),
        ({}, {"revoked": True}, "The credential of local was revoked."),
        ({}, {"trust": Trust(shared=True)}, "local runs all jobs under one account"),
        ({"compute": "lab"}, {}, "The job may only run on lab."),
        ({"image": "python"}, {}, "local cannot run container images."),
        ({"gpus": 100}, {}, "local has 0 GPUs; 1 requested."),
        ({"cpu": 9}, {}, "local has 8 CPUs; 9 requested."),
    ],
)
def test_each_node_is_told_what_it_lacks(job: dict[str, Any], node: dict[str, Any], words: str) -> None:
    assert words in told(a_queued_job("a", **job), [a_node("local", **node)])[0]


def test_what_is_taken_is_told_apart_from_what_is_not_there() -> None:
    node = a_node("local", gpus=2)
    room = rooms([node])["local"]
    room.hold("other", Size(gpu=100, cpu=6), (0,))
    zones = zones_of([node], {}, {})
    for wanted, words in (({"gpus": 200}, "local has 1 of 2 GPUs free; 2 requested."),
                          ({"cpu": 4}, "local has 2 of 8 CPUs free; 4 requested.")):  # fmt: skip
        assert obstacles(a_queued_job("a", **wanted), [node], zones, {"local": room}) == (words,)


def test_many_nodes_are_summed_up_and_none_is_said() -> None:
    nodes = [a_node(f"n{n}") for n in range(8)]
    reasons = told(a_queued_job("a", gpus=100), nodes)
    assert len(reasons) == 6 and reasons[-1] == "3 other nodes cannot run it either."
    assert told(a_queued_job("a"), []) == ("No compute has connected yet.",)


def test_affinity_of_the_project_is_told() -> None:
    reasons = told(a_queued_job("a"), [a_node("local")], lacking=[("gpu", "a100")])
    assert reasons == ("local does not have the label gpu=a100, which the project asks for.",)


def test_words_for_where_a_job_was_placed() -> None:
    node = cluster(8)[0]
    spread = [RankPlace("n0"), RankPlace("n0"), RankPlace("n1")]
    assert placed_words(a_queued_job("a"), node, NEAR, spread[:1]) == "Placed on slurm/n0."
    assert placed_words(a_queued_job("a", processes=3), node, NEAR, spread) == (
        "Placed on slurm/n0 (3 processes: 2 on n0, 1 on n1)."
    )
    cached = NearView(1, frozenset({"x"}))
    words = placed_words(a_queued_job("a", needs={"x": GB}), node, cached, spread[:1])
    assert words == "Placed on slurm/n0: its data is cached there or on the way."
    code_alone = a_queued_job("a", needs={"c": GB})
    code_alone = replace(code_alone, spec=replace(code_alone.spec, code_commit="c"))
    assert placed_words(code_alone, node, NearView(1, frozenset({"c"})), spread[:1]) == "Placed on slurm/n0."


@pytest.mark.parametrize(
    ("pending", "rule"),
    [
        ({"size": Size(gpu=900)}, "no-fit"),
        ({"requires": frozenset({"gpu=a100"})}, "affinity"),
        ({"requires": frozenset({"closed"})}, "away"),
        ({"places": (Place("nowhere"),)}, "affinity"),
        ({"held": "dependency"}, "dependency"),
        ({"project": "limited", "size": Size(gpu=100)}, "limit"),
        ({"over_quota_from": 10.0, "size": Size(gpu=300)}, "backoff"),
    ],
)
def test_every_job_that_waits_has_a_rule(pending: dict[str, Any], rule: str) -> None:
    closed = Node("n3", "n3", gpus=3, offers=frozenset({"closed"}), open=False)
    nodes = (Node("n1", "n1", gpus=3), Node("n2", "n2", gpus=3), closed)
    projects = (Project("team", {"": 200}), Project("limited", {"": 200}, limit=50))
    wanted = {"project": "team", "size": Size(gpu=100), **pending}
    job = Job("a", wanted.pop("project"), wanted.pop("size"))
    snapshot = Snapshot(0.0, nodes, projects, pending=(Pending(job, **wanted),))
    planner = Planner(snapshot)
    planner.plan(0.0)
    assert waiting_rules(planner, snapshot) == {"a": rule}


def a_project(quota: int = 0) -> ProjectRow:
    return ProjectRow("p1", "team", "", NOON, ProjectShares(quota=quota))


@pytest.mark.parametrize(
    ("spec", "quota", "others", "is_refused"),
    [
        ({"kind": JobKind.INTERACTIVE, "gpu_hundredths": 300}, 200, (), True),
        ({"kind": JobKind.INTERACTIVE, "gpu_hundredths": 200}, 200, (), False),
        ({"kind": JobKind.INTERACTIVE, "gpu_hundredths": 300, "preemptible": True}, 200, (), False),
        ({"preemptible": False, "gpu_hundredths": 300}, 200, (), True),
        ({"gpu_hundredths": 300}, 200, (), False),
        ({"kind": JobKind.INTERACTIVE}, 0, (400,), False),
        ({"kind": JobKind.INTERACTIVE, "gpu_hundredths": 100}, 0, (400,), True),
        ({"kind": JobKind.INTERACTIVE, "gpu_hundredths": 100}, 0, (), False),
    ],
)
def test_jobs_that_are_never_preempted_stay_within_quota(
    spec: dict[str, Any], quota: int, others: tuple[int, ...], is_refused: bool
) -> None:
    project = a_project(quota)
    found = beyond_quota(JobSpec(command=("true",), **spec), project, [project, *(a_project(one) for one in others)])
    assert (found is not None) is is_refused


def test_training_has_no_limits_of_interactive_jobs() -> None:
    shares = replace(NO_SHARES, interactive_time=60, interactive_idle=30)
    assert limited(JobSpec(command=("true",)), shares) == JobSpec(command=("true",))
