"""What LoadGen writes is read as it says; tables name what was not run."""

from __future__ import annotations

from typing import Any

import pytest

from millpond.decide.mlperf_tables import measurement_of, tables
from millpond.model.mlperf import TASKS, Measurement, Scenario, Setup
from millpond.model.run import Run, RunState, RunView
from millpond.perf.plan import LoadPlan
from millpond.perf.summary import read_summary
from millpond.testing.clock import NOON

SINGLE = """\
================================================
MLPerf Results Summary
================================================
SUT name : PySUT
Scenario : SingleStream
Mode     : PerformanceOnly
90.0th percentile latency (ns) : 1234567
Result is : INVALID
  Min duration satisfied : NO
  Min queries satisfied : Yes
  Early stopping satisfied: Yes
Recommendations:
 * Decrease the expected latency so the loadgen pre-generates more queries.

================================================
Additional Stats
================================================
QPS w/ loadgen overhead         : 900.00
50.00 percentile latency (ns)   : 1000000
90.00 percentile latency (ns)   : 1234567
99.00 percentile latency (ns)   : 2000000
"""


def a_plan(scenario: Scenario, **changes: Any) -> LoadPlan:
    return LoadPlan(url="", protocol="http", model="m", scenario=scenario, folder="", **changes)


def test_a_summary_with_its_reasons() -> None:
    found = read_summary(SINGLE, a_plan(Scenario.SINGLE))
    assert (found.value, found.p50_ms, found.p99_ms) == (1.234567, 1.0, 2.0)
    assert not found.is_valid
    assert found.why[0] == "Min duration satisfied : NO" and "Decrease the expected latency" in found.why[1]
    assert read_summary(SINGLE.replace("INVALID", "VALID"), a_plan(Scenario.SINGLE)).why == ()


@pytest.mark.parametrize("text", ["", "Result is : VA", "Samples per second: nonsense"])
def test_a_summary_cut_off_is_invalid(text: str) -> None:
    found = read_summary(text, a_plan(Scenario.OFFLINE))
    assert not found.is_valid and found.value is None


def a_result(
    task: str, scenario: Scenario, servers: int, storage: str, value: float | None, *, valid: bool = True
) -> Measurement:
    return Measurement("r1", NOON, task, "m@1", scenario, Setup("http", storage, servers), value, valid)


def test_tables_hold_all_tasks_of_the_document() -> None:
    measured = [
        a_result("image-classification", Scenario.OFFLINE, 1, "local", 100.0),
        a_result("image-classification", Scenario.OFFLINE, 1, "shared", 99.0),
        a_result("image-classification", Scenario.OFFLINE, 2, "shared", 198.0),
        a_result("language", Scenario.OFFLINE, 1, "local", 10.0),
        a_result("language", Scenario.OFFLINE, 1, "shared", 5.0, valid=False),
        a_result("mine", Scenario.OFFLINE, 1, "as is", 7.0),
    ]
    offline, single, multi = tables(measured)
    assert [str(one) for one in offline.setups] == [
        "1 × local, http", "2 × local, http", "1 × shared, http", "2 × shared, http", "1 × as is, http",
    ]  # fmt: skip
    rows = {row.task: row for row in offline.rows}
    assert list(rows) == [*(task.name for task in TASKS), "mine"]
    image = rows["image-classification"]
    assert [one and one.value for one in image.results] == [100.0, None, 99.0, 198.0, None]
    assert (image.shared_to_local, image.two_to_one) == (0.99, 2.0) and image.model == "ResNet-50 v1.5"
    assert rows["language"].shared_to_local is None, "what LoadGen does not accept is not compared"
    assert set(rows["speech-to-text"].results) == {None}
    assert [row.task for row in multi.rows] == [task.name for task in TASKS[:3]], "the others have no multistream"
    assert len(single.rows) == 6 and len(single.setups) == 4, "the document's set-ups are shown before they are run"


def test_a_later_measurement_replaces_an_earlier_one() -> None:
    measured = [a_result("language", Scenario.SINGLE, 1, "local", value) for value in (5.0, 4.0)]
    row = next(row for row in tables(measured)[1].rows if row.task == "language")
    assert [one.value for one in row.results if one] == [4.0]


def test_only_runs_of_single_measurements_are_results() -> None:
    run = Run("r1", "p1", "p", "mlperf", "n", None, RunState.SUCCEEDED, "mary", NOON, NOON, NOON, None)
    params = {"scenario": "single", "servers": 2, "storage": "shared", "protocol": "grpc", "task": "language"}
    found = measurement_of(RunView(run, {**params, "model": "bert@3", "official": True}, {"mlperf.valid": "true"}))
    assert found is not None and found.is_valid and found.is_official and found.value is None
    assert found.setup == Setup("grpc", "shared", 2) and found.model == "bert@3"
    for wrong in ({"task": "language"}, {**params, "scenario": "nonsense"}, {**params, "servers": "many"}):
        assert measurement_of(RunView(run, wrong)) is None
