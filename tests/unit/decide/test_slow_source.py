"""When a fill leaves its source: much slower than expected, slower than the lake, silent; never for a limit alone."""

from __future__ import annotations

import pytest

from millpond.decide.slow_source import why_too_slow

MB = 1_000_000


@pytest.mark.parametrize(
    ("received", "seconds", "expected", "lake", "limited", "why"),
    [
        (0, 2.9, 100.0 * MB, None, False, None),
        (90 * MB, 3.0, 100.0 * MB, None, False, "30.0 MB/s came, 100.0 MB/s were expected"),
        (100 * MB, 3.0, 100.0 * MB, None, False, None),
        (90 * MB, 3.0, 100.0 * MB, 30.0 * MB, False, None),
        (0, 3.0, 100.0 * MB, 30.0 * MB, False, "nothing came for 3.0 s"),
        (0, 9.0, None, None, False, None),
        (0, 10.0, None, None, False, "nothing came for 10.0 s"),
        (900_000, 10.0, None, None, False, "90.0 kB/s came"),
        (MB, 10.0, None, None, False, None),
        (1, 10.0, 100.0 * MB, 30.0 * MB, True, None),
        (0, 9.0, 100.0 * MB, 30.0 * MB, True, None),
        (0, 10.0, 100.0 * MB, 30.0 * MB, True, "nothing came for 10.0 s"),
    ],
)
def test_why(
    received: int, seconds: float, expected: float | None, lake: float | None, limited: bool, why: str | None
) -> None:
    assert why_too_slow(received, seconds, expected=expected, lake=lake, is_limited=limited) == why
