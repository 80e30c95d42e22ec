"""TR-4858, sections 4.8 to 4.10, with a real server and two agents: whose jobs run, who waits, who is preempted."""

from __future__ import annotations

from itertools import permutations

import pytest
from dev.tr4858 import TEAM_D, run, running_cluster

# How soon is for `dev/tr4858.py` to tell, on a machine that has nothing else to do.
WITHIN = 60.0


# The same steps are decided in tests/unit/decide/scheduling/test_tr4858.py.
@pytest.mark.long
def test_four_teams_share_sixteen_gpus_as_the_report_says() -> None:
    with running_cluster(WITHIN) as cluster:
        run(cluster, order=TEAM_D[::-1], one_by_one=True, stable=1.0)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("order", list(permutations(TEAM_D)))
def test_whatever_the_order_in_which_jobs_are_deleted(order: tuple[str, ...], one_by_one: bool) -> None:
    with running_cluster(WITHIN) as cluster:
        run(cluster, order=order, one_by_one=one_by_one, stable=30.0)
