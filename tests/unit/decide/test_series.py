from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millpond.decide.series import thin


def identity(value: float | None) -> float | None:
    return value


def test_a_short_series_stays_as_it_is() -> None:
    assert thin([3.0, 1.0, 2.0], 10, identity) == [3.0, 1.0, 2.0]


def test_the_peak_of_a_long_series_is_kept() -> None:
    values = [0.0] * 10_000
    values[4321], values[7777] = 9.0, -9.0
    kept = thin(values, 100, identity)
    assert len(kept) <= 100
    assert (max(kept), min(kept)) == (9.0, -9.0)


def test_gaps_are_kept_where_there_is_nothing_else() -> None:
    values: list[float | None] = [1.0] * 500 + [None] * 500
    assert None in thin(values, 50, identity)


@given(
    st.lists(st.tuples(st.integers(), st.one_of(st.none(), st.floats(allow_nan=False))), max_size=400),
    st.integers(4, 60),
)
def test_any_series(points: list[tuple[int, float | None]], limit: int) -> None:
    numbered = [(number, value) for number, (_, value) in enumerate(points)]
    kept = thin(numbered, limit, lambda point: point[1])
    assert len(kept) <= max(limit, 4)
    assert kept == sorted(kept, key=lambda point: point[0])
    assert len(set(kept)) == len(kept)
    if numbered:
        assert (kept[0], kept[-1]) == (numbered[0], numbered[-1])
