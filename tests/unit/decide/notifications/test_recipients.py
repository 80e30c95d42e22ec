"""Who is told what: defaults, choices, projects that somebody left, and channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from millpond.decide.notifications.recipients import DEFAULTS, Person, channels_of, recipients
from millpond.model.notification import Channel, ChannelType, Notice, NotificationKind, Whose
from millpond.testing.clock import NOON

FAILED, SUCCEEDED, DRIFT = (
    NotificationKind.JOB_FAILED, NotificationKind.JOB_SUCCEEDED, NotificationKind.ENDPOINT_DRIFTING,
)  # fmt: skip
BACKUP = NotificationKind.BACKUP_FAILED
VISION = "vision-id"


def notice(kind: NotificationKind = FAILED, *, owner: str | None = "ada", project_id: str | None = VISION) -> Notice:
    return Notice(kind=kind, at=NOON, title="Job train failed", project_id=project_id, owner=owner, subject_id="job1")


def person(
    name: str = "ada", *, member: bool = True, is_admin: bool = False,
    everywhere: Mapping[NotificationKind, Whose] = {}, there: Mapping[NotificationKind, Whose] = {},
) -> Person:  # fmt: skip
    choices = {("", kind): whose for kind, whose in everywhere.items()}
    choices |= {(VISION, kind): whose for kind, whose in there.items()}
    return Person(f"{name}-id", name, is_admin, frozenset({VISION} if member else ()), choices)


ADA, BEN = person("ada"), person("ben")


@pytest.mark.parametrize(
    ("told", "someone", "is_told"),
    [
        (notice(), ADA, True),
        (notice(), BEN, False),  # of others' nobody is told who did not ask
        (notice(SUCCEEDED), ADA, False),
        (notice(SUCCEEDED), person(everywhere={SUCCEEDED: Whose.OWN}), True),
        (notice(), person(everywhere={FAILED: Whose.OFF}), False),
        (notice(), person("ben", everywhere={FAILED: Whose.ALL}), True),
        # The choice for a project comes before that for everywhere.
        (notice(), person(everywhere={FAILED: Whose.ALL}, there={FAILED: Whose.OFF}), False),
        (notice(), person("ben", everywhere={FAILED: Whose.OFF}, there={FAILED: Whose.ALL}), True),
        # Whoever has left the project is told of nothing there, not even of their own.
        (notice(), person(member=False), False),
        (notice(), person("ben", member=False, there={FAILED: Whose.ALL}), False),
        # Site administrators see every project, and follow what they chose or belong to.
        (notice(owner="root"), person("root", member=False, is_admin=True), True),
        (notice(), person("root", member=False, is_admin=True, everywhere={FAILED: Whose.ALL}), False),
        (notice(), person("root", member=False, is_admin=True, there={FAILED: Whose.ALL}), True),
        # What is of the server is for its administrators.
        (notice(BACKUP, owner=None, project_id=None), person("root", is_admin=True), True),
        (notice(BACKUP, owner=None, project_id=None), ADA, False),
        (notice(BACKUP, owner=None, project_id=None), person("root", is_admin=True, everywhere={BACKUP: Whose.OFF}),
         False),
        # By id rather than name, where that is known.
        (replace(notice(DRIFT, owner=None), owner_id="ada-id"), ADA, True),
        (replace(notice(DRIFT, owner="ada"), owner_id="ben-id"), ADA, False),
    ],
)  # fmt: skip
def test_who_is_told(told: Notice, someone: Person, is_told: bool) -> None:
    assert [one.person for one in recipients(told, [someone])] == ([someone] if is_told else [])


def test_every_kind_has_a_default() -> None:
    assert DEFAULTS.keys() == set(NotificationKind)


def channel(name: str, *, user: str | None = None, project: str | None = None, kinds: object = (FAILED,)) -> Channel:
    assert isinstance(kinds, tuple)
    return Channel(
        id=name, user_id=user, project_id=project, name=name, type=ChannelType.EMAIL, shown="a@b.example", sealed=None,
        kinds=frozenset(kinds), created_at=NOON, created_by="ada",
    )  # fmt: skip


def test_channels_of_those_who_are_told_and_of_the_project_want_the_kind() -> None:
    known = [
        channel("mine", user="ada-id"),
        channel("mine-for-drift", user="ada-id", kinds=(DRIFT,)),
        channel("bens", user="ben-id"),
        channel("team", project=VISION),
        channel("other-team", project="speech-id"),
        channel("job1", project=VISION),  # what it is about
    ]
    assert [one.name for one in channels_of(notice(), {"ada-id"}, known)] == ["mine", "team"]
