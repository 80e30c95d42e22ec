"""Channels of users and projects: added, changed, tested, removed, and what they delivered."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import notification_channels, notification_deliveries, smtp, users
from millpond.db.notification_channels import ChannelOwner
from millpond.decide.allowed_addresses import Reach
from millpond.decide.notifications.addresses import check_email, check_webhook, shown_url
from millpond.decide.notifications.recipients import PROJECT_KINDS, USER_KINDS
from millpond.errors import Conflict, Forbidden, Invalid, NameTaken, TooMany
from millpond.model.ids import new_id
from millpond.model.names import check_name
from millpond.model.notification import Channel, ChannelType, Delivery, NotificationKind
from millpond.model.people import Actor, Project
from millpond.services.deps import Deps
from millpond.services.notifications.outcome import Outcome
from millpond.services.notifications.sending import purpose, send_test
from millpond.services.people import access, audit

_SECRET_BYTES = 32
_MOST_CHANNELS = 20
_TEST_EVERY = timedelta(seconds=5)
_SHOWN_DELIVERIES = 50


@dataclass(frozen=True, slots=True)
class ChannelView:
    """A channel, and how its newest delivery went. `secret` only when it was just made: it is not shown again."""

    channel: Channel
    newest: Delivery | None = None
    secret: str | None = None


def owner_of(actor: Actor, project: Project | None) -> ChannelOwner:
    """Whose channels are meant: the project's, or the caller's own."""
    if project is not None:
        return ChannelOwner(project_id=project.id)
    if actor.user_id is None:
        raise Forbidden("Only users have channels of their own.")
    return ChannelOwner(user_id=actor.user_id)


def list_all(deps: Deps, owner: ChannelOwner) -> Sequence[ChannelView]:
    with deps.db.read() as tx:
        found = notification_channels.all_of(tx, owner)
        newest = notification_deliveries.newest(tx, [one.id for one in found])
    return [ChannelView(one, newest.get(one.id)) for one in found]


def add(
    deps: Deps, actor: Actor, project: Project | None, *, name: str, email: str | None, url: str | None,
    kinds: Collection[NotificationKind] | None,
) -> ChannelView:  # fmt: skip
    """An e-mail channel or a webhook. Invalid or AddressRefused for an address that cannot be used."""
    if (email is None) == (url is None):
        raise Invalid("A channel is either an e-mail address or a webhook.", hint="Give --email or --webhook.")
    owner, now = owner_of(actor, project), deps.clock.now()
    secret, channel_id = None, new_id(16)
    if url is not None:
        check_webhook(url, Reach.parse(deps.settings.import_hosts))
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        sealed = deps.seal.seal(json.dumps({"url": url, "secret": secret}), purpose(channel_id))
        kind, shown = ChannelType.WEBHOOK, shown_url(url)
    else:
        kind, shown, sealed = ChannelType.EMAIL, _email(deps, actor, email or ""), None
    value = Channel(
        id=channel_id, user_id=owner.user_id, project_id=owner.project_id, name=check_name(name, "channel"), type=kind,
        shown=shown, sealed=sealed, kinds=_checked(kinds, project), created_at=now, created_by=actor.name,
    )  # fmt: skip
    try:
        with deps.db.write() as tx:
            if notification_channels.count(tx, owner) >= _MOST_CHANNELS:
                raise Conflict(
                    f"There are {_MOST_CHANNELS} channels already.",
                    hint="Remove one: mill notification channel rm NAME",
                )
            notification_channels.insert(tx, value)
            _audit(tx, deps, actor, project, "channel.add", value)
    except IntegrityError as error:
        raise NameTaken(f"Channel {value.name!r} already exists.", hint="Choose another name.") from error
    return ChannelView(value, secret=secret)


def change(
    deps: Deps, actor: Actor, project: Project | None, name: str, kinds: Collection[NotificationKind]
) -> ChannelView:
    """With other kinds from now on. What is being gathered for it is still sent."""
    with deps.db.write() as tx:
        found = _find(tx, owner_of(actor, project), name)
        notification_channels.set_kinds(tx, found.id, _checked(kinds, project))
        _audit(tx, deps, actor, project, "channel.change", found)
    return get(deps, actor, project, name)


def get(deps: Deps, actor: Actor, project: Project | None, name: str) -> ChannelView:
    with deps.db.read() as tx:
        found = _find(tx, owner_of(actor, project), name)
        return ChannelView(found, notification_deliveries.newest(tx, [found.id]).get(found.id))


def remove(deps: Deps, actor: Actor, project: Project | None, name: str) -> None:
    """What waits for it is not sent."""
    with deps.db.write() as tx:
        found = _find(tx, owner_of(actor, project), name)
        notification_channels.delete(tx, found.id)
        _audit(tx, deps, actor, project, "channel.remove", found)


def test(deps: Deps, actor: Actor, project: Project | None, name: str) -> Outcome:
    """Send a test message now. TooMany if it was tested a moment ago."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        found = _find(tx, owner_of(actor, project), name)
        if not notification_channels.note_test(tx, found.id, now, unless_after=now - _TEST_EVERY):
            raise TooMany(
                f"Channel {name!r} was tested a moment ago.",
                hint=f"Wait {_TEST_EVERY.total_seconds():.0f} seconds and test it again.",
            )
        settings = smtp.get(tx)
    return send_test(deps, found, settings, now=now)


def deliveries(deps: Deps, actor: Actor, project: Project | None, name: str) -> Sequence[Delivery]:
    """The last ones, newest first. Of projects that the caller no longer sees nothing is told."""
    with deps.db.read() as tx:
        found = _find(tx, owner_of(actor, project), name)
        return notification_deliveries.page(tx, found.id, limit=_SHOWN_DELIVERIES)


def _find(tx: Connection, owner: ChannelOwner, name: str) -> Channel:
    found = notification_channels.find(tx, owner, name)
    if found is None:
        raise access.not_found("channel", name, [one.name for one in notification_channels.all_of(tx, owner)])
    return found


def _email(deps: Deps, actor: Actor, address: str) -> str:
    """Empty: the caller's own, where it is known."""
    with deps.db.read() as tx:
        settings = smtp.get(tx)
        user = users.get(tx, actor.user_id) if actor.user_id else None
    known = address or (user.email if user else "")
    if not known:
        raise Invalid("Your e-mail address is not known.", hint="Give one: --email ADDRESS", fields=["email"])
    return check_email(known, domains=settings.domains if settings else ())


def _checked(kinds: Collection[NotificationKind] | None, project: Project | None) -> frozenset[NotificationKind]:
    if kinds is None:
        return USER_KINDS if project is None else PROJECT_KINDS
    if project is not None and any(kind.is_of_server for kind in kinds):
        raise Invalid(
            "Channels of a project are not told of the server's volumes and backups.",
            hint="Site administrators get these on channels of their own.",
            fields=["kinds"],
        )
    return frozenset(kinds)


def _audit(
    tx: Connection, deps: Deps, actor: Actor, project: Project | None, action: str, channel: Channel
) -> None:  # fmt: skip
    audit.record(
        tx, now=deps.clock.now(), actor=actor, action=action,
        subject=f"{project.name}/{channel.name}" if project else channel.name,
        project_id=project.id if project else None, details={"type": channel.type.value, "to": channel.shown},
    )  # fmt: skip
