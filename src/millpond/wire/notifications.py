"""Notifications, what one wants to be told, channels and what they delivered, and the mail server."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from millpond.model.notification import ChannelType, DeliveryState, NotificationKind, SmtpTls, Whose
from millpond.wire.base import Page, Request, Response, Time

_Short = Annotated[str, Field(max_length=320)]


class NotificationItem(Response):
    """One thing that happened. `link` is a path of the page."""

    kind: NotificationKind
    project: str | None
    subject: str
    title: str
    text: str
    link: str
    at: Time


class Notification(Response):
    """What is alike and comes within an hour is one: `count` says of how many, `items` are the first 20."""

    id: str
    kind: NotificationKind
    project: str | None
    title: str
    count: int
    items: list[NotificationItem]
    at: Time
    read_at: Time | None


class NotificationPage(Page[Notification]):
    """`unread` counts all that are unread, not only those of this page."""

    unread: int


class MarkRead(Request):
    """Those with these ids; null means all."""

    ids: Annotated[list[Annotated[str, Field(max_length=32)]], Field(max_length=1000)] | None = None


class MarkedRead(Response):
    marked: int


class Choice(Response):
    """What is told of a kind: nothing, of one's own, or of everybody's. `project` null: wherever none was chosen."""

    kind: NotificationKind
    label: str
    project: str | None
    whose: Whose
    is_chosen: bool


class Choices(Response):
    items: list[Choice]


class ChoicesChange(Request):
    """By kind; null goes back to what holds without a choice."""

    project: Annotated[str, Field(max_length=63)] | None = None
    choices: dict[NotificationKind, Whose | None]


class ChannelCreate(Request):
    """Either `email`, empty for one's own address, or `webhook`, a URL. `kinds` null: the usual ones."""

    name: Annotated[str, Field(max_length=63)]
    email: _Short | None = None
    webhook: Annotated[str, Field(max_length=2000)] | None = None
    kinds: list[NotificationKind] | None = None


class ChannelChange(Request):
    kinds: list[NotificationKind]


class Delivery(Response):
    """One message to a channel. `status` is what the other side answered last."""

    id: str
    state: DeliveryState
    count: int
    title: str
    created_at: Time
    due_at: Time
    attempts: int
    tried_at: Time | None
    ended_at: Time | None
    status: int | None
    problem: str | None


class Channel(Response):
    """`to` is the address; of a webhook only the beginning of its URL. `last` is the delivery that was tried last."""

    id: str
    name: str
    project: str | None
    type: ChannelType
    to: str
    kinds: list[NotificationKind]
    created_at: Time
    created_by: str
    last: Delivery | None


class ChannelCreated(Channel):
    """`secret` signs what a webhook gets. It is not shown again."""

    secret: str | None


class TestResult(Response):
    """Whether a test message was taken, and if not, why."""

    # pytest would collect it where a test imports it.
    __test__ = False

    works: bool
    status: int | None
    problem: str | None
    hint: str | None


class SmtpSet(Request):
    """`port` null: the usual one. `password` null: it stays, as long as host and user do. `domains`: where e-mail may
    go; none means anywhere."""

    host: Annotated[str, Field(max_length=253)]
    sender: _Short
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    tls: SmtpTls = SmtpTls.STARTTLS
    user: _Short | None = None
    password: Annotated[str, Field(max_length=1000)] | None = None
    domains: Annotated[list[Annotated[str, Field(max_length=253)]], Field(max_length=100)] = []


class SmtpTest(Request):
    to: _Short


class Smtp(Response):
    """The password is never shown."""

    host: str
    port: int
    tls: SmtpTls
    sender: str
    user: str | None
    has_password: bool
    domains: list[str]
    set_by: str
    set_at: Time | None
