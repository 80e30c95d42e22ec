"""Collecting: what nobody needs goes, what anybody needs stays, whoever uploads meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import func, select

from millpond.db import commits as commit_rows
from millpond.db import promised_pages, server
from millpond.db.tables import upload as upload_table
from millpond.errors import Forbidden, Incomplete, NameTaken, NotFound, NotReady
from millpond.lake.commits import new_commit
from millpond.lake.keys import ProjectKeys
from millpond.model.dataset import Commit, Ref, RefType
from millpond.model.job_spec import JobInput
from millpond.model.people import Role
from millpond.services.commits import refs
from millpond.services.commits.pages import PageCache
from millpond.services.commits.uploads import uploads
from millpond.services.commits.uploads.uploads import WrittenPack
from millpond.services.datasets import dataset_bin, datasets, reading
from millpond.services.deps import Deps
from millpond.services.lake import collect, pending_deletion, purge
from millpond.services.people import projects
from millpond.testing.builders_data import a_commit, a_dataset, a_tree, an_actor, send, the_admin, the_project
from millpond.testing.builders_work import add_job
from millpond.testing.clock import FakeClock
from millpond.wire.lake import Collected, ProjectCollected
from tests.unit.services.lake.reading_all import read_all

DAY = 86_400.0


def run(deps: Deps, *, dry_run: bool = False, now: bool = False) -> ProjectCollected:
    return the(collect.collect(deps, the_admin(deps), dry_run=dry_run, now=now))


def the(found: Collected) -> ProjectCollected:
    (report,) = found.projects
    return report


def objects(deps: Deps, kind: str = "") -> list[str]:
    prefix = f"{ProjectKeys(the_project(deps).id).prefix}{kind}"
    return [info.key for info in deps.store.list(prefix)]


def read(deps: Deps, commit: Commit, dataset: str = "xray") -> dict[str, bytes]:
    return read_all(deps, a_dataset(deps, dataset), commit)


def test_what_is_visible_stays(deps: Deps, clock: FakeClock) -> None:
    first = a_commit(deps, {"a": b"1"})
    second = a_commit(deps, {"a": b"2"})
    clock.advance(400 * DAY)
    before = objects(deps)
    report = run(deps, now=True)
    assert (report.packs, report.pages, report.commits, report.problem) == (0, 0, 0, None)
    assert [(item.packs, item.reason) for item in report.stays] == [(2, "needed by commits in use")]
    assert objects(deps) == before
    assert (read(deps, first), read(deps, second)) == ({"a": b"1"}, {"a": b"2"})


def test_an_upload_that_never_became_a_commit_goes_after_a_day(deps: Deps, clock: FakeClock) -> None:
    send(deps, the_admin(deps), a_tree({"a": b"never committed"}))
    assert run(deps).stays[0].reason == "part of an upload that was active within 1 d"
    assert len(objects(deps)) == 2
    clock.advance(DAY + 1)
    planned = run(deps, dry_run=True)
    assert (planned.packs, planned.pages) == (1, 1)
    assert planned.bytes > 0
    assert len(objects(deps)) == 2, "a dry run changes nothing"
    done = run(deps)
    assert (done.packs, done.bytes, done.pages) == (planned.packs, planned.bytes, planned.pages)
    assert objects(deps) == []
    assert run(deps, dry_run=True).packs == 0


def test_a_deleted_dataset_can_come_back_for_thirty_days(deps: Deps, clock: FakeClock) -> None:
    commit = a_commit(deps, {"a": b"1"})
    datasets.delete(deps, the_admin(deps), a_dataset(deps))
    clock.advance(29 * DAY)
    purge.purge_datasets(deps, clock.now())
    report = run(deps, now=True)
    assert (report.packs, report.stays[0].reason) == (
        0,
        "needed only by deleted datasets, which can still be restored",
    )
    back = dataset_bin.undelete(deps, the_admin(deps), the_project(deps), "xray")
    assert back.id == commit.dataset_id
    assert read(deps, commit) == {"a": b"1"}


def test_after_thirty_days_nothing_is_left_of_it(deps: Deps, clock: FakeClock) -> None:
    a_commit(deps, {"a": b"1"})
    datasets.delete(deps, the_admin(deps), a_dataset(deps))
    clock.advance(31 * DAY)
    with pytest.raises(NotFound):
        dataset_bin.undelete(deps, the_admin(deps), the_project(deps), "xray")
    assert run(deps).packs == 1
    assert objects(deps) == []


def test_what_another_dataset_shares_stays(deps: Deps, clock: FakeClock) -> None:
    a_commit(deps, {"a": b"shared", "b": b"own"}, dataset="one")
    kept = a_commit(deps, {"a": b"shared"}, dataset="two")
    datasets.delete(deps, the_admin(deps), a_dataset(deps, "one"))
    clock.advance(31 * DAY)
    run(deps)
    assert read(deps, kept, "two") == {"a": b"shared"}


def test_bringing_back_needs_a_free_name(deps: Deps) -> None:
    first = a_commit(deps, {"a": b"1"})
    datasets.delete(deps, the_admin(deps), a_dataset(deps))
    a_commit(deps, {"a": b"another"})
    with pytest.raises(NameTaken):
        dataset_bin.undelete(deps, the_admin(deps), the_project(deps), "xray")
    datasets.change(deps, the_admin(deps), a_dataset(deps), name="newer", description=None)
    dataset_bin.undelete(deps, the_admin(deps), the_project(deps), first.dataset_id)
    assert read(deps, first) == {"a": b"1"}
    listed = dataset_bin.list_deleted(deps, the_admin(deps), project=None, limit=9, cursor=None)
    assert list(listed.items) == []


def test_purging_early_gives_the_room_back(deps: Deps, clock: FakeClock) -> None:
    a_commit(deps, {"a": b"1"})
    datasets.delete(deps, the_admin(deps), a_dataset(deps))
    dataset_bin.purge(deps, the_admin(deps), the_project(deps), "xray")
    clock.advance(2 * DAY)
    assert run(deps).packs == 1
    assert objects(deps) == []


def history(deps: Deps, count: int) -> list[Commit]:
    return [a_commit(deps, {"a": b"%d" % number}) for number in range(count)]


def test_a_rule_lets_old_commits_go_in_two_steps(deps: Deps, clock: FakeClock) -> None:
    made = history(deps, 4)
    dataset_bin.set_retention(deps, the_admin(deps), a_dataset(deps), {"keep_last": 2})
    clock.advance(DAY)
    first = run(deps)
    assert (first.commits, first.set_aside, first.packs) == (0, 2, 0)
    assert "unreferenced commits" in first.stays[1].reason
    assert read(deps, made[0]) == {"a": b"0"}
    clock.advance(7 * DAY)
    planned = run(deps, dry_run=True)
    second = run(deps)
    assert (second.commits, second.packs) == (planned.commits, planned.packs) == (2, 2)
    assert second.going_commits[0].reason == "the rule keeps the newest 2 of each branch"
    with deps.db.read() as tx:
        assert [commit_rows.get(tx, commit.id) is None for commit in made] == [True, True, False, False]
    assert len(objects(deps, "commits/")) == 2
    assert [read(deps, commit) for commit in made[2:]] == [{"a": b"2"}, {"a": b"3"}]
    page = reading.history(deps, a_dataset(deps), ref="main", limit=9, cursor=None)
    assert [item.commit.id for item in page.items] == [made[3].id, made[2].id]


def test_what_is_named_again_is_taken_back(deps: Deps, clock: FakeClock) -> None:
    made = history(deps, 2)
    dataset_bin.set_retention(deps, the_admin(deps), a_dataset(deps), {"keep_last": 1})
    assert run(deps).set_aside == 1
    refs.create(deps, the_admin(deps), a_dataset(deps), name="v1", type=RefType.TAG, at=made[0].id)
    clock.advance(30 * DAY)
    assert run(deps, now=True).commits == 0
    assert read(deps, made[0]) == {"a": b"0"}


def test_jobs_and_lineage_keep_what_a_rule_would_cut(deps: Deps) -> None:
    made = history(deps, 3)
    where = a_dataset(deps)
    entry = JobInput("default/xray", "main", made[0].id, where.id, "MILL_DATA_XRAY")
    add_job(deps.db, inputs=(entry,))
    output = new_commit(
        dataset_id=a_dataset(deps, "result").id, tree=made[1].tree, parents=(), author="x", time=deps.clock.now(),
        message="", files=1, bytes=1, lineage={"inputs": [f"default/xray@{made[1].id}"]},
    )  # fmt: skip
    with deps.db.write() as tx:
        commit_rows.insert(tx, output)
        commit_rows.set_ref(tx, Ref(output.dataset_id, "main", RefType.BRANCH, output.id, deps.clock.now()))
    dataset_bin.set_retention(deps, the_admin(deps), where, {"keep_last": 1})
    assert run(deps, now=True).commits == 0
    assert [read(deps, commit) for commit in made] == [{"a": b"0"}, {"a": b"1"}, {"a": b"2"}]


def test_only_administrators_of_the_project_set_rules(deps: Deps) -> None:
    a_commit(deps, {"a": b"1"})
    maria = an_actor(deps, "maria", default=Role.MEMBER)
    with pytest.raises(Forbidden):
        dataset_bin.set_retention(deps, maria, a_dataset(deps), {"keep_last": 1})


def test_a_damaged_page_keeps_everything(deps: Deps, clock: FakeClock) -> None:
    commit = a_commit(deps, {f"{n:05}": b"x" for n in range(3000)})
    send(deps, the_admin(deps), a_tree({"b": b"garbage"}))
    deps.store.put(ProjectKeys(the_project(deps).id).page(commit.tree), b"damaged")
    clock.advance(2 * DAY)
    report = run(replace(deps, pages=PageCache()))
    assert report.packs == 0
    assert commit.tree[:12] in str(report.problem)


def test_an_upload_that_was_forgotten_meanwhile_gets_no_place(deps: Deps, clock: FakeClock) -> None:
    upload = uploads.create(deps, the_admin(deps), the_project(deps))
    clock.advance(60 * DAY)
    run(deps)
    with pytest.raises(NotFound, match="upload"):
        uploads.pack_slots(deps, upload, 1)


def test_a_promised_pack_that_never_came_goes(deps: Deps, clock: FakeClock) -> None:
    upload = uploads.create(deps, the_admin(deps), the_project(deps))
    (slot,) = uploads.pack_slots(deps, upload, 1)
    clock.advance(2 * DAY)
    assert run(deps).packs == 1
    with pytest.raises(Incomplete):
        uploads.packs_written(deps, upload, [WrittenPack(id=slot.id, size=10)])


def test_old_uploads_go_and_their_packs_stay(deps: Deps, clock: FakeClock) -> None:
    commit = a_commit(deps, {"a": b"1"})
    clock.advance(40 * DAY)
    run(deps)
    with deps.db.read() as tx:
        assert tx.execute(select(func.count()).select_from(upload_table)).scalar_one() == 0
    assert read(deps, commit) == {"a": b"1"}


def test_a_deleted_project_leaves_nothing(deps: Deps, clock: FakeClock) -> None:
    admin = the_admin(deps)
    made = projects.create(deps, admin, name="team")
    a_commit(deps, {"x": b"1"}, project="team")
    where = a_dataset(deps, project="team")
    datasets.delete(deps, admin, where)
    dataset_bin.purge(deps, admin, made, where.id)
    projects.delete(deps, admin, "team")
    clock.advance(2 * DAY)
    run(deps)
    assert list(deps.store.list(ProjectKeys(made.id).prefix)) == []


def test_one_collection_at_a_time(deps: Deps, clock: FakeClock) -> None:
    with pending_deletion.permission(deps), pytest.raises(NotReady):
        run(deps)
    run(deps)


class Killed(BaseException):
    """As if the process had ended here."""


STEPS = ["remove_commits", "look", "remove_pages", "condemn", "delete"]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", [*STEPS, "removing", "between objects"])
def test_killed_anywhere_the_next_one_goes_on(
    deps: Deps, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, step: str, moment: str
) -> None:
    kept = a_commit(deps, {"a": b"kept"})
    a_commit(deps, {"b": b"1", "c": b"2"}, dataset="old")
    send(deps, the_admin(deps), a_tree({"d": b"never committed"}))
    datasets.delete(deps, the_admin(deps), a_dataset(deps, "old"))
    clock.advance(31 * DAY)
    module, name = (pending_deletion, "remove_all") if step == "removing" else (collect, step)
    if step == "between objects":
        module, name = promised_pages, "removed"
    with monkeypatch.context() as patched:
        patched.setattr(server, "release_collector", lambda tx, who: None)
        patched.setattr(module, name, killing(getattr(module, name), moment))
        with pytest.raises(Killed):
            run(deps)
    assert read(deps, kept) == {"a": b"kept"}
    clock.advance(600)
    pending_deletion.finish(deps)
    assert read(deps, kept) == {"a": b"kept"}
    again = a_commit(deps, {"b": b"1", "c": b"2"}, dataset="again")
    run(deps)
    assert read(deps, again, "again") == {"b": b"1", "c": b"2"}
    clock.advance(2 * DAY)
    run(deps)
    assert len(objects(deps, "packs/")) == 2
    assert len(objects(deps, "pages/")) == 2


def killing(step: Callable[..., Any], moment: str) -> Callable[..., Any]:
    def killed(*arguments: Any, **named: Any) -> Any:
        if moment == "after":
            step(*arguments, **named)
        raise Killed

    return killed
