"""Limits of links and sites: the rate in force, when it changes, and limits that make no sense."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.decide.rate_limits import LEAST_BITS, RateInForce, check_limit, in_force, lowest
from millpond.errors import BadRequest
from millpond.model.rate_limit import LimitWindow, RateLimit, parse_between

BERLIN = "Europe/Berlin"
MBIT = 10**6


def window(rate: int, between: str = "", zone: str = BERLIN) -> LimitWindow:
    return LimitWindow(rate, *parse_between(between), zone) if between else LimitWindow(rate)


def at(text: str, zone: str = BERLIN, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC)


WORK = (window(100 * MBIT, "08:00-18:00"),)
NIGHT = (window(10 * MBIT, "22:00-06:00"),)
BOTH = (window(100 * MBIT, "08:00-18:00"), window(500 * MBIT))
OVERLAP = (window(100 * MBIT, "08:00-18:00"), window(20 * MBIT, "12:00-13:00"))
GAP = (window(10 * MBIT, "02:30-04:00"),)


@pytest.mark.parametrize(
    ("windows", "now", "rate", "until"),
    [
        (WORK, at("2026-11-18 07:59"), None, at("2026-11-18 08:00")),
        (WORK, at("2026-11-18 08:00"), 100, at("2026-11-18 18:00")),
        (WORK, at("2026-11-18 17:59"), 100, at("2026-11-18 18:00")),
        (WORK, at("2026-11-18 18:00"), None, at("2026-11-19 08:00")),
        (NIGHT, at("2026-11-18 23:30"), 10, at("2026-11-19 06:00")),
        (NIGHT, at("2026-11-19 05:59"), 10, at("2026-11-19 06:00")),
        (NIGHT, at("2026-11-19 06:00"), None, at("2026-11-19 22:00")),
        (BOTH, at("2026-11-18 03:00"), 500, at("2026-11-18 08:00")),
        (BOTH, at("2026-11-18 09:00"), 100, at("2026-11-18 18:00")),
        (OVERLAP, at("2026-11-18 12:30"), 20, at("2026-11-18 13:00")),
        (OVERLAP, at("2026-11-18 13:00"), 100, at("2026-11-18 18:00")),
        ((window(7 * MBIT),), at("2026-11-18 09:00"), 7, None),
        ((window(7 * MBIT, "18:00-24:00"),), at("2026-11-18 23:00"), 7, at("2026-11-19 00:00")),
        # Clocks go forward: the night has an hour less, and 02:30 does not come.
        (NIGHT, at("2026-03-29 00:30"), 10, datetime(2026, 3, 29, 4, 0, tzinfo=UTC)),
        (GAP, at("2026-03-29 01:59"), None, datetime(2026, 3, 29, 1, 0, tzinfo=UTC)),
        # Clocks go back: 02:30 comes twice, and the window, too.
        ((window(10 * MBIT, "01:00-02:30"),), at("2026-10-25 02:10"), 10, at("2026-10-25 02:30")),
        ((window(10 * MBIT, "01:00-02:30"),), at("2026-10-25 02:10", fold=1), 10, at("2026-10-25 02:30", fold=1)),
    ],
)  # fmt: skip
def test_rate_in_force(windows: tuple[LimitWindow, ...], now: datetime, rate: int | None, until: datetime) -> None:
    found = in_force(check_limit(RateLimit(windows)), now)
    assert found.bits_per_second == (rate * MBIT if rate else None)
    assert found.until == until


def test_words() -> None:
    assert str(in_force(RateLimit(WORK), at("2026-11-18 09:00"))) == "limited to 100 Mbit/s until 18:00 Europe/Berlin"
    assert str(in_force(RateLimit(WORK), at("2026-11-18 19:00"))) == "unlimited until 08:00 Europe/Berlin"
    assert str(RateLimit(BOTH)) == "100 Mbit/s from 08:00 to 18:00 Europe/Berlin, otherwise 500 Mbit/s"
    assert str(RateLimit(WORK)).endswith("otherwise unlimited")
    assert str(in_force(RateLimit((window(7 * MBIT),)), at("2026-11-18 09:00"))) == "limited to 7 Mbit/s"


def test_the_lowest_of_several_counts() -> None:
    assert lowest([RateInForce(None), RateInForce(5), RateInForce(3)]).bits_per_second == 3
    assert lowest([RateInForce(None)]).bits_per_second is None


@pytest.mark.parametrize(
    ("windows", "said"),
    [
        ((), "needs a rate"),
        ((window(0),), "would stop all fills"),
        ((window(1000),), "too low"),
        ((window(MBIT, "08:00-18:00", "Europe/Berln"),), "not a known time zone"),
        ((window(MBIT, "08:00-08:00"),), "some length"),
        ((window(MBIT, "00:00-24:00"),), "leave out|some length"),
        ((window(MBIT), window(2 * MBIT)), "outside of all windows"),
        ((LimitWindow(MBIT, 60, None),), "a start and an end"),
        (25 * (window(MBIT, "08:00-18:00"),), "at most"),
    ],
)  # fmt: skip
def test_limits_that_make_no_sense(windows: tuple[LimitWindow, ...], said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        check_limit(RateLimit(windows))


@pytest.mark.parametrize("text", ["8-18", "08:00", "08:00-25:00", "08:60-18:00", "", "-"])
def test_windows_that_are_none(text: str) -> None:
    with pytest.raises(BadRequest):
        parse_between(text)


@given(
    st.lists(
        st.builds(
            LimitWindow,
            st.integers(LEAST_BITS, 10**12),
            st.integers(0, 1439),
            st.integers(0, 1439),
            st.sampled_from([BERLIN, "UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]),
        ),
        min_size=1,
        max_size=4,
    ),
    st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)),
)
def test_until_then_nothing_changes_and_then_something_does(windows: list[LimitWindow], now: datetime) -> None:
    limit = RateLimit(tuple(windows))
    found = in_force(limit, now)
    if found.until is not None:
        assert found.until > now
        assert in_force(limit, found.until).bits_per_second != found.bits_per_second
        between = now + (found.until - now) * 0.999
        assert in_force(limit, between).bits_per_second == found.bits_per_second
