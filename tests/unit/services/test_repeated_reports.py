"""What is told again a moment later is not taken in twice; what changed, or is older, is."""

from __future__ import annotations

from millpond.services.repeated_reports import REPEATED_SECONDS, Repeats


def test_only_the_very_same_report_is_known_and_only_for_a_moment() -> None:
    repeats = Repeats()
    assert not repeats.is_known("a", "well", elapsed=100)
    repeats.take("a", "well", elapsed=100)
    assert repeats.is_known("a", "well", elapsed=100)
    assert not repeats.is_known("a", "unwell", elapsed=100)
    assert not repeats.is_known("b", "well", elapsed=100)
    assert not repeats.is_known("a", "well", elapsed=100 + REPEATED_SECONDS)


def test_what_was_told_in_between_counts() -> None:
    repeats = Repeats()
    repeats.take("a", "well", elapsed=100)
    repeats.take("a", "unwell", elapsed=100.5)
    assert not repeats.is_known("a", "well", elapsed=101), "it was another way meanwhile"
