"""Placement as tables: nodes and queued jobs, then who starts where and why the others wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from millpond.decide.placement import Held, NearView, NodeView, QueuedJob, Snapshot, plan_starts
from millpond.model.job_spec import Resources
from millpond.testing.builders_work import GB, a_node, a_queued_job


@dataclass(frozen=True)
class Scenario:
    name: str
    nodes: tuple[NodeView, ...]
    jobs: tuple[QueuedJob, ...]
    # job → node, or node:gpu,gpu
    starts: Mapping[str, str] = field(default_factory=dict)
    # job → a part of each of its reasons
    waits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    near: Mapping[str, NearView] = field(default_factory=dict)
    blocked: Mapping[tuple[str, str], str] = field(default_factory=dict)


def gpus(hundredths: int, *indices: int) -> Held:
    return Held(Resources(gpu_hundredths=hundredths), indices)


def near(compute: str, *cached: str) -> dict[str, NearView]:
    """One volume near this compute, with these commits."""
    return {f"compute-{compute}": NearView(volumes=1, cached=frozenset(cached))}


SCENARIOS = [
    Scenario("nothing waits", (a_node(),), ()),
    Scenario(
        "no compute has ever connected", (), (a_queued_job("a"),), waits={"a": ("No compute has connected yet.",)}
    ),
    Scenario("a job that asks for nothing starts", (a_node(),), (a_queued_job("a"),), {"a": "local"}),
    Scenario(
        "a node that is away takes nothing",
        (a_node(connected=False),),
        (a_queued_job("a"),),
        waits={"a": ("local is not connected.",)},
    ),
    Scenario(
        "nodes that their cluster has closed take nothing, and each says why",
        (
            a_node("n1", compute="slurm", closed="it is drained in Slurm by root (new disks)"),
            a_node("n2", compute="slurm", closed="it does not respond to Slurm"),
        ),
        (a_queued_job("a"),),
        waits={
            "a": (
                "slurm/n1 takes no new jobs: it is drained in Slurm by root (new disks).",
                "slurm/n2 takes no new jobs: it does not respond to Slurm.",
            )
        },
    ),
    Scenario(
        "CPUs run out in the order of the queue",
        (a_node(cpus=4),),
        (a_queued_job("a", cpu=3), a_queued_job("b", cpu=2), a_queued_job("c", cpu=1)),
        {"a": "local", "c": "local"},
        {"b": ("local has 1 of 4 CPUs free; 2 requested.",)},
    ),
    Scenario(
        "a large job that waits does not hold up a small one behind it",
        (a_node(gpus=2, held=(gpus(100, 0),)),),
        (a_queued_job("large", gpus=200), a_queued_job("small", gpus=100)),
        {"small": "local:1"},
        {"large": ("1 of 2 GPUs free; 2 requested",)},
    ),
    Scenario(
        "memory counts",
        (a_node(memory_bytes=10 * GB, held=(Held(Resources(memory_bytes=8 * GB)),)),),
        (a_queued_job("a", memory_bytes=3 * GB),),
        waits={"a": ("2.0 GB of 10.0 GB memory free; 3.0 GB requested",)},
    ),
    Scenario(
        "what is too large for a node says so",
        (a_node(cpus=2),),
        (a_queued_job("a", cpu=64),),
        waits={"a": ("local has 2 CPUs; 64 requested.",)},
    ),
    Scenario(
        "whole GPUs are taken from the lowest number",
        (a_node(gpus=4, held=(gpus(100, 1),)),),
        (a_queued_job("a", gpus=200),),
        {"a": "local:0,2"},
    ),
    Scenario(
        "a fraction goes where it leaves the least behind",
        (a_node(gpus=3, held=(gpus(50, 1), gpus(25, 2))),),
        (a_queued_job("a", gpus=50),),
        {"a": "local:1"},
    ),
    Scenario(
        "fractions never exceed the whole of a GPU",
        (a_node(gpus=1),),
        (a_queued_job("a", gpus=60), a_queued_job("b", gpus=60), a_queued_job("c", gpus=40)),
        {"a": "local:0", "c": "local:0"},
        {"b": ("0.4 of 1 GPU free; 0.6 requested",)},
    ),
    Scenario(
        "a whole GPU is not made of two halves",
        (a_node(gpus=2, held=(gpus(50, 0), gpus(50, 1))),),
        (a_queued_job("a", gpus=100),),
        waits={"a": ("1 of 2 GPUs free; 1 requested",)},
    ),
    Scenario(
        "one and a half is a whole GPU and a half of another",
        (a_node(gpus=2),),
        (a_queued_job("a", gpus=150), a_queued_job("b", gpus=50)),
        {"a": "local:0,1", "b": "local:1"},
    ),
    Scenario(
        "a job without GPUs leaves the GPU node alone",
        (a_node("big", gpus=8), a_node("small")),
        (a_queued_job("a", cpu=1),),
        {"a": "small"},
    ),
    Scenario(
        "small GPU jobs are packed, so that large ones find room",
        (a_node("a1", gpus=4), a_node("a2", gpus=4, held=(gpus(100, 0),))),
        (a_queued_job("a", gpus=100), a_queued_job("b", gpus=400)),
        {"a": "a2:1", "b": "a1:0,1,2,3"},
    ),
    Scenario(
        "a job goes where its data is",
        (a_node("east"), a_node("west")),
        (a_queued_job("a", needs={"c1": 5 * GB}),),
        {"a": "west"},
        near=near("east") | near("west", "c1"),
    ),
    Scenario(
        "data is a preference: where it lies is full, so it is brought elsewhere",
        (a_node("east"), a_node("west", cpus=1, held=(Held(Resources(cpu=1)),))),
        (a_queued_job("a", cpu=1, needs={"c1": 5 * GB}),),
        {"a": "east"},
        near=near("east") | near("west", "c1"),
    ),
    Scenario(
        "data needs a volume",
        (a_node(),),
        (a_queued_job("a", needs={"c1": GB}), a_queued_job("b")),
        {"b": "local"},
        {"a": ("No working volume is near local",)},
        near={"compute-local": NearView()},
    ),
    Scenario(
        "no room for its data: the job waits, the next one starts",
        (a_node(cpus=1),),
        (a_queued_job("a", cpu=1, needs={"c1": GB}), a_queued_job("b", cpu=1)),
        {"b": "local"},
        {"a": ("There is no room.",)},
        near=near("local"),
        blocked={("a", "compute-local"): "There is no room."},
    ),
    Scenario(
        "an image needs containers",
        (a_node("bare"), a_node("pods", containers=True)),
        (a_queued_job("a", image="python:3.12"),),
        {"a": "pods"},
    ),
    Scenario(
        "a node that came back with fewer GPUs promises none that is gone",
        (a_node(gpus=1, held=(gpus(100, 3),)),),
        (a_queued_job("a", gpus=100),),
        {"a": "local:0"},
    ),
    Scenario(
        "every node has its own reason",
        (a_node("a1", cpus=1), a_node("a2", connected=False), a_node("a3", cpus=2, held=(Held(Resources(cpu=2)),))),
        (a_queued_job("a", cpu=2),),
        waits={"a": ("a1 has 1 CPU;", "a2 is not connected", "a3 has 0 of 2 CPUs free")},
    ),
    Scenario(
        "many reasons are cut short",
        tuple(a_node(f"n{number}", connected=False) for number in range(9)),
        (a_queued_job("a"),),
        waits={"a": ("n0", "n1", "n2", "n3", "n4", "4 other nodes cannot run it either.")},
    ),
    Scenario(
        "a node is given only so many jobs",
        (a_node(held=tuple(Held(Resources()) for _ in range(256))),),
        (a_queued_job("a"),),
        waits={"a": ("local already runs 256 jobs, the maximum per node.",)},
    ),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_plan(scenario: Scenario) -> None:
    plan = plan_starts(Snapshot(scenario.nodes, scenario.jobs, scenario.near, scenario.blocked))
    written = {
        start.job_id: f"{start.node}:{','.join(map(str, start.gpu_indices))}" if start.gpu_indices else start.node
        for start in plan.starts
    }
    assert written == scenario.starts
    assert plan.waits.keys() == scenario.waits.keys()
    for job, parts in scenario.waits.items():
        assert len(plan.waits[job]) == len(parts)
        for reason, part in zip(plan.waits[job], parts, strict=True):
            assert part in reason
