from __future__ import annotations

from datetime import datetime, timedelta

from millpond.decide.ledger import Ledger, ledger
from millpond.testing.builders_work import a_job
from millpond.testing.clock import NOON


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def test_a_queued_job_has_only_waited() -> None:
    assert ledger(a_job(), at(5)) == Ledger(None, 5.0, None, None, None, None, 5.0)


def test_the_part_under_way_counts_until_now() -> None:
    job = a_job(placed_at=at(1), filled_at=at(3), started_at=at(4))
    assert ledger(job, at(10)) == Ledger(None, 1.0, 2.0, 1.0, 6.0, None, 10.0)


def test_the_parts_of_an_ended_job_add_up() -> None:
    job = a_job(placed_at=at(1), filled_at=at(3), started_at=at(4), exited_at=at(8), ended_at=at(9))
    found = ledger(job, at(1000))
    assert found == Ledger(None, 1.0, 2.0, 1.0, 4.0, 1.0, 9.0)


def test_a_job_cancelled_in_the_queue() -> None:
    assert ledger(a_job(ended_at=at(2)), at(1000)) == Ledger(None, 2.0, None, None, None, None, 2.0)


def test_earlier_attempts_and_waiting_for_an_environment_have_parts_of_their_own() -> None:
    job = a_job(
        requeued_at=at(5), environment_at=at(8), placed_at=at(9), filled_at=at(10), started_at=at(12), exited_at=at(20),
        ended_at=at(20),
    )  # fmt: skip
    assert ledger(job, at(1000)) == Ledger(5.0, 1.0, 1.0, 5.0, 8.0, 0.0, 20.0)
