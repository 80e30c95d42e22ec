"""What becomes of a canary, as a table, and what holds for every rollout."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.decide.traffic import Canary, RolloutRule, RolloutStep, VersionTraffic, next_rollout

RULE = RolloutRule(step=10, every_seconds=300, errors_max=0.01, p99_ratio_max=1.2, drift_max=0.25)
STABLE = VersionTraffic(requests=2000, errors=3, p99_ms=50.0)
GOOD = VersionTraffic(requests=200, errors=1, p99_ms=55.0, drift=0.1)


@pytest.mark.parametrize(
    ("seconds", "weight", "canary", "step", "after", "says"),
    [
        (10, 5, GOOD, RolloutStep.WAIT, 5, "Next step in 4 m 50 s"),
        (300, 5, GOOD, RolloutStep.RAISE, 15, "200 requests, 1 failed; p99 55 ms, 50 ms of the version before"),
        (300, 90, GOOD, RolloutStep.PROMOTE, 100, "200 requests"),
        (300, 95, GOOD, RolloutStep.PROMOTE, 100, "200 requests"),
        (300, 5, VersionTraffic(12, 0, 40.0), RolloutStep.WAIT, 5, "12 requests since the last step, 50 are needed"),
        (10, 5, VersionTraffic(100, 2, 40.0), RolloutStep.ROLL_BACK, 0, "2 of 100 requests failed, above 1.00%"),
        (10, 5, VersionTraffic(100, 1, 40.0), RolloutStep.WAIT, 5, "Next step"),
        (10, 5, VersionTraffic(1, 1, 40.0), RolloutStep.WAIT, 5, "Next step"),
        (10, 5, VersionTraffic(5, 5, 40.0), RolloutStep.ROLL_BACK, 0, "5 of 5 requests failed"),
        (10, 5, VersionTraffic(100, 0, 900.0), RolloutStep.WAIT, 5, "Next step"),
        (300, 5, VersionTraffic(100, 0, 900.0), RolloutStep.ROLL_BACK, 0, "p99 is 900 ms, 18.00 × the 50 ms"),
        (300, 5, VersionTraffic(100, 0, 50.0, 0.3), RolloutStep.ROLL_BACK, 0, "Drift is 0.30, above 0.25"),
    ],
)
def test_a_canary_grows_or_goes(
    seconds: float, weight: int, canary: VersionTraffic, step: RolloutStep, after: int, says: str
) -> None:
    decision = next_rollout(RULE, Canary(weight, seconds, canary, STABLE))
    assert (decision.step, decision.weight, says in decision.reason) == (step, after, True), decision


def test_one_that_fails_waits_for_a_person_where_it_is_not_rolled_back() -> None:
    rule = RolloutRule(errors_max=0.01, rolls_back=False)
    decision = next_rollout(rule, Canary(30, 10, VersionTraffic(100, 50), STABLE))
    assert decision.step is RolloutStep.WAIT and decision.weight == 30
    assert decision.reason == "50 of 100 requests failed, above 1.00%: promote or roll back by hand."


def test_latency_is_not_compared_with_a_version_that_hardly_answers() -> None:
    decision = next_rollout(RULE, Canary(95, 300, VersionTraffic(1000, 0, 900.0), VersionTraffic(3, 0, 50.0)))
    assert decision.step is RolloutStep.PROMOTE


SEEN = st.builds(
    lambda requests, part, p99, drift: VersionTraffic(requests, int(requests * part), p99, drift),
    st.integers(0, 10_000), st.floats(0, 1), st.none() | st.floats(0, 1e5), st.none() | st.floats(0, 10),
)  # fmt: skip


@given(st.integers(0, 100), st.floats(0, 1000), SEEN, SEEN)
def test_nothing_above_the_limit_of_errors_gets_more_traffic(
    weight: int, seconds: float, canary: VersionTraffic, stable: VersionTraffic
) -> None:
    decision = next_rollout(RULE, Canary(weight, seconds, canary, stable))
    assert 0 <= decision.weight <= 100
    if decision.weight > weight or decision.step is RolloutStep.PROMOTE:
        assert canary.error_rate <= 0.01 and canary.requests >= 50 and seconds >= 300
