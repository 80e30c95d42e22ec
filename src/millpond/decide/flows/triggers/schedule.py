"""Schedules: cron expressions in a time zone, and what becomes of times that were missed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from millpond.errors import BadRequest
from millpond.model.flow_trigger import Missed
from millpond.model.time_zone import check_zone

# A time is missed if a server looks at it later than this: loops come every few seconds.
GRACE = timedelta(minutes=1)
# Times that are fired, or counted, in one look.
MOST_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Schedule:
    cron: str
    timezone: str = "UTC"

    def after(self, moment: datetime) -> datetime:
        """The first time after it. A time that a change of clock leaves out comes at the next moment there is; one
        that comes twice counts once, unless the schedule runs every hour."""
        return next(self.times(moment))

    def times(self, after: datetime) -> Iterator[datetime]:
        return (one.astimezone(UTC) for one in CronSim(self.cron, self._local(after)))

    def last(self, until: datetime) -> datetime:
        """The last time not after `until`."""
        behind = until.replace(second=0, microsecond=0) + timedelta(minutes=1)
        return next(CronSim(self.cron, self._local(behind), reverse=True)).astimezone(UTC)

    def _local(self, moment: datetime) -> datetime:
        return moment.astimezone(ZoneInfo(self.timezone))


@dataclass(frozen=True, slots=True)
class DueTimes:
    """Times that start a run; those that do not, with why; and when to look again."""

    fire: tuple[datetime, ...]
    missed: tuple[datetime, ...]
    reason: str
    next_at: datetime


def parse_schedule(cron: str, timezone: str) -> Schedule:
    """BadRequest for an expression or a time zone that there is not."""
    check_zone(timezone)
    if len(cron.split()) != 5:
        raise BadRequest(
            f"{cron!r} is not a cron expression.", hint="Write minute, hour, day, month and weekday, like '0 3 * * 1'."
        )
    schedule = Schedule(" ".join(cron.split()), timezone)
    try:
        schedule.after(datetime(2024, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        raise BadRequest(f"{cron!r} is not a cron expression: {str(error).lower()}.") from error
    except StopIteration:
        raise BadRequest(f"{cron!r} never comes.") from None
    return schedule


def due_times(schedule: Schedule, next_at: datetime, now: datetime, missed: Missed) -> DueTimes:
    """What to do about the times from `next_at` to now. At most a thousand are fired in one look."""
    due = [next_at]
    for one in schedule.times(next_at):
        if one > now or len(due) >= MOST_AT_ONCE:
            break
        due.append(one)
    match missed:
        case Missed.ALL:
            return DueTimes(tuple(due), (), "", schedule.after(due[-1]))
        case Missed.ONCE:
            last = max(due[-1], schedule.last(now))
            late = tuple(one for one in due if one != last)
            reason = "Missed: a later time of the schedule has come, too (missed: once)."
            return DueTimes((last,), late, reason if late else "", schedule.after(last))
        case Missed.SKIP:
            last = max(due[-1], schedule.last(now))
            fire = (last,) if last > now - GRACE else ()
            late = tuple(one for one in due if one not in fire)
            reason = "Missed: no server was there at the time (missed: skip)."
            return DueTimes(fire, late, reason if late else "", schedule.after(last))
