"""Reading Prometheus's text, as schedulers write it."""

from __future__ import annotations

from millpond.clusters.exposition import MOST_SAMPLES, samples

TEXT = """\
# HELP dask_scheduler_tasks Tasks by state.
# TYPE dask_scheduler_tasks gauge
dask_scheduler_tasks{state="waiting"} 3.0
dask_scheduler_clients 1.0 1795018101960
python_gc_objects_collected_total{generation="0"} 2289.0
dask_latency_bucket{le="0.1"} 9.0
dask_broken NaN
ray_tasks{Name="f",SessionName="session_1",State="RUNNING",Version="2.60.0",otel_scope_name="x"} 4.0
"""


def test_only_the_scheduler_s_own_numbers_are_taken() -> None:
    assert samples(TEXT, ("dask_",)) == {'dask_scheduler_tasks{state="waiting"}': 3.0, "dask_scheduler_clients": 1.0}


def test_labels_that_say_the_same_everywhere_are_dropped() -> None:
    assert samples(TEXT, ("ray_",)) == {'ray_tasks{Name="f",State="RUNNING"}': 4.0}


def test_a_long_page_is_cut() -> None:
    long = "".join(f"dask_{number} 1\n" for number in range(2 * MOST_SAMPLES))
    assert len(samples(long, ("dask_",))) == MOST_SAMPLES
