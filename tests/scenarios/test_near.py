"""What is near what, as a table: two places, what is known of the link, and the answer with its reason."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from millpond.decide.near import Look, NearRule, nearness, serves
from millpond.model.topology import GBIT, Link


def link(gbit: float | None = None, latency_ms: float | None = None) -> Link:
    return Link("a", "b", None if gbit is None else int(gbit * GBIT), latency_ms)


USUAL = NearRule()


@dataclass(frozen=True)
class Scenario:
    name: str
    known: Link | None
    near: bool
    reason: str
    b: str = "west"
    rule: NearRule = USUAL


SCENARIOS = [
    Scenario("one site", None, True, "both are at site east", b="east"),
    Scenario("nothing is known", None, False, "no link between east and west is configured"),
    Scenario("a price alone", Link("a", "b", price_per_gb=0.1), False, "is not set"),
    Scenario("ten gigabits", link(10), True, "east and west are linked by 10 Gbit/s"),
    Scenario("a little less", link(9.9), False, "9.9 Gbit/s, less than 10 Gbit/s"),
    Scenario("fast and far", link(100, 30), False, "with 30 ms of latency, more than 5 ms"),
    Scenario("fast and just not too far", link(100, 5), True, "linked by 100 Gbit/s"),
    Scenario("a modest rule", link(1), True, "linked by 1 Gbit/s", rule=NearRule(bits_per_second=GBIT)),
    Scenario("a patient rule", link(10, 30), True, "linked by 10 Gbit/s", rule=NearRule(latency_ms=50)),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_near(scenario: Scenario) -> None:
    found = nearness("east", scenario.b, scenario.known, scenario.rule)
    assert found.near is scenario.near
    assert scenario.reason in found.reason
    assert nearness(scenario.b, "east", scenario.known, scenario.rule).near is scenario.near


@pytest.mark.parametrize(
    ("look", "same_site", "expected", "reason"),
    [
        (Look(), True, True, "both are at site east"),
        (None, True, True, "both are at site east"),
        (Look("It is read-only."), True, False, "gpu cannot use fast: It is read-only."),
        (Look(), False, True, "linked by 10 Gbit/s"),
        (None, False, False, "gpu does not have fast mounted"),
        (Look("The directory does not exist."), False, False, "The directory does not exist."),
    ],
)
def test_a_volume_serves_whoever_is_near_and_sees_it(
    look: Look | None, same_site: bool, expected: bool, reason: str
) -> None:
    near = nearness("east", "east" if same_site else "west", link(10), NearRule())
    found = serves("fast", "gpu", near, look, same_site=same_site)
    assert found.serves is expected
    assert reason in found.reason


def test_a_volume_that_is_far_serves_nobody_however_well_it_is_seen() -> None:
    found = serves("fast", "gpu", nearness("east", "west", link(1), NearRule()), Look(), same_site=False)
    assert (found.near, found.seen, found.serves) == (False, True, False)
