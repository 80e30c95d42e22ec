"""How long something has stayed as it is, by a clock that nobody can set."""

from __future__ import annotations

from millpond.services.unchanged_since import Unchanged


def test_it_counts_from_when_it_was_first_seen_so() -> None:
    unchanged = Unchanged()
    assert unchanged.seconds("renewal", {"a": 1, "b": 1}, elapsed=100) == {"a": 0, "b": 0}
    assert unchanged.seconds("renewal", {"a": 1, "b": 2}, elapsed=130) == {"a": 30, "b": 0}
    assert unchanged.seconds("renewal", {"b": 2}, elapsed=140) == {"b": 10}
    assert unchanged.seconds("renewal", {"a": 1, "b": 2}, elapsed=150) == {"a": 0, "b": 20}, "a was forgotten"


def test_kinds_know_nothing_of_each_other() -> None:
    unchanged = Unchanged()
    unchanged.seconds("renewal", {"a": 1}, elapsed=100)
    assert unchanged.seconds("use", {"a": 1}, elapsed=130) == {"a": 0}
    assert unchanged.seconds("renewal", {"a": 1}, elapsed=130) == {"a": 30}
