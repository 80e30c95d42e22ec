"""The highest load that holds is found in few tries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millpond.perf.search import largest


@given(st.integers(0, 5000), st.integers(1, 5000), st.integers(1, 100))
def test_the_largest_is_found(limit: int, most: int, first: int) -> None:
    tried: list[int] = []

    def holds(number: int) -> bool:
        tried.append(number)
        return number <= limit

    assert largest(holds, first=first, most=most) == min(limit, most)
    assert len(tried) == len(set(tried)) <= 30, "no load is tried twice"
    assert all(1 <= number <= most for number in tried)
