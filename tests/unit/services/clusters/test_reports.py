"""What processes of users may say of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from millpond.model.cluster import ClusterDemand, WorkerLoad
from millpond.services.clusters.reports import checked_ready, demand_of, problem_of, samples_of


def test_addresses_and_the_dashboard_are_taken() -> None:
    told = {"scheduler": "tls://10.0.0.7:8786", "dashboard": 8787, "version": "2026.8.0", "other": "x" * 10_000}
    assert checked_ready(told) == {"scheduler": "tls://10.0.0.7:8786", "dashboard": 8787, "version": "2026.8.0"}
    assert checked_ready({"worker": "10.0.0.8"}) == {"worker": "10.0.0.8"}


@pytest.mark.parametrize(
    "told",
    [{}, {"scheduler": "tls://a b:1"}, {"scheduler": 7}, {"dashboard": 8787}, {"scheduler": "file:///etc/passwd"},
     {"worker": "\n"}],
)  # fmt: skip
def test_what_is_no_address_is_as_good_as_nothing(told: dict[str, Any]) -> None:
    assert checked_ready(told) is None


def test_demand_survives_odd_numbers() -> None:
    stats = {"desired": 4.0, "tasks": "many", "waiting": -1, "workers": [{"name": "w", "tasks": 2, "bytes": 9}, 7]}
    assert demand_of(stats) == ClusterDemand(4, 0, 0, {"w": WorkerLoad(2, 9)})
    assert demand_of({"desired": "all"}) is None
    assert demand_of(None) is None


def test_problems_and_numbers_are_cut() -> None:
    assert len(problem_of({"problem": "x" * 10_000}) or "") == 500
    assert problem_of({"problem": 7}) is None
    assert samples_of({"metrics": {"dask_tasks": 1, "not a name": 2, "dask_other": "x"}}) == {"dask_tasks": 1.0}
    assert samples_of({"metrics": [1]}) == {}
