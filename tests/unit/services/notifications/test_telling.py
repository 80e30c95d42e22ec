"""Notices become notifications and deliveries: once, for those who may know, also after a kill and with two servers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from millpond.db import (
    jobs,
    notices,
    notification_channels,
    notification_deliveries,
    notifications,
    projects,
    users,
    volumes,
)
from millpond.db.notification_channels import ChannelOwner
from millpond.model.job import JobState
from millpond.model.notification import Delivery, Notice, Notification, NotificationKind, Whose
from millpond.model.people import Actor, ActorKind, Role, User
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes
from millpond.services.notifications import channels, inbox, telling, watching
from millpond.settings import Settings
from millpond.testing.builders_work import add_job, add_volume
from millpond.testing.clock import NOON, FakeClock
from millpond.testing.events import FakeEvents
from millpond.testing.postgres import Postgres
from millpond.testing.server import add_user, making_deps

FAILED = NotificationKind.JOB_FAILED


@pytest.fixture
def deps(tmp_path: Path) -> Iterator[Deps]:
    with making_deps(Settings(data_dir=tmp_path), clock=FakeClock(), events=FakeEvents()) as made:
        yield made


@pytest.fixture
def ada(deps: Deps) -> User:
    return add_user(deps, "ada", roles={"default": Role.MEMBER})


def acting(user: User, deps: Deps) -> Actor:
    with deps.db.read() as tx:
        roles = projects.roles_of(tx, user.id)
    return Actor(ActorKind.USER, user.name, user_id=user.id, is_admin=user.is_admin, roles=roles)


def happen(deps: Deps, count: int = 1, *, owner: str = "ada", **changes: Any) -> None:
    with deps.db.write() as tx:
        project = projects.find(tx, "default")
        assert project is not None
        notice = Notice(kind=FAILED, at=deps.clock.now(), title="Job train failed", project_id=project.id, owner=owner)
        notices.insert(tx, *(replace(notice, subject_id=f"job{number}", **changes) for number in range(count)))


def told(deps: Deps, user: User) -> list[Notification]:
    with deps.db.read() as tx:
        return list(notifications.page(tx, user.id, among=None, limit=100))


def add_mail(deps: Deps, user: User, *, project: bool = False) -> str:
    with deps.db.read() as tx:
        scope = projects.find(tx, "default") if project else None
    made = channels.add(
        deps, acting(user, deps), scope, name="mail", email="ada@example.org", url=None, kinds=[FAILED]
    )  # fmt: skip
    return made.channel.id


def deliveries(deps: Deps, channel_id: str) -> list[Delivery]:
    with deps.db.read() as tx:
        return list(notification_deliveries.page(tx, channel_id, limit=100))


def test_a_job_that_fails_is_told_once_to_whom_it_belongs(deps: Deps, ada: User) -> None:
    ben = add_user(deps, "ben", roles={"default": Role.MEMBER})
    job = add_job(deps.db, created_by="ada", state=JobState.RUNNING)
    with deps.db.write() as tx:
        before = jobs.lock(tx, job.id)
        assert before is not None
        after = before.changed(state=JobState.FAILED, ended_at=NOON, reasons=("Exit code 3.",))
        assert job_changes.save(tx, before, after, NOON)
    assert telling.tell_all(deps, NOON) == 1
    assert telling.tell_all(deps, NOON) == 0
    [found] = told(deps, ada)
    assert (found.kind, found.count, found.items[0].text, found.project) == (FAILED, 1, "Exit code 3.", "default")
    assert told(deps, ben) == []


def test_what_a_transaction_takes_back_was_never_told(deps: Deps, ada: User) -> None:
    with pytest.raises(RuntimeError), deps.db.write() as tx:
        notices.insert(tx, Notice(kind=FAILED, at=NOON, title="x", owner="ada"))
        raise RuntimeError
    assert telling.tell_all(deps, NOON) == 0


def test_500_failing_jobs_are_one_notification_and_one_message(deps: Deps, ada: User) -> None:
    mail = add_mail(deps, ada)
    happen(deps, 500)
    assert telling.tell_all(deps, NOON) == 500
    assert [(one.count, len(one.items)) for one in told(deps, ada)] == [(500, 20)]
    assert [(one.count, len(one.items)) for one in deliveries(deps, mail)] == [(500, 20)]


def test_what_comes_after_a_message_began_waits_for_the_next_window(deps: Deps, ada: User) -> None:
    mail = add_mail(deps, ada)
    happen(deps)
    telling.tell_all(deps, NOON)
    with deps.db.write() as tx:
        due = notification_deliveries.due(tx, NOON + timedelta(seconds=3))
        assert due is not None
        assert notification_deliveries.claim(tx, due, "me", now=NOON, until=NOON + timedelta(minutes=3))
    happen(deps, 7)
    telling.tell_all(deps, NOON + timedelta(seconds=4))
    second, first = deliveries(deps, mail)
    assert (first.count, second.count) == (1, 7)
    assert second.due_at == NOON + timedelta(minutes=5)
    # Of one channel the older goes first.
    with deps.db.read() as tx:
        assert notification_deliveries.due(tx, NOON + timedelta(hours=1)) == first.id  # its claim has run out


def test_what_was_read_is_not_joined(deps: Deps, ada: User) -> None:
    happen(deps)
    telling.tell_all(deps, NOON)
    assert inbox.mark_read(deps, acting(ada, deps), None) == 1
    assert inbox.mark_read(deps, acting(ada, deps), None) == 0
    happen(deps, 2)
    telling.tell_all(deps, NOON)
    assert sorted((one.count, one.read_at is None) for one in told(deps, ada)) == [(1, False), (2, True)]


def test_whoever_left_is_told_nothing_and_sees_nothing_of_before(deps: Deps, ada: User) -> None:
    happen(deps)
    telling.tell_all(deps, NOON)
    with deps.db.write() as tx:
        project = projects.find(tx, "default")
        assert project is not None
        projects.remove_member(tx, project.id, ada.id)
    happen(deps, 3)
    telling.tell_all(deps, NOON)
    seen = inbox.list_own(deps, acting(ada, deps), unread=False, project=None, limit=10, cursor=None)
    assert (seen.listing.items, seen.unread) == ([], 0)
    assert [one.count for one in told(deps, ada)] == [1]  # kept, for when they come back


def test_a_user_who_cannot_sign_in_is_told_nothing(deps: Deps, ada: User) -> None:
    mail = add_mail(deps, ada)
    with deps.db.write() as tx:
        users.set_disabled(tx, ada.id, NOON)
    happen(deps)
    assert telling.tell_all(deps, NOON) == 1
    assert (told(deps, ada), deliveries(deps, mail)) == ([], [])


def test_a_project_takes_its_notices_notifications_and_channels_along(deps: Deps, ada: User) -> None:
    mail = add_mail(deps, add_user(deps, "root", is_admin=True), project=True)
    happen(deps)
    telling.tell_all(deps, NOON)
    happen(deps)
    assert deliveries(deps, mail)
    with deps.db.write() as tx:
        project = projects.find(tx, "default")
        assert project is not None
        projects.delete(tx, project.id)
        assert notification_channels.get(tx, mail) is None
    assert telling.tell_all(deps, NOON) == 0
    assert told(deps, ada) == []


def test_a_project_channel_gets_what_happens_there_whoever_caused_it(deps: Deps, ada: User) -> None:
    root = add_user(deps, "root", is_admin=True)
    mail = add_mail(deps, root, project=True)
    happen(deps, owner="ada")
    happen(deps, owner="nobody-known")
    telling.tell_all(deps, NOON)
    assert [one.count for one in deliveries(deps, mail)] == [2]
    assert told(deps, root) == []


def test_choices_hold_for_one_project_or_everywhere(deps: Deps, ada: User) -> None:
    actor = acting(ada, deps)
    inbox.choose(deps, actor, "default", {FAILED: Whose.ALL})
    happen(deps, owner="ben")
    telling.tell_all(deps, NOON)
    assert len(told(deps, ada)) == 1
    inbox.choose(deps, actor, "default", {FAILED: None})
    assert [(one.whose, one.is_chosen) for one in inbox.choices(deps, actor, "default") if one.kind is FAILED] == [
        (Whose.OWN, False)
    ]
    # Volumes and backups are the administrators' matter.
    assert not [one for one in inbox.choices(deps, actor, None) if one.kind.is_of_server]


def test_a_full_disk_is_told_once_until_it_was_well(deps: Deps) -> None:
    root = add_user(deps, "root", is_admin=True)
    volume = add_volume(deps.db, "fast")

    def fill(percent: int) -> int:
        with deps.db.write() as tx:
            volumes.change(tx, volume.id, disk_free_bytes=(100 - percent) * 10**9, disk_total_bytes=100 * 10**9)
        found = watching.look(deps, NOON)
        telling.tell_all(deps, NOON)
        return found

    assert [fill(percent) for percent in (50, 96, 96, 94, 99, 50, 97)] == [0, 1, 0, 0, 0, 0, 1]
    [found] = told(deps, root)
    assert (found.kind, found.count) == (NotificationKind.VOLUME_NEARLY_FULL, 2)


def test_pages_hear_that_something_came(deps: Deps, ada: User) -> None:
    happen(deps)
    telling.tell_all(deps, NOON)
    assert isinstance(deps.events, FakeEvents)
    assert f"notifications:{ada.id}" in [topic for topic, _, _ in deps.events.published]


def test_two_servers_tell_each_notice_once(postgres: Postgres, tmp_path: Path) -> None:
    with postgres.database() as url:
        settings = Settings(data_dir=tmp_path, database_url=url)
        with making_deps(settings, clock=FakeClock()) as one, making_deps(settings, clock=FakeClock()) as other:
            ada = add_user(one, "ada", roles={"default": Role.MEMBER})
            mail = add_mail(one, ada)
            happen(one, 600)
            threads = [
                threading.Thread(target=telling.tell_all, args=(deps, NOON)) for deps in (one, other, one, other)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sum(found.count for found in told(one, ada)) == 600
            assert sum(found.count for found in deliveries(one, mail)) == 600
            with one.db.read() as tx:
                assert notices.is_empty(tx)
                assert notification_channels.count(tx, ChannelOwner(user_id=ada.id)) == 1
