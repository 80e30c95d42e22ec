"""Shares of a long queue are kept for a moment; those of a short one never."""

from __future__ import annotations

from millpond.services.jobs.recent_shares import LONG_QUEUE, RecentShares


def test_only_a_long_queue_is_kept_and_only_for_a_moment() -> None:
    recent = RecentShares()
    assert recent.get(0.0) is None
    recent.keep(["a"], LONG_QUEUE - 1, 0.0)
    assert recent.get(0.0) is None
    recent.keep(["b"], LONG_QUEUE, 10.0)
    assert recent.get(12.9) == ["b"]
    assert recent.get(13.1) is None


def test_a_queue_that_became_short_is_not_answered_from_before() -> None:
    recent = RecentShares()
    recent.keep(["b"], LONG_QUEUE, 10.0)
    recent.keep(["c"], 1, 10.5)
    assert recent.get(10.6) is None
