from __future__ import annotations

from datetime import timedelta

import pytest

from millpond.decide.idle_gpus import GpuUse, idle_jobs
from millpond.testing.clock import NOON

LONG, SHORT = timedelta(minutes=30), timedelta(minutes=4)


@pytest.mark.parametrize(
    ("ran", "peak", "idle"),
    [
        (LONG, 0.0, True),
        (LONG, 0.9, True),
        (LONG, 1.0, False),  # it did something
        (SHORT, 0.0, False),  # it may still be loading
        (LONG, None, False),  # nobody measured
    ],
)
def test_a_gpu_is_idle_when_nothing_was_computed_for_a_while(
    ran: timedelta, peak: float | None, idle: bool
) -> None:  # fmt: skip
    assert list(idle_jobs([GpuUse("train", NOON - ran, peak)], NOON)) == (["train"] if idle else [])
