"""What is told again a moment later is not taken in twice; what changed, or is older, is."""

from __future__ import annotations

from millpond.services.repeated_reports import REPEATED_SECONDS, Repeats

A, B = ("agent", "volume a"), ("agent", "volume b")


def test_only_the_very_same_report_is_known_and_only_for_a_moment() -> None:
    repeats = Repeats()
    assert not repeats.is_known(A, "well", elapsed=100)
    repeats.take(A, "well", elapsed=100)
    assert repeats.is_known(A, "well", elapsed=100)
    assert not repeats.is_known(A, "unwell", elapsed=100)
    assert not repeats.is_known(B, "well", elapsed=100)
    assert not repeats.is_known(A, "well", elapsed=100 + REPEATED_SECONDS)


def test_what_was_told_in_between_counts() -> None:
    repeats = Repeats()
    repeats.take(A, "well", elapsed=100)
    repeats.take(A, "unwell", elapsed=100.5)
    assert not repeats.is_known(A, "well", elapsed=101), "it was another way meanwhile"


def test_what_an_agent_told_another_server_meanwhile_counts() -> None:
    repeats = Repeats()
    repeats.take(A, "well", elapsed=100)
    repeats.take(("other agent", "volume a"), "well", elapsed=100)
    repeats.forget("agent")
    assert not repeats.is_known(A, "well", elapsed=101)
    assert repeats.is_known(("other agent", "volume a"), "well", elapsed=101)
