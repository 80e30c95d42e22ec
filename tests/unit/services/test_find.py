"""Search finds every noun by name or id, the best matches first, and nothing of projects the actor has no role in."""

from __future__ import annotations

from typing import Any

from sqlalchemy import event, text

from millpond.model.dataset import DatasetKind
from millpond.model.find import FindText
from millpond.model.people import SYSTEM, Actor, Role
from millpond.services import find
from millpond.services.people import projects
from millpond.testing.builders_work import add_commit, add_job, add_site
from tests.unit.services.world import World


def found(world: World, actor: Actor, written: str, limit: int = 50) -> list[tuple[str, str]]:
    return [(item.noun.value, item.name) for item in find.find(world.deps, actor, written, limit=limit)]


def test_how_a_text_is_read() -> None:
    assert FindText.parse("  Train  NET ").words == ("train", "net")
    assert FindText.parse("vision/xray") == FindText(("xray",), project="vision")
    assert FindText.parse("train#12") == FindText(("train",), number=12)
    assert FindText.parse("0a1b2c").id_prefix == "0a1b2c"
    assert FindText.parse("ab").id_prefix is None
    assert FindText.parse("  ").is_empty


def test_every_noun_by_a_part_of_its_name(world: World) -> None:
    with world.deps.db.write() as tx:
        add_site(tx, "xray-lab")
    commit = add_commit(world.deps.db, "xray")
    world.submit("train-xray")
    shown = found(world, world.maria, "xray")
    assert shown[0] == ("dataset", "xray")
    assert {("job", "train-xray#1"), ("site", "xray-lab")} <= set(shown)
    assert ("run", "train-xray#1") in shown or ("run", "train-xray") in shown
    assert ("volume", world.volume.name) in found(world, world.maria, world.volume.name[1:])
    assert ("compute", "local") in found(world, world.maria, "local")
    assert ("commit", commit) in found(world, world.maria, commit[:8])
    assert ("project", "default") in found(world, world.maria, "def")


def test_best_match_first_then_the_newest(world: World) -> None:
    for name in ("retrain", "train-b", "train-a", "train"):
        world.submit(name)
    jobs = [name for noun, name in found(world, world.maria, "TRAIN") if noun == "job"]
    assert jobs == ["train#1", "train-a#1", "train-b#1", "retrain#1"]
    assert [name for noun, name in found(world, world.maria, "train b") if noun == "job"] == ["train-b#1"]
    assert found(world, world.maria, "default/train#1")[0] == ("job", "train#1")
    assert len(found(world, world.maria, "train", limit=2)) == 2


def test_a_job_by_the_beginning_of_its_id(world: World) -> None:
    job = world.submit("night")
    assert ("job", "night#1") in found(world, world.maria, job.id[:5])


def test_nothing_for_no_words_and_no_patterns(world: World) -> None:
    world.submit("train")
    for written in ("", "   ", "%", "_____", "tra%n"):
        assert found(world, world.maria, written) == []


def test_deleted_things_and_hidden_datasets_stay_out(world: World) -> None:
    add_commit(world.deps.db, "xray", kind=DatasetKind.CODE)
    job = world.submit("gone")
    with world.deps.db.write() as tx:
        tx.execute(text("UPDATE job SET deleted_at = queued_at"))
        tx.execute(text("UPDATE run SET deleted_at = started_at"))
    assert found(world, world.maria, "xray") == []
    assert found(world, world.maria, "gone") == []
    assert found(world, world.maria, job.id) == []


def test_another_projects_names_never_show(world: World) -> None:
    projects.create(world.deps, SYSTEM, name="other-secret")
    commit = add_commit(world.deps.db, "secret-xray", project="other-secret")
    job = add_job(world.deps.db, project="other-secret", name="secret-train")
    stranger = world.actor("jonas", Role.VIEWER)
    for written in ("secret", "other-secret/", "other-secret/secret", commit[:10], job.id, "secret-train#1", "maria"):
        assert found(world, stranger, written) == [], written
    nobody = world.actor("nora", None)
    assert found(world, nobody, "train") == []
    assert {noun for noun, _ in found(world, SYSTEM, "secret")} >= {"project", "dataset", "job"}


def test_names_of_jobs_and_runs_are_read_from_an_index_alone(world: World) -> None:
    """What keeps a search fast however many there are: the tables themselves are not read."""
    ran: list[tuple[str, Any]] = []
    event.listen(world.deps.db.engine, "before_cursor_execute", lambda *call: ran.append(call[2:4]))
    found(world, world.actor("jonas", Role.VIEWER), "train")
    asked = [(sql, values) for sql, values in ran if "FROM job" in sql or "FROM run" in sql if "LIMIT" in sql]
    with world.deps.db.read() as tx:
        plans = [tx.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values).all() for sql, values in asked]
    steps = [row[-1] for plan in plans for row in plan if "job" in row[-1] or "run" in row[-1]]
    assert any("COVERING INDEX ix_job_search" in step for step in steps), steps
    assert any("COVERING INDEX ix_run_search" in step for step in steps), steps
    assert not any(step.startswith("SCAN") for step in steps), steps
