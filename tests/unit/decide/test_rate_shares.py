"""How a limit is divided among agents, and which fills let others go first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.decide.rate_shares import LEAST_BYTES, LOW, UNKNOWN_BYTES, Transfer, goes_first, low_rate, share_of
from millpond.model.topology import LAKE

SITE = ("lab",)
LINK = (LAKE, "lab")


def fetching(agent: str, *, waited: bool = True, site: str = "lab", source: str = LAKE, sender: str = "") -> Transfer:
    return Transfer(agent, site, source, sender or None, waited)


@pytest.mark.parametrize(
    ("transfers", "share"),
    [
        ([], 1.0),
        ([fetching("a")], 1.0),
        ([fetching("a"), fetching("b")], 0.5),
        ([fetching("a"), fetching("a"), fetching("b")], 2 / 3),
        ([fetching("a"), fetching("b", waited=False)], 1 / 1.1),
        ([fetching("a", waited=False), fetching("b")], 0.1 / 1.1),
        ([fetching("a", waited=False), fetching("b", waited=False)], 0.5),
        ([fetching("b")], 0.1 / 1.1),
        ([fetching("b", site="paris"), fetching("a")], 1.0),
        # What the site sends counts, too.
        ([fetching("a"), fetching("p", site="paris", source="lab", sender="a")], 1.0),
        ([fetching("a"), fetching("p", site="paris", source="lab", sender="b")], 0.5),
    ],
)
def test_share_of_a_site(transfers: list[Transfer], share: float) -> None:
    assert share_of("a", SITE, 1e6, transfers) == pytest.approx(share * 1e6)


def test_a_link_is_shared_by_those_who_use_it() -> None:
    transfers = [fetching("a"), fetching("b", source="paris", sender="p")]
    assert share_of("a", LINK, 1e6, transfers) == 1e6
    assert share_of("b", ("lab", "paris"), 1e6, transfers) == share_of("p", ("lab", "paris"), 1e6, transfers) == 1e6


@given(st.lists(st.builds(fetching, st.sampled_from("abc"), waited=st.booleans()), min_size=1))
def test_agents_together_take_no_more_than_the_limit(transfers: list[Transfer]) -> None:
    agents = {one.receiver_id for one in transfers}
    assert sum(share_of(agent, SITE, 1e9, transfers) for agent in agents) == pytest.approx(1e9)


def test_tiny_limits_leave_everybody_a_little() -> None:
    assert share_of("a", SITE, 8000.0, [fetching(name) for name in "abc"]) == LEAST_BYTES


def test_who_goes_first() -> None:
    others = {"1": fetching("a"), "2": fetching("b", waited=False), "3": fetching("p", site="paris")}
    assert goes_first(fetching("a", waited=False), others) == ["1"]
    assert goes_first(fetching("a"), others) == ()
    assert goes_first(fetching("p", waited=False, site="rome"), others) == []


def test_low_rate() -> None:
    assert low_rate(1e8) == LOW * 1e8
    assert low_rate(1000.0) == LEAST_BYTES
    assert low_rate(None) == UNKNOWN_BYTES
