"""Who is told of a notice, and why; and which channels it leaves by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from millpond.model.notification import Channel, Notice, NotificationKind, Whose

# The place of a choice that holds wherever a project has none of its own.
EVERYWHERE = ""

DEFAULTS: Mapping[NotificationKind, Whose] = {
    NotificationKind.JOB_FAILED: Whose.OWN,
    NotificationKind.JOB_SUCCEEDED: Whose.OFF,
    NotificationKind.JOB_PREEMPTED: Whose.OWN,
    NotificationKind.CACHE_REFUSED: Whose.OWN,
    NotificationKind.SOURCE_FAILING: Whose.OWN,
    NotificationKind.MIRROR_FAILING: Whose.OWN,
    NotificationKind.ENDPOINT_DRIFTING: Whose.OWN,
    NotificationKind.VOLUME_NEARLY_FULL: Whose.ALL,
    NotificationKind.BACKUP_FAILED: Whose.ALL,
    NotificationKind.CHANNEL_FAILING: Whose.OWN,
}
# What a new channel of a user wants: all that the user is told; of a project: what calls for somebody.
USER_KINDS = frozenset(NotificationKind)
PROJECT_KINDS = frozenset(
    kind
    for kind in NotificationKind
    if not kind.is_of_server and kind not in (NotificationKind.JOB_SUCCEEDED, NotificationKind.JOB_PREEMPTED)
)


@dataclass(frozen=True, slots=True)
class Person:
    """A user who can sign in. `projects` are those in which they have a role of their own."""

    id: str
    name: str
    is_admin: bool = False
    projects: frozenset[str] = frozenset()
    # By place and kind.
    choices: Mapping[tuple[str, NotificationKind], Whose] = field(default_factory=dict)

    def sees(self, project_id: str | None) -> bool:
        return project_id is None or self.is_admin or project_id in self.projects


@dataclass(frozen=True, slots=True)
class Recipient:
    person: Person
    reason: str


def whose(person: Person, kind: NotificationKind, project_id: str | None) -> Whose:
    """What they chose for the project, else everywhere, else what holds without a choice."""
    if project_id is not None and (chosen := person.choices.get((project_id, kind))) is not None:
        return chosen
    return person.choices.get((EVERYWHERE, kind), DEFAULTS[kind])


def recipients(notice: Notice, people: Iterable[Person]) -> Sequence[Recipient]:
    """Nobody is told of a project that they do not see now, whatever they chose before."""
    found = []
    for person in people:
        reason = _reason(notice, person)
        if reason is not None:
            found.append(Recipient(person, reason))
    return found


def channels_of(notice: Notice, told: Collection[str], channels: Iterable[Channel]) -> Sequence[Channel]:
    """Those of the users who are told, and of the project, that want the kind. None tells of its own failure."""
    return [
        one
        for one in channels
        if notice.kind in one.kinds
        and notice.subject_id != one.id
        and (one.user_id in told if one.user_id is not None else one.project_id == notice.project_id)
    ]


def _reason(notice: Notice, person: Person) -> str | None:
    if not person.sees(notice.project_id):
        return None
    chosen = whose(person, notice.kind, notice.project_id)
    if chosen is Whose.OFF:
        return None
    if notice.kind.is_of_server:
        return "You are a site administrator." if person.is_admin else None
    if person.id == notice.owner_id or (notice.owner_id is None and person.name == notice.owner):
        return "It is yours."
    if chosen is Whose.OWN or notice.project_id is None:
        return None
    # A site administrator sees every project, but follows those they chose or belong to.
    follows = notice.project_id in person.projects or (notice.project_id, notice.kind) in person.choices
    return "You follow all of the project." if follows else None
