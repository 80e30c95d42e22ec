"""Notifications of the caller, what they want to be told, their channels, and the server's way to send e-mail."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from millpond.api.access import DepsOf, SignedIn, SiteAdmin
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit
from millpond.api.shapes import notifications as shapes
from millpond.errors import NotFound
from millpond.services.notifications import channels, inbox, smtp_server
from millpond.services.notifications.smtp_server import SmtpWanted
from millpond.wire import notifications as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/notifications", tags=["notifications"])
InProject = Annotated[str | None, Query(max_length=63, description="Only of this project.")]


@router.get("")
def list_notifications(
    actor: SignedIn, deps: DepsOf, unread: bool = False, project: InProject = None, limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> wire.NotificationPage:  # fmt: skip
    """Your notifications, newest first, and how many are unread."""
    found = inbox.list_own(deps, actor, unread=unread, project=project, limit=limit, cursor=cursor)
    items = [shapes.notification(one) for one in found.listing.items]
    return wire.NotificationPage(items=items, next=found.listing.next, unread=found.unread)


@router.post("/read")
def mark_notifications_read(body: wire.MarkRead, actor: SignedIn, deps: DepsOf) -> wire.MarkedRead:
    return wire.MarkedRead(marked=inbox.mark_read(deps, actor, body.ids))


@router.get("/choices")
def list_notification_choices(actor: SignedIn, deps: DepsOf, project: InProject = None) -> wire.Choices:
    """What you are told of each kind: everywhere, or in one project."""
    return shapes.choices(inbox.choices(deps, actor, project))


@router.patch("/choices")
def change_notification_choices(body: wire.ChoicesChange, actor: SignedIn, deps: DepsOf) -> wire.Choices:
    return shapes.choices(inbox.choose(deps, actor, body.project, body.choices))


@router.get("/channels")
def list_own_channels(actor: SignedIn, deps: DepsOf) -> Page[wire.Channel]:
    found = channels.list_all(deps, channels.owner_of(actor, None))
    return Page(items=[shapes.channel(one, None) for one in found])


@router.post("/channels", status_code=201)
def add_own_channel(body: wire.ChannelCreate, actor: SignedIn, deps: DepsOf) -> wire.ChannelCreated:
    """The secret of a webhook is in this answer, and is not shown again."""
    made = channels.add(
        deps, actor, None, name=body.name, email=body.email, url=body.webhook, kinds=body.kinds
    )  # fmt: skip
    return shapes.created(made, None)


@router.patch("/channels/{channel}")
def change_own_channel(channel: str, body: wire.ChannelChange, actor: SignedIn, deps: DepsOf) -> wire.Channel:
    return shapes.channel(channels.change(deps, actor, None, channel, body.kinds), None)


@router.delete("/channels/{channel}", status_code=204)
def remove_own_channel(channel: str, actor: SignedIn, deps: DepsOf) -> None:
    """What waits for it is not sent."""
    channels.remove(deps, actor, None, channel)


@router.post("/channels/{channel}/test")
def test_own_channel(channel: str, actor: SignedIn, deps: DepsOf) -> wire.TestResult:
    """Send a test message now."""
    return shapes.tested(channels.test(deps, actor, None, channel))


@router.get("/channels/{channel}/deliveries")
def list_own_deliveries(channel: str, actor: SignedIn, deps: DepsOf) -> Page[wire.Delivery]:
    """The last 50, newest first."""
    return Page(items=[shapes.delivery(one) for one in channels.deliveries(deps, actor, None, channel)])


@router.get("/smtp")
def get_smtp(actor: SiteAdmin, deps: DepsOf) -> wire.Smtp:
    """The mail server that e-mail is sent by."""
    found = smtp_server.get(deps)
    if found is None:
        hint = "Set one: mill notification smtp set HOST --from ADDRESS"
        raise NotFound("No mail server is set.", hint=hint, noun="mail server")
    return shapes.smtp(found)


@router.put("/smtp")
def set_smtp(body: wire.SmtpSet, actor: SiteAdmin, deps: DepsOf) -> wire.Smtp:
    """The password is encrypted and never shown again."""
    wanted = SmtpWanted(
        host=body.host, sender=body.sender, port=body.port, tls=body.tls, user=body.user, password=body.password,
        domains=tuple(body.domains),
    )  # fmt: skip
    return shapes.smtp(smtp_server.put(deps, actor, wanted))


@router.delete("/smtp", status_code=204)
def remove_smtp(actor: SiteAdmin, deps: DepsOf) -> None:
    smtp_server.remove(deps, actor)


@router.post("/smtp/test")
def test_smtp(body: wire.SmtpTest, actor: SiteAdmin, deps: DepsOf) -> wire.TestResult:
    """Send a test message to an address now."""
    return shapes.tested(smtp_server.test(deps, actor, body.to))
