"""What LoadGen writes is read as it says; tables name what was not run."""

from __future__ import annotations

from typing import Any

import pytest

from millpond.perf.plan import LoadPlan
from millpond.perf.summary import read_summary
from millpond.perf.table import NOT_RUN, tables
from millpond.perf.tasks import TASKS, Scenario

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


def a_cell(
    task: str, scenario: str, servers: int, storage: str, value: float | None, valid: bool = True
) -> dict[str, Any]:
    return {
        "task": task, "scenario": scenario, "servers": servers, "storage": storage, "protocol": "http", "value": value,
        "valid": valid,
    }  # fmt: skip


def test_tables_hold_all_tasks_of_the_document() -> None:
    measured = [
        a_cell("image-classification", "offline", 1, "local", 100.0),
        a_cell("image-classification", "offline", 2, "local", 199.0),
        a_cell("image-classification", "offline", 1, "shared", 99.5, valid=False),
        a_cell("mine", "offline", 1, "local", 7.0),
    ]
    offline, single, multi = tables(measured)
    assert offline.setups == ("1 × local, http", "2 × local, http", "1 × shared, http")
    rows = {row.task: row.results for row in offline.rows}
    assert list(rows) == [*(task.title for task in TASKS), "mine"]
    assert list(rows["Image classification"].values()) == ["100", "199", "99.5 INVALID"]
    assert set(rows["Speech-to-text"].values()) == {NOT_RUN}
    assert [row.task for row in multi.rows] == [task.title for task in TASKS[:3]], "the others have no multistream"
    assert "twice" in offline.document and len(single.rows) == 6


def test_a_later_measurement_replaces_an_earlier_one() -> None:
    measured = [a_cell("language", "single", 1, "local", value) for value in (5.0, 4.0)]
    row = next(row for row in tables(measured)[1].rows if row.task == "Language processing")
    assert list(row.results.values()) == ["4"]
