"""A user's notifications and choices: read, marked, changed by themselves alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from millpond.db import notification_people, notifications
from millpond.decide.notifications.recipients import EVERYWHERE, Person, whose
from millpond.errors import Forbidden, Invalid
from millpond.model.notification import Notification, NotificationKind, Whose
from millpond.model.people import Actor
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of
from millpond.services.notifications.topics import tell_pages
from millpond.services.people import access
from millpond.services.time_cursors import moment_of, written_moment


@dataclass(frozen=True, slots=True)
class Inbox:
    listing: Listing[Notification]
    unread: int


@dataclass(frozen=True, slots=True)
class Choice:
    """What somebody is told of a kind. `project` None: wherever a project has no choice of its own."""

    kind: NotificationKind
    project: str | None
    whose: Whose
    # False where nothing was chosen.
    is_chosen: bool


def list_own(
    deps: Deps, actor: Actor, *, unread: bool, project: str | None, limit: int, cursor: str | None
) -> Inbox:  # fmt: skip
    """Newest first. Of projects that the user sees no more nothing is shown."""
    user_id, among = _user(actor), access.visible_projects(actor)
    with deps.db.read() as tx:
        project_id = access.find_project(tx, actor, project).id if project is not None else None
        found = notifications.page(
            tx, user_id, among=among, limit=limit + 1, unread=unread, project_id=project_id, before=moment_of(cursor)
        )
        count = notifications.unread(tx, user_id, among=among)
    return Inbox(page_of(found, limit, key=lambda one: written_moment(one.at, one.id)), count)


def mark_read(deps: Deps, actor: Actor, ids: Collection[str] | None) -> int:
    """Those with these ids, or all; how many were unread. Ids of others' are none of the user's."""
    user_id, now = _user(actor), deps.clock.now()
    with deps.db.write() as tx:
        count = notifications.mark_read(tx, user_id, now, ids=ids)
    if count:
        tell_pages(deps, user_id)
    return count


def choices(deps: Deps, actor: Actor, project: str | None) -> Sequence[Choice]:
    """Of each kind what the user is told: everywhere, or in one project."""
    with deps.db.read() as tx:
        person, place = _person(tx, actor), _place(tx, actor, project)
    return [_choice(person, kind, project, place) for kind in _kinds(actor, project)]


def choose(
    deps: Deps, actor: Actor, project: str | None, wanted: Mapping[NotificationKind, Whose | None]
) -> Sequence[Choice]:
    """None: as without a choice."""
    with deps.db.write() as tx:
        person, place = _person(tx, actor), _place(tx, actor, project)
        for kind, chosen in wanted.items():
            _check(actor, kind, chosen, project)
            notifications.choose(tx, person.id, place, kind, chosen)
    return choices(deps, actor, project)


def _choice(person: Person, kind: NotificationKind, project: str | None, place: str) -> Choice:
    chosen = whose(person, kind, place or None)
    return Choice(kind, project, chosen, (place, kind) in person.choices)


def _kinds(actor: Actor, project: str | None) -> Sequence[NotificationKind]:
    return [kind for kind in NotificationKind if not kind.is_of_server or (actor.is_admin and project is None)]


def _check(actor: Actor, kind: NotificationKind, chosen: Whose | None, project: str | None) -> None:
    if kind not in _kinds(actor, project):
        raise Invalid(f"{kind.value} is told to site administrators, and of no project.", fields=["choices"])
    nobody_owns = kind.is_of_server and chosen is Whose.OWN
    only_own = kind is NotificationKind.CHANNEL_FAILING and chosen is Whose.ALL
    if nobody_owns or only_own:
        other = Whose.ALL if nobody_owns else Whose.OWN
        raise Invalid(
            f"{kind.value} cannot be {chosen.value if chosen else ''}.",
            hint=f"Choose {other.value} or {Whose.OFF.value}.",
            fields=["choices"],
        )


def _place(tx: Connection, actor: Actor, project: str | None) -> str:
    return access.find_project(tx, actor, project).id if project is not None else EVERYWHERE


def _person(tx: Connection, actor: Actor) -> Person:
    user_id = _user(actor)
    return notification_people.person(tx, user_id) or Person(user_id, actor.name)


def _user(actor: Actor) -> str:
    if actor.user_id is None:
        raise Forbidden("Only users have notifications.")
    return actor.user_id
