"""Which numbers of a scheduler everybody may see."""

from __future__ import annotations

from millpond.decide.clusters.numbers import MOST_SAMPLES, public_samples


def test_names_of_functions_and_nodes_are_left_out_and_their_numbers_summed() -> None:
    told = {
        'dask_scheduler_tasks{state="waiting"}': 3.0,
        'dask_scheduler_prefix_state_totals_total{state="memory",task_prefix_name="train_on_patients"}': 2.0,
        'dask_scheduler_prefix_state_totals_total{state="memory",task_prefix_name="load"}': 5.0,
        'ray_tasks{Name="secret_function",NodeAddress="10.0.0.7",State="RUNNING"}': 4.0,
        'ray_resources{Name="CPU",State="USED"}': 1.0,
        'ray_resources{Name="ada_s_own",State="USED"}': 7.0,
        "dask_scheduler_clients": 1.0,
    }
    assert public_samples(told) == {
        ("dask_scheduler_tasks", (("state", "waiting"),)): 3.0,
        ("dask_scheduler_prefix_state_totals_total", (("state", "memory"),)): 7.0,
        ("ray_tasks", (("State", "RUNNING"),)): 4.0,
        ("ray_resources", (("Name", "CPU"), ("State", "USED"))): 1.0,
        ("ray_resources", (("State", "USED"),)): 7.0,
        ("dask_scheduler_clients", ()): 1.0,
    }


def test_there_are_never_too_many() -> None:
    assert len(public_samples({f"dask_{number}": 1.0 for number in range(1000)})) == MOST_SAMPLES
