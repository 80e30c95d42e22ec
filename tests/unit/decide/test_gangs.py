"""Distributed jobs: all processes are placed or none, on as few nodes of one compute as can be."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from millpond.decide.capability import refusal
from millpond.decide.computes import Held, NodeView, QueuedJob, Snapshot
from millpond.decide.placement import Plan, Start, likely_node, plan_starts, still_fits
from millpond.model.job import RankPlace
from millpond.model.job_spec import Resources
from millpond.testing.builders_work import GB, a_node, a_queued_job


def cluster(*cpus: int, gpus: int = 0, name: str = "slurm") -> tuple[NodeView, ...]:
    """Nodes n0, n1 … of one compute."""
    return tuple(
        replace(a_node(f"n{number}", cpus=many, gpus=gpus), compute_id=f"compute-{name}", compute=name, gangs=True)
        for number, many in enumerate(cpus)
    )


def planned(nodes: tuple[NodeView, ...], *jobs: QueuedJob) -> Plan:
    return plan_starts(Snapshot(nodes, jobs))


def spread(start: Start) -> dict[str, int]:
    return dict(Counter(place.node for place in start.places))


def test_processes_share_a_node_where_they_fit() -> None:
    (start,) = planned(cluster(2, 8), a_queued_job("a", cpu=2, processes=3)).starts
    assert spread(start) == {"n1": 3} and start.node == "n1"
    assert start.reasons == ("Placed on slurm/n1 (3 processes).",)


def test_processes_that_do_not_fit_one_node_are_spread_over_several() -> None:
    (start,) = planned(cluster(4, 6), a_queued_job("a", cpu=2, processes=5)).starts
    assert spread(start) == {"n1": 3, "n0": 2}
    assert [place.node for place in start.places] == ["n1", "n1", "n1", "n0", "n0"]
    assert start.reasons == ("Placed on slurm/n1 (5 processes: 3 on n1, 2 on n0).",)


def test_all_or_none() -> None:
    busy = replace(cluster(4)[0], held=(Held(Resources(cpu=2)),))
    plan = planned((busy,), a_queued_job("a", cpu=1, processes=3), a_queued_job("b", cpu=2))
    assert [start.job_id for start in plan.starts] == ["b"]
    assert plan.waits["a"] == ("slurm has room for 2 of 3 processes now; all start together or none.",)


def test_one_gang_never_stretches_over_two_computes() -> None:
    nodes = (*cluster(2, name="here"), *cluster(2, name="there"))
    plan = planned(nodes, a_queued_job("a", cpu=1, processes=3))
    assert not plan.starts
    assert plan.waits["a"] == (
        "here has room for 2 of 3 processes now; all start together or none.",
        "there has room for 2 of 3 processes now; all start together or none.",
    )


def test_every_process_gets_gpus_of_its_own() -> None:
    (start,) = planned(cluster(8, gpus=4), a_queued_job("a", gpus=200, processes=2)).starts
    assert start.places == (RankPlace("n0", (0, 1)), RankPlace("n0", (2, 3)))
    (start,) = planned(cluster(8, gpus=2), a_queued_job("a", gpus=60, processes=2)).starts
    assert start.places == (RankPlace("n0", (0,)), RankPlace("n0", (1,)))


def test_what_a_gang_takes_is_not_given_again() -> None:
    nodes = cluster(4, 4)
    plan = planned(nodes, a_queued_job("a", cpu=2, processes=3), a_queued_job("b", cpu=4))
    assert [start.job_id for start in plan.starts] == ["a"]
    assert still_fits(nodes, Resources(cpu=2), plan.starts[0])
    held = replace(nodes[0], held=(Held(Resources(cpu=1)),))
    assert not still_fits((held, nodes[1]), Resources(cpu=2), plan.starts[0])
    assert not still_fits(nodes[:1], Resources(cpu=2), plan.starts[0])


def test_the_likely_node_of_a_gang_is_one_of_those_it_would_get() -> None:
    node = likely_node(a_queued_job("a", cpu=2, processes=3), Snapshot(cluster(2, 4)))
    assert node is not None and node.name == "n1"
    assert likely_node(a_queued_job("a", cpu=2, processes=4), Snapshot(cluster(2, 4))) is None


def test_a_compute_that_cannot_is_told_with_those_that_can() -> None:
    podman = a_node("podman")
    job = a_queued_job("a", processes=2, compute="podman")
    refused = refusal(job, (podman, *cluster(8)))
    assert refused is not None
    assert (refused.reason, refused.hint) == ("Compute podman cannot run distributed jobs.", "These can: slurm.")
    assert planned((podman,), job).waits["a"] == ("podman cannot run distributed jobs.",)


def test_what_would_never_fit_is_refused_with_what_would() -> None:
    refused = refusal(a_queued_job("a", cpu=3, memory_bytes=GB, processes=4), cluster(8, 4))
    assert refused is not None
    assert refused.reason == "No compute has room for 4 processes of this size at once; slurm has room for 3."
    assert refusal(a_queued_job("a", cpu=3, processes=3), cluster(8, 4)) is None
