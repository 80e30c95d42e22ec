"""Collecting: what nobody needs goes, what anybody needs stays, whoever uploads meanwhile."""

from __future__ import annotations

from millpond.decide.collection import Policy
from millpond.lake.keys import ProjectKeys
from millpond.model.dataset import Commit
from millpond.services import collect
from millpond.services.deps import Deps
from millpond.testing.builders_data import a_commit, a_dataset, a_tree, send, the_admin, the_project
from millpond.testing.clock import FakeClock
from millpond.wire.lake import Collected, ProjectCollected
from tests.unit.services.data.reading_all import read_all

DAY = 86_400.0
NOW = Policy.hurried()


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
    assert [(item.packs, item.reason) for item in report.stays] == [
        (2, "needed by commits that people, jobs or caches name")
    ]
    assert objects(deps) == before
    assert (read(deps, first), read(deps, second)) == ({"a": b"1"}, {"a": b"2"})


def test_an_upload_that_never_became_a_commit_goes_after_a_day(deps: Deps, clock: FakeClock) -> None:
    send(deps, the_admin(deps), a_tree({"a": b"never committed"}))
    assert run(deps).stays[0].reason == "of an upload that was used within 1 d"
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
