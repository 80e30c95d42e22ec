"""Which part of the contract of drivers is left to the long run where the engine takes seconds for each job."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

import pytest

from millpond.testing.drivers import DriverContract

# What the keeper does by itself, whatever starts it.
BY_THE_KEEPER = (
    "test_success",
    "test_a_signal_is_not_an_exit_code",
    "test_a_file_that_may_not_be_executed",
    "test_while_it_runs_it_is_running",
    "test_stop_lets_the_command_end_in_its_own_way",
    "test_what_outlives_the_command_is_ended_too",
    "test_a_renewal_that_came_too_late_starts_nothing",
    "test_renewed_it_runs_on",
    "test_usage_is_sampled",
    "test_a_rank_that_cannot_be_started_ends_all",
    "test_ranks_start_once_however_often_they_are_told",
)
Suite = TypeVar("Suite", bound=type[DriverContract])


def keeper_in_the_long_run(suite: Suite) -> Suite:
    """Of a driver with a slow engine, tries only in the long run what is tried on processes every time."""
    return _in_the_long_run(suite, BY_THE_KEEPER)


def contract_in_the_long_run(suite: Suite) -> Suite:
    """Tries every time only what the suite adds: the same driver is held to the contract elsewhere."""
    return _in_the_long_run(suite, [name for name in dir(suite) if name.startswith("test_")])


def _in_the_long_run(suite: Suite, inherited: Iterable[str]) -> Suite:
    for name in inherited:
        if hasattr(suite, name) and name not in vars(suite):
            setattr(suite, name, pytest.mark.long(_the_same(getattr(suite, name))))
    return suite


def _the_same(test: Callable[..., None]) -> Callable[..., None]:
    """A mark on it is not one on the test of all drivers."""

    @wraps(test)
    def again(*given: Any, **more: Any) -> None:
        test(*given, **more)

    return again
