"""What of a report on a fill is new, and what a budget says."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from millpond.decide.egress import BudgetLevel, check_budget, merged, month_of, new_bytes, refusal, use_of, used_words
from millpond.errors import BadRequest
from millpond.model.egress import CountedFill, EgressBudget
from millpond.model.fill_source import LAKE_KEY, VOLUME_KEY, SourceKey, SourceKind

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
PEER = SourceKey(SourceKind.PEER, "v1")


def report(lake: int, *, attempt: int = 1, session: str = "a", **more: int) -> CountedFill:
    given = {LAKE_KEY: lake, VOLUME_KEY: 999}
    return CountedFill("c", attempt, session, given | ({PEER: more["peer"]} if more else {}))


@pytest.mark.parametrize(
    ("before", "now", "added"),
    [
        (None, report(100), 100),
        (report(100), report(100), None),
        (report(100), report(150), 50),
        (report(100), report(60), None),  # overtaken on the way
        (report(100), report(60, session="b"), 60),  # the agent was started anew, or tried again
        (report(100), report(60, attempt=2), 60),
        (report(100), report(100, session="a"), None),
    ],
)
def test_new_bytes(before: CountedFill | None, now: CountedFill, added: int | None) -> None:
    assert new_bytes(before, now) == ({LAKE_KEY: added} if added else {})


def test_sources_are_counted_apart_and_what_was_near_not_at_all() -> None:
    assert new_bytes(report(100), report(100, peer=7)) == {PEER: 7}
    after = merged(report(100, peer=7), report(60))
    assert after.given[LAKE_KEY] == 100 and after.given[PEER] == 7, "nothing is taken back"
    assert merged(report(100), report(60, session="b")).given[LAKE_KEY] == 60


def budget(**given: float) -> EgressBudget:
    return EgressBudget("p", "ada", NOW, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("used", "level"), [(0.0, BudgetLevel.OK), (39.9, "ok"), (40.0, "warning"), (50.0, "exceeded"), (70.0, "exceeded")]
)
def test_levels_of_a_budget_of_money(used: float, level: str) -> None:
    assert use_of(budget(money=50.0), 0, used, NOW).level == level


def test_words_of_a_budget() -> None:
    use = use_of(budget(bytes=10**12), 1_100_000_000_000, 0.0, NOW)
    assert use.level is BudgetLevel.EXCEEDED and used_words(use) == "1.1 TB of 1.0 TB"
    said = refusal(use, "vision")
    assert "of project vision" in said and "1.1 TB of 1.0 TB" in said and "2026-11-30" in said
    assert "of all projects" in refusal(use, None)


@pytest.mark.parametrize(
    ("now", "begins", "ends"),
    [
        (datetime(2026, 12, 31, 23, 59, tzinfo=UTC), "2026-12-01", "2027-01-01"),
        (datetime(2028, 2, 29, tzinfo=UTC), "2028-02-01", "2028-03-01"),
        (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01", "2026-02-01"),
    ],
)
def test_months(now: datetime, begins: str, ends: str) -> None:
    assert [f"{one:%Y-%m-%d}" for one in month_of(now)] == [begins, ends]


@pytest.mark.parametrize(
    "wrong", [{}, {"bytes": 1, "money": 1.0}, {"bytes": 0}, {"money": -1.0}, {"money": 1.0, "warn_percent": 0}]
)
def test_budgets_that_make_no_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(BadRequest):
        check_budget(budget(**wrong))
