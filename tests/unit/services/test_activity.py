from __future__ import annotations

from millpond.model.people import SYSTEM, Role
from millpond.services import activity
from millpond.services.jobs import jobs
from millpond.services.people import audit, projects
from millpond.testing.builders_work import add_job
from tests.unit.services.world import World


def seen(world: World, name: str, role: Role | None, **asked: str) -> list[tuple[str, str]]:
    found = activity.latest(world.deps, world.actor(name, role), project=asked.get("project"), limit=50)
    return [(item.action, item.subject) for item in found]


def note(world: World, action: str, project_id: str | None) -> None:
    with world.deps.db.write() as tx:
        audit.record(tx, now=world.clock.now(), actor=SYSTEM, action=action, subject="it", project_id=project_id)


def test_changes_and_endings_newest_first(world: World) -> None:
    job = world.submit("train")
    world.clock.advance(60)
    jobs.stop(world.deps, world.maria, world.project, "train")
    found = activity.latest(world.deps, world.maria, project=None, limit=3)
    assert {item.action for item in found[:2]} == {"job.stop", "job.cancelled"}
    assert found[2].action == "job.submit"
    assert {item.job_id for item in found} == {job.id}
    assert [item.at for item in found] == sorted((item.at for item in found), reverse=True)


def test_nothing_of_other_projects_and_nothing_private(world: World) -> None:
    other = projects.create(world.deps, SYSTEM, name="other")
    add_job(world.deps.db, project="other", name="hidden")
    for action in ("dataset.create", "secret.set"):
        note(world, action, other.id)
    for action in ("session.create", "token.create", "user.create", "volume.create"):
        note(world, action, None)
    shown = seen(world, "jonas", Role.VIEWER)
    assert ("volume.create", "it") in shown
    assert not {"dataset.create", "secret.set", "session.create", "token.create", "user.create"} & dict(shown).keys()
    assert ("dataset.create", "it") in [
        (item.action, item.subject) for item in activity.latest(world.deps, SYSTEM, project="other", limit=9)
    ]


def test_of_one_project_alone(world: World) -> None:
    world.submit("train")
    note(world, "site.create", None)
    assert "site.create" not in dict(seen(world, "jonas", Role.VIEWER, project="default"))
