"""Mounts: named by administrators, allowed by project, asked for by jobs."""

from __future__ import annotations

import pytest

from millpond.errors import BadRequest, DoesNotFit, Forbidden, InUse, Invalid, MillError, NameTaken, NotFound
from millpond.model.job_spec import JobMount
from millpond.model.people import SYSTEM
from millpond.services.jobs import jobs
from millpond.services.people import projects
from millpond.services.places import mounts
from millpond.testing.builders_work import add_site
from tests.unit.services.world import World


def test_a_job_mounts_what_its_project_may(world: World) -> None:
    mounts.add(world.deps, SYSTEM, "scratch", "/mnt/scratch/", project_names=["default"])
    by_name = world.submit(mounts=["scratch:/workspace"])
    by_path = world.submit(mounts=["/mnt/scratch:/workspace:ro"])
    assert by_name.spec.mounts == (JobMount("scratch", "/workspace"),)
    assert by_path.spec.mounts == (JobMount("scratch", "/workspace", read_only=True),)


def test_a_read_only_mount_stays_so_whatever_the_job_asks(world: World) -> None:
    mounts.add(world.deps, SYSTEM, "models", "/mnt/models", read_only=True, all_projects=True)
    assert world.submit(mounts=["models:/models:rw"]).spec.mounts[0].read_only


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ("scratch:/workspace", NotFound, "mill mount allow scratch default"),
        ("no-such:/workspace", NotFound, "mill mount allow no-such default"),
        ("/mnt/scratch:/workspace", Forbidden, "mill mount add NAME /mnt/scratch --allow default"),
        ("/mnt/open/below:/workspace", Forbidden, "They can mount: /mnt/open."),
        ("open:/etc/cron.d", Invalid, "/workspace"),
        ("open:/", Invalid, "like /mnt/shared"),
        ("open:/a/../etc", Invalid, "like /mnt/shared"),
        ("open:relative", Invalid, "NAME:/path"),
        ("/mnt/open/../scratch:/x", Invalid, "like /mnt/shared"),
    ],
)
def test_what_a_project_may_not_mount_is_refused_with_what_to_ask(
    world: World, asked: str, error: type[MillError], words: str
) -> None:
    mounts.add(world.deps, SYSTEM, "scratch", "/mnt/scratch")
    mounts.add(world.deps, SYSTEM, "open", "/mnt/open", all_projects=True)
    with pytest.raises(error) as caught:
        world.submit(mounts=[asked])
    assert words in (caught.value.hint or "")


def test_two_mounts_cannot_have_one_path(world: World) -> None:
    for name in ("a", "b"):
        mounts.add(world.deps, SYSTEM, name, f"/mnt/{name}", all_projects=True)
    with pytest.raises(BadRequest, match="same path: /x"):
        world.submit(mounts=["a:/x", "b:/x"])


def test_allowing_and_denying_is_audited_and_repeatable(world: World) -> None:
    projects.create(world.deps, SYSTEM, name="vision")
    mounts.add(world.deps, SYSTEM, "scratch", "/mnt/scratch")
    for _ in range(2):
        mounts.allow(world.deps, SYSTEM, "scratch", ["default", "vision"], everyone=False)
    mounts.deny(world.deps, SYSTEM, "scratch", ["vision"], everyone=False)
    ((found, names),) = mounts.list_all(world.deps, SYSTEM)
    assert (list(names), found.all_projects) == (["default"], False)
    assert [one.name for one, _ in mounts.list_all(world.deps, world.maria)] == ["scratch"]
    mounts.deny(world.deps, SYSTEM, "scratch", [], everyone=True)
    assert mounts.list_all(world.deps, world.maria) == []
    with pytest.raises(NotFound, match="project 'visoin'") as caught:
        mounts.allow(world.deps, SYSTEM, "scratch", ["visoin"], everyone=False)
    assert "vision" in (caught.value.hint or "")
    with pytest.raises(NameTaken):
        mounts.add(world.deps, SYSTEM, "scratch", "/elsewhere")


def test_a_mount_in_use_is_not_removed(world: World) -> None:
    mounts.add(world.deps, SYSTEM, "scratch", "/mnt/scratch", all_projects=True)
    job = world.submit("train", mounts=["scratch:/x"])
    with pytest.raises(InUse, match="default/train"):
        mounts.remove(world.deps, SYSTEM, "scratch")
    jobs.stop(world.deps, world.maria, world.project, job.id)
    mounts.remove(world.deps, SYSTEM, "scratch")
    with pytest.raises(NotFound):
        mounts.remove(world.deps, SYSTEM, "scratch")


def test_a_mount_of_a_site_keeps_its_jobs_there(world: World) -> None:
    world.sync()
    with world.deps.db.write() as tx:
        add_site(tx, "far")
    mounts.add(world.deps, SYSTEM, "far-away", "/mnt/far", site="far", all_projects=True)
    with pytest.raises(DoesNotFit, match="site of the mount far-away"):
        world.submit(mounts=["far-away:/x"])
    with pytest.raises(NotFound, match="site 'fra'"):
        mounts.add(world.deps, SYSTEM, "other", "/mnt/other", site="fra")
