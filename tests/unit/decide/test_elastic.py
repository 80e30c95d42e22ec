"""Which machines are created and deleted, as tables of waiting jobs, machines and limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from millpond.decide.computes import Need, QueuedJob
from millpond.decide.elastic import Create, Delete, Machine, Offer, Waiting, pause_after, plan_machines
from millpond.decide.scheduling.snapshot import Size
from millpond.model.job_spec import JobSpec
from millpond.testing.builders_work import a_node

NODE = a_node("burst", cpus=4, memory_bytes=16 << 30, gpus=2, elastic="burst", gangs=True)


def an_offer(name: str = "burst", **changes: Any) -> Offer:
    node = replace(NODE, compute=name, name=name, elastic=name)
    defaults: dict[str, Any] = {"price_per_hour": 1.0, "minimum": 0, "maximum": 3, "idle_seconds": 60.0}
    return Offer(name=name, node=node, **{**defaults, **changes})


def waits(job_id: str = "j1", seconds: float = 10.0, **spec: Any) -> Waiting:
    needs = spec.pop("needs", ())
    return Waiting(QueuedJob(job_id, JobSpec(command=("true",), **spec), needs), seconds)


def a_machine(
    name: str, *, idle: float | None = None, ready: bool = True, held: int = 0, offer: str = "burst"
) -> Machine:
    view = replace(NODE, name=name, compute=name, elastic=offer)
    taken = ((Size(held), tuple(range(held // 100))),) if held else ()
    return Machine(name, offer, view if ready else None, taken, idle)


def test_a_machine_for_a_job_that_waits() -> None:
    plan = plan_machines([an_offer()], [], [waits(gpu_hundredths=100)])
    assert plan.creates == (Create("burst", "Job j1 waits."),) and plan.deletes == ()


def test_jobs_share_machines_and_the_maximum_is_kept() -> None:
    jobs = [waits(f"j{number}", gpu_hundredths=100) for number in range(20)]
    assert len(plan_machines([an_offer()], [], jobs[:4]).creates) == 2
    assert len(plan_machines([an_offer()], [], jobs).creates) == 3
    assert len(plan_machines([an_offer()], [a_machine("m1", held=200)], jobs).creates) == 2


@pytest.mark.parametrize("ready", [True, False])
def test_a_machine_that_is_there_or_on_its_way_is_enough(ready: bool) -> None:
    machine = a_machine("m1", ready=ready, idle=1000.0 if ready else None)
    plan = plan_machines([an_offer()], [machine], [waits(gpu_hundredths=200)])
    assert plan.creates == () and plan.deletes == (), "and it is not idle: a job is on its way there"


@pytest.mark.parametrize(
    ("job", "why"),
    [
        (waits(gpu_hundredths=300), "too large for any machine"),
        (waits(compute="dgx"), "asks for another compute"),
        (waits(image="python:3.12"), "its machines run no images"),
        (waits(gpu_hundredths=100, gpu_type="H100"), "has another GPU"),
        (waits(gpu_hundredths=200, processes=2), "a distributed job does not span two machines"),
        (waits(needs=(Need("c1", 5),)), "has data, and no volume is near"),
        (waits(seconds=1.0), "has not waited long enough"),
    ],
)
def test_no_machine_for_a_job_that_could_not_use_it(job: Waiting, why: str) -> None:
    assert plan_machines([an_offer(has_volume=False, wait_seconds=5.0)], [], [job]).creates == (), why


def test_a_job_may_name_the_elastic_compute_and_fit_with_all_its_processes() -> None:
    assert plan_machines([an_offer()], [], [waits(compute="burst", gpu_hundredths=100, processes=2)]).creates


def test_the_cheapest_that_may_create_is_chosen() -> None:
    offers = [an_offer("dear", price_per_hour=9.0), an_offer("cheap", price_per_hour=1.0)]
    assert plan_machines(offers, [], [waits()]).creates[0].offer == "cheap"
    resting = [offers[0], replace(offers[1], blocked="resting")]
    assert plan_machines(resting, [], [waits()]).creates[0].offer == "dear", "retried elsewhere"


def test_idle_machines_go_but_never_below_the_minimum() -> None:
    machines = [a_machine("m1", idle=100.0), a_machine("m2", idle=300.0), a_machine("m3", idle=10.0), a_machine("m4")]
    offer = an_offer(maximum=4)
    plan = plan_machines([offer], machines, [])
    assert [one.machine for one in plan.deletes] == ["m2", "m1"]
    assert plan.deletes[0] == Delete("m2", "Idle for 5 m.")
    kept = plan_machines([replace(offer, minimum=3)], machines, [])
    assert [one.machine for one in kept.deletes] == ["m2"]


def test_above_the_maximum_idle_machines_go_at_once() -> None:
    machines = [a_machine("m1", idle=0.0), a_machine("m2")]
    plan = plan_machines([an_offer(maximum=0)], machines, [waits()])
    assert plan.deletes == (Delete("m1", "The maximum is 0 machines now.", is_surplus=True),) and plan.creates == ()


def test_the_minimum_is_kept_up() -> None:
    plan = plan_machines([an_offer(minimum=2)], [a_machine("m1")], [])
    assert plan.creates == (Create("burst", "At least 2 machines wanted."),)


def test_pauses_double_up_to_half_an_hour() -> None:
    assert [pause_after(failures) for failures in (1, 2, 3, 50)] == [30.0, 60.0, 120.0, 1800.0]


def test_a_job_bursts_to_the_elastic_compute_of_its_next_template() -> None:
    ours, cloud = waits(compute="dgx", gpu_hundredths=100), waits(compute="burst", gpu_hundredths=200)
    both = replace(ours, others=(cloud.job,))
    assert plan_machines([an_offer()], [], [ours]).creates == ()
    assert plan_machines([an_offer()], [], [both]).creates == (Create("burst", "Job j1 waits."),)
    assert plan_machines([an_offer()], [a_machine("m1", ready=False)], [both]).creates == ()
