"""Refusals as a table: what a job asks for, what the computes can do, and what is said."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from millpond.decide.capability import refusal, why_unable
from millpond.decide.computes import NodeView, QueuedJob
from millpond.model.job_spec import JobService, JobSpec, Launcher
from millpond.testing.builders_work import GB, a_node, a_queued_job

MACHINE = a_node("machine", gpus=1)
CLUSTER = a_node("n1", compute="cluster", containers=True, gpu_fractions="none", gpus=4)
SLICED = a_node("sliced", gpus=2, gpu_fractions="enforced")
NOTHING = a_node("nothing", cpus=2)

MPI = Launcher.MPI
PODS = a_node("pods", containers=True, gangs=True)
MPIRUN = a_node("mpirun", containers=True, mpi=True)

ALONE = a_node("alone", serving_problem="Its containers have a network of their own.")
WORKER = replace(
    a_queued_job("a"), spec=JobSpec(command=("true",), service=JobService("worker", cluster="c1", offline=False))
)

WAYS = frozenset({"exec", "ports"})
OPEN, SHELLS = a_node("open", reached=WAYS), a_node("shells", reached=frozenset({"exec"}))


SHORT = a_node("n1", compute="slurm", options=frozenset({"partition=main", "partition=short", "account=*"}))
LONG = a_node("n2", compute="slurm", options=frozenset({"partition=long", "account=*"}))


@dataclass(frozen=True)
class Scenario:
    name: str
    job: QueuedJob
    nodes: tuple[NodeView, ...]
    # None: it is accepted.
    reason: str | None = None
    hint: str = ""


SCENARIOS = [
    Scenario("before any node is known nothing is refused", a_queued_job("a", gpus=800, image="python:3.12"), ()),
    Scenario("an image where there are containers", a_queued_job("a", image="python:3.12"), (MACHINE, CLUSTER)),
    Scenario(
        "an image where there are none",
        a_queued_job("a", image="python:3.12"),
        (MACHINE, SLICED),
        "No compute can run container images.",
        "Remove --image, or attach a compute with a container driver.",
    ),
    Scenario(
        "an image on a compute without containers: those that have them are named",
        a_queued_job("a", image="python:3.12", compute="machine"),
        (MACHINE, CLUSTER, a_node("pods", containers=True)),
        "Compute machine cannot run container images.",
        "These can: cluster, pods.",
    ),
    Scenario("an MPI program where mpirun starts it", a_queued_job("a", processes=3, launcher=MPI), (PODS, MPIRUN)),
    Scenario(
        "an MPI program where each process is a pod",
        a_queued_job("a", processes=3, launcher=MPI),
        (PODS,),
        "No compute can run MPI programs: mpirun needs a single machine, or Slurm.",
        "Attach one of these, or add --launcher torch if the program does not use MPI.",
    ),
    Scenario("the same for PyTorch", a_queued_job("a", processes=3), (PODS,)),
    Scenario(
        "ranks of their own where only mpirun starts processes",
        a_queued_job("a", processes=3, compute="mpirun"),
        (PODS, MPIRUN),
        "Compute mpirun cannot run distributed jobs.",
        "These can: pods.",
    ),
    Scenario("a notebook where ports are led to", a_queued_job("a", interactive=True, ports=[8888]), (MACHINE, OPEN)),
    Scenario("a terminal alone", a_queued_job("a", interactive=True), (MACHINE, SHELLS)),
    Scenario(
        "a notebook where people only get a terminal",
        a_queued_job("a", interactive=True, ports=[8888], compute="shells"),
        (SHELLS, OPEN),
        "Compute shells cannot forward ports of a job.",
        "These can: open.",
    ),
    Scenario("a partition that there is", a_queued_job("a", options={"partition": "long"}), (MACHINE, SHORT, LONG)),
    Scenario(
        "an option with any value", a_queued_job("a", options={"account": "x"}, compute="slurm"), (MACHINE, SHORT)
    ),
    Scenario(
        "a partition that there is not",
        a_queued_job("a", options={"partition": "night", "account": "x"}, compute="slurm"),
        (MACHINE, SHORT, LONG),
        "slurm has no partition 'night'.",
        "Available: long, main, short.",
    ),
    Scenario(
        "a partition without what it asks for besides: those that have it are named",
        a_queued_job("a", options={"partition": "long"}, gpus=100),
        (a_node("n3", compute="slurm", gpus=1, options=frozenset({"partition=gpu"})), LONG),
        "slurm has no partition 'long'.",
        "Available: gpu.",
    ),
    Scenario(
        "an option where jobs have none",
        a_queued_job("a", options={"partition": "long"}, compute="machine"),
        (MACHINE, LONG),
        "machine has no job option 'partition'.",
        "These can: slurm.",
    ),
    Scenario(
        "an option that no compute has",
        a_queued_job("a", options={"colour": "red"}),
        (MACHINE,),
        "machine has no job option 'colour'.",
        "`mill compute show` lists the options of each compute.",
    ),
    Scenario(
        "a terminal where there is none",
        a_queued_job("a", interactive=True),
        (MACHINE,),
        "No compute can open a terminal in a job.",
        "`mill compute show` lists what each compute supports. Without --interactive and --port, the job can run.",
    ),
    Scenario("a worker of a cluster where services run", WORKER, (a_node("box", services=True),)),
    Scenario(
        "a worker of a cluster where none do",
        WORKER,
        (ALONE,),
        "No compute at the site can run clusters. Its containers have a network of their own.",
        "Attach a machine of the site whose agent runs plain processes: mill compute attach",
    ),
    Scenario("a part of a GPU where it is counted", a_queued_job("a", gpus=50), (MACHINE,)),
    Scenario(
        "a part of a GPU where only whole ones are given",
        a_queued_job("a", gpus=50, compute="cluster"),
        (MACHINE, CLUSTER),
        "cluster supports whole GPUs only.",
        "These can: machine.",
    ),
    Scenario("whole GPUs there", a_queued_job("a", gpus=300), (CLUSTER,)),
    Scenario(
        "one and a half is a part, too",
        a_queued_job("a", gpus=150),
        (CLUSTER,),
        "cluster supports whole GPUs only.",
        "Request whole GPUs.",
    ),
    Scenario(
        "enforced where it is only counted",
        a_queued_job("a", gpus=50, enforced=True),
        (MACHINE,),
        "machine does not enforce fractions of a GPU.",
        "Remove --enforced; the job then sees its share in a variable.",
    ),
    Scenario("enforced where it is", a_queued_job("a", gpus=50, enforced=True), (MACHINE, SLICED)),
    Scenario("enforced means nothing for whole GPUs", a_queued_job("a", gpus=100, enforced=True), (MACHINE,)),
    Scenario(
        "a GPU where there is none",
        a_queued_job("a", gpus=50),
        (NOTHING,),
        "No node has a GPU.",
        "Declare the GPUs of the server's machine when you start it: mill up --gpus N. Or request no GPUs.",
    ),
    Scenario(
        "a GPU on a compute without one",
        a_queued_job("a", gpus=100, compute="nothing"),
        (NOTHING, MACHINE),
        "No node of compute nothing has a GPU.",
        "These can: machine.",
    ),
    Scenario("what an empty node could run waits for it", a_queued_job("a", cpu=8), (NOTHING, MACHINE)),
    Scenario(
        "more than any node has",
        a_queued_job("a", cpu=64, memory_bytes=GB),
        (NOTHING, MACHINE),
        "No node has 64 CPUs, 1.0 GB of memory: the largest, machine, has 8 CPUs, 32.0 GB of memory and 1 GPUs.",
        "Request less, or attach a larger compute.",
    ),
    Scenario(
        "more memory than any node has: the one with the most is named, however few GPUs it has",
        a_queued_job("a", memory_bytes=9000 * GB),
        (a_node("gpus", gpus=8, cpus=96), a_node("large", memory_bytes=2000 * GB)),
        "No node has 9.0 TB of memory: the largest, large, has 8 CPUs, 2.0 TB of memory and 0 GPUs.",
        "Request less, or attach a larger compute.",
    ),
    Scenario(
        "more than the nodes with containers have",
        a_queued_job("a", cpu=16, image="python:3.12"),
        (a_node("large", cpus=64), a_node("small", containers=True)),
        "No node has 16 CPUs: the largest, small, has 8 CPUs, 32.0 GB of memory and 0 GPUs.",
        "Request less, or attach a larger compute.",
    ),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_refusals(scenario: Scenario) -> None:
    refused = refusal(scenario.job, scenario.nodes)
    assert (refused.reason if refused else None) == scenario.reason
    assert (refused.hint if refused else "") == scenario.hint


def test_each_node_says_what_it_cannot_do() -> None:
    assert why_unable(a_queued_job("a", image=True), MACHINE) == "machine cannot run container images."
    assert why_unable(a_queued_job("a", gpus=50), CLUSTER) == "cluster supports whole GPUs only."
    assert why_unable(a_queued_job("a", gpus=500), CLUSTER) == "cluster/n1 has 4 GPUs; 5 requested."
    assert why_unable(a_queued_job("a", gpus=400, image=True), CLUSTER) is None
