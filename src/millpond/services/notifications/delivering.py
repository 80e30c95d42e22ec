"""Sends what is due: a server claims a delivery, sends it without a transaction, and notes how it went.

A server that is killed in between leaves its claim, which runs out: the delivery is sent again, with the same id.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import (
    notices,
    notification_channels,
    notification_deliveries,
    notification_people,
    notifications,
    projects,
    smtp,
)
from millpond.decide.notifications import grouping, messages, retries
from millpond.decide.notifications.notices import of_channel
from millpond.errors import MillError
from millpond.model.ids import new_id
from millpond.model.notification import Channel, Delivery, DeliveryState, SmtpSettings
from millpond.services.deps import Deps
from millpond.services.notifications.outcome import Outcome
from millpond.services.notifications.sending import send_delivery
from millpond.services.notifications.topics import DELIVERIES, NOTICES

logger = getLogger(__name__)

SECONDS = 2.0
# Longer than any one attempt takes.
_CLAIMED = timedelta(minutes=3)


@dataclass(frozen=True, slots=True)
class _Claimed:
    """`delivery` is what may still be told; `dropped` says why nothing may."""

    delivery: Delivery
    channel: Channel
    settings: SmtpSettings | None
    runner: str
    dropped: str | None = None


def send_due(deps: Deps, now: datetime) -> int:
    """Send the deliveries whose time has come, one after the other; how many this server tried."""
    count = 0
    while (claimed := _claim_next(deps)) is not None:
        _send(deps, claimed)
        count += 1
    return count


def forget_old(deps: Deps, now: datetime) -> None:
    """Remove notifications and deliveries that nobody will look for any more."""
    with deps.db.write() as tx:
        notifications.forget(tx, read_before=now - retries.READ_KEPT, before=now - retries.UNREAD_KEPT)
        notification_deliveries.forget(tx, now - retries.DELIVERIES_KEPT)


def _claim_next(deps: Deps) -> _Claimed | None:
    while True:
        now = deps.clock.now()
        with deps.db.read() as tx:
            found = notification_deliveries.due(tx, now)
        if found is None:
            return None
        runner = new_id()
        with deps.db.write() as tx:
            delivery = notification_deliveries.claim(tx, found, runner, now=now, until=now + _CLAIMED)
            channel = notification_channels.get(tx, delivery.channel_id) if delivery else None
            if delivery is None or channel is None:
                continue
            told, dropped = _still_allowed(tx, channel, delivery)
            return _Claimed(told, channel, smtp.get(tx), runner, dropped)


def _still_allowed(tx: Connection, channel: Channel, delivery: Delivery) -> tuple[Delivery, str | None]:
    """As people's rights are now: what was gathered before they changed is not told after."""
    there = projects.names_of(tx, {project_id for _, project_id in delivery.counts if project_id is not None}).keys()
    if channel.user_id is None:
        told = grouping.still_allowed(delivery, there & {channel.project_id}, is_admin=False)
    else:
        person = notification_people.person(tx, channel.user_id)
        if person is None:
            return delivery, "The user can no longer sign in."
        seen = [one for one in there if person.sees(one)]
        told = grouping.still_allowed(delivery, seen, is_admin=person.is_admin)
    return told, None if told.items else "Access to the project was lost."


def _send(deps: Deps, claimed: _Claimed) -> None:
    now = deps.clock.now()
    if claimed.dropped is not None:
        _finish(deps, claimed, state=DeliveryState.DROPPED, ended_at=now, problem=claimed.dropped)
        return
    try:
        outcome = send_delivery(deps, claimed.channel, claimed.delivery, claimed.settings, now=now)
    except MillError as error:  # a seal that cannot be opened
        outcome = Outcome(problem=f"{error.message} {error.hint or ''}".strip())
    except Exception:  # the edge of a delivery: the others go on
        logger.exception("delivery_failed id=%s", claimed.delivery.id)
        outcome = Outcome(problem="Unexpected error; see the server's log.")
    _note(deps, claimed, outcome)


def _note(deps: Deps, claimed: _Claimed, outcome: Outcome) -> None:
    now, delivery = deps.clock.now(), claimed.delivery
    attempts = delivery.attempts + 1
    tried = {"attempts": attempts, "tried_at": now, "status": outcome.status, "problem": outcome.problem}
    if outcome.works:
        logger.info("delivery_sent id=%s channel=%s count=%d", delivery.id, claimed.channel.id, delivery.count)
        _finish(deps, claimed, state=DeliveryState.SENT, ended_at=now, **tried)
        return
    again = retries.next_try(attempts, created_at=delivery.created_at, now=now, is_final=outcome.is_final)
    logger.warning("delivery_failed id=%s channel=%s reason=%s", delivery.id, claimed.channel.id, outcome.problem)
    if again is None:
        _finish(deps, claimed, state=DeliveryState.GAVE_UP, ended_at=now, **tried)
        deps.events.wake(NOTICES)
    else:
        _finish(deps, claimed, due_at=again, **tried)


def _finish(deps: Deps, claimed: _Claimed, **values: object) -> None:
    """One that was given up is told of in the same transaction."""
    state = values.get("state")
    written = {name: value.value if isinstance(value, DeliveryState) else value for name, value in values.items()}
    with deps.db.write() as tx:
        is_ours = notification_deliveries.finish(tx, claimed.delivery.id, claimed.runner, **written)
        if is_ours and state is DeliveryState.GAVE_UP:
            count = messages.summary_of(claimed.delivery)
            problem = f"{values.get('problem')} Given up: {count}."
            notices.insert(tx, of_channel(claimed.channel, problem, deps.clock.now()))
    # What was gathered behind it may go now.
    deps.events.wake(DELIVERIES)
