"""Sends one message to one channel, whichever type it has; and test messages."""

from __future__ import annotations

import json
from datetime import datetime

from millpond.decide.allowed_addresses import Reach
from millpond.decide.notifications import messages
from millpond.decide.notifications.addresses import check_email
from millpond.decide.notifications.messages import Email
from millpond.errors import Invalid
from millpond.model.ids import new_id
from millpond.model.notification import Channel, ChannelType, Delivery, SmtpSettings
from millpond.services.deps import Deps
from millpond.services.notifications import email, webhook
from millpond.services.notifications.outcome import Outcome

_NO_SMTP = Outcome(
    problem="This server sends no e-mail yet.",
    hint="A site administrator can set the mail server: mill notification smtp set HOST --from ADDRESS",
)


def purpose(channel_id: str) -> str:
    """What the URL and the secret of a webhook are sealed for."""
    return f"channel {channel_id}"


def smtp_purpose() -> str:
    return "smtp password"


def send_delivery(
    deps: Deps, channel: Channel, delivery: Delivery, settings: SmtpSettings | None, *, now: datetime
) -> Outcome:
    """Never inside a transaction. Unavailable if what is sealed cannot be opened."""
    server = deps.settings.url
    if channel.type is ChannelType.EMAIL:
        mail = messages.email_of(delivery, server=server)
        return send_email(deps, settings, mail, to=channel.shown, message_id=delivery.id, now=now)
    return _call(deps, channel, messages.document_of(delivery, server=server), delivery.id, now)


def send_test(deps: Deps, channel: Channel, settings: SmtpSettings | None, *, now: datetime) -> Outcome:
    """Never inside a transaction."""
    server, message_id = deps.settings.url, new_id(16)
    if channel.type is ChannelType.EMAIL:
        mail = messages.test_email(server=server)
        return send_email(deps, settings, mail, to=channel.shown, message_id=message_id, now=now)
    return _call(deps, channel, messages.test_document(message_id, server=server, now=now), message_id, now)


def send_email(
    deps: Deps, settings: SmtpSettings | None, mail: Email, *, to: str, message_id: str, now: datetime
) -> Outcome:
    if settings is None:
        return _NO_SMTP
    try:
        address = check_email(to, domains=settings.domains)
        message = email.written(mail, settings, to=address, message_id=message_id, now=now)
    except Invalid as error:
        return Outcome(problem=error.message, hint=error.hint, is_final=True)
    except ValueError as error:
        return Outcome(problem=f"The message cannot be written: {error}.", is_final=True)
    password = None if settings.password is None else deps.seal.open(settings.password, smtp_purpose())
    return email.send(message, settings, password)


def _call(deps: Deps, channel: Channel, document: object, message_id: str, now: datetime) -> Outcome:
    opened = json.loads(deps.seal.open(channel.sealed or b"", purpose(channel.id)))
    reach = Reach.parse(deps.settings.import_hosts)
    assert isinstance(document, dict)
    return webhook.call(reach, opened["url"], opened["secret"], document, delivery_id=message_id, now=now)
