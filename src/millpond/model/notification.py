"""Notifications: what happened (a notice), what one person is told of it, and what channels send elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

# Of what one notification or delivery stands for, so many are listed; the rest is counted.
LISTED_ITEMS = 20
MOST_TITLE, MOST_TEXT, MOST_LINK = 300, 2000, 500
SCHEMA = "millpond.notification/1"


class NotificationKind(StrEnum):
    JOB_FAILED = "job-failed"
    JOB_SUCCEEDED = "job-succeeded"
    JOB_PREEMPTED = "job-preempted"
    CACHE_REFUSED = "cache-refused"
    SOURCE_FAILING = "source-failing"
    MIRROR_FAILING = "mirror-failing"
    ENDPOINT_DRIFTING = "endpoint-drifting"
    VOLUME_NEARLY_FULL = "volume-nearly-full"
    BACKUP_FAILED = "backup-failed"
    CHANNEL_FAILING = "channel-failing"

    @property
    def is_of_server(self) -> bool:
        """True if it concerns site administrators, whatever their projects."""
        return self in (NotificationKind.VOLUME_NEARLY_FULL, NotificationKind.BACKUP_FAILED)


class Whose(StrEnum):
    """Of a kind, what somebody wants to be told: nothing, of what is their own, or of everybody's in their projects."""

    OFF = "off"
    OWN = "own"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something that happened, written in the transaction in which it did, and removed once people were told.

    Whose it is: the user of the name `owner`, or of the id `owner_id`.
    """

    kind: NotificationKind
    at: datetime
    title: str
    text: str = ""
    # A path of the page.
    link: str = "/"
    project_id: str | None = None
    # The id of the job, source, volume … that it is about.
    subject_id: str = ""
    owner: str | None = None
    owner_id: str | None = None
    id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationItem:
    """One notice, as it is listed in a notification or a delivery."""

    kind: NotificationKind
    at: datetime
    title: str
    text: str
    link: str
    project_id: str | None
    project: str | None
    subject_id: str

    def document(self) -> dict[str, Any]:
        return {
            "kind": self.kind.value, "at": self.at.isoformat(), "title": self.title, "text": self.text,
            "link": self.link, "project_id": self.project_id, "project": self.project, "subject_id": self.subject_id,
        }  # fmt: skip

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> NotificationItem:
        known = dict(document)
        known["kind"] = NotificationKind(known["kind"])
        known["at"] = datetime.fromisoformat(known["at"])
        return cls(**known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """One message to one user. What is alike and comes within a while is one of them: `count` says of how many."""

    id: str
    user_id: str
    kind: NotificationKind
    project_id: str | None
    project: str | None
    count: int
    # The first of them.
    items: Sequence[NotificationItem]
    began_at: datetime
    # When the newest of them happened.
    at: datetime
    read_at: datetime | None = None


class ChannelType(StrEnum):
    EMAIL = "email"
    WEBHOOK = "webhook"


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A way out of the server, of a user or of a project, with the kinds it wants."""

    id: str
    user_id: str | None
    project_id: str | None
    name: str
    type: ChannelType
    # The address of a mailbox; of a webhook the beginning of its URL, for the rest of it may be a secret.
    shown: str
    # Of a webhook: its URL and its secret.
    sealed: bytes | None
    kinds: frozenset[NotificationKind]
    created_at: datetime
    created_by: str
    tested_at: datetime | None = None


class DeliveryState(StrEnum):
    WAITING = "waiting"
    SENT = "sent"
    GAVE_UP = "gave-up"
    # Nobody may be told of it any more.
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One message to one channel: all that happened for it within a while."""

    id: str
    channel_id: str
    state: DeliveryState
    items: Sequence[NotificationItem]
    # How many of each kind and project (its id, if any).
    counts: Mapping[tuple[NotificationKind, str | None], int]
    created_at: datetime
    # When it is sent, or sent again.
    due_at: datetime
    attempts: int = 0
    tried_at: datetime | None = None
    ended_at: datetime | None = None
    # What a webhook or a mail server answered last.
    status: int | None = None
    problem: str | None = None
    runner: str | None = None

    @property
    def count(self) -> int:
        return sum(self.counts.values())


class SmtpTls(StrEnum):
    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtpSettings:
    """How this server sends e-mail. `password` is sealed."""

    host: str
    port: int
    tls: SmtpTls
    sender: str
    user: str | None = None
    password: bytes | None = None
    # Domains that e-mail may go to; none: any.
    domains: tuple[str, ...] = ()
    set_by: str = ""
    set_at: datetime | None = None
