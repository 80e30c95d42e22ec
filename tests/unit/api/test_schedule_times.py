"""The next times of a schedule, for forms that show them before anything is saved."""

from __future__ import annotations

from datetime import UTC, datetime

from millpond.testing.clock import FakeClock
from millpond.testing.server import RunningServer

TIMES = "/projects/default/schedule-times"


def test_the_next_times_come_in_the_time_zone(server: RunningServer, clock: FakeClock) -> None:
    answer = server.admin.get(TIMES, params={"cron": "0 3 * * *", "timezone": "Europe/Berlin"}).json()
    found = [datetime.fromisoformat(one) for one in answer["times"]]
    assert len(found) == 5
    assert all(before < after for before, after in zip([clock.now(), *found], found, strict=False))
    assert {one.astimezone(UTC).hour for one in found} <= {1, 2}


def test_a_schedule_that_there_is_not_is_refused_with_the_reason(server: RunningServer) -> None:
    for params, words in [
        ({"cron": "0 25 * * *"}, "not a cron expression"),
        ({"cron": "daily"}, "not a cron expression"),
        ({"cron": "0 3 * * *", "timezone": "Europe/Berlinn"}, "Berlinn"),
    ]:
        answer = server.admin.get(TIMES, params=params)
        assert answer.status_code == 400
        assert words in answer.json()["detail"]
