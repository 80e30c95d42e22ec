"""Branches and tags: made at any commit, removed with their commits kept, and tags never move."""

from __future__ import annotations

import pytest

from millpond.db import commits as rows
from millpond.errors import BadName, BadRequest, NameTaken, NotFound, RefMoved
from millpond.lake.keys import ProjectKeys
from millpond.lake.records import Move, decode_record
from millpond.model.dataset import Commit, RefType
from millpond.model.names import CODE_DATASET
from millpond.services.commits import commits, refs
from millpond.services.commits.commits import NewCommit
from millpond.services.datasets import datasets as dataset_service
from millpond.services.datasets import reading
from millpond.services.deps import Deps
from millpond.services.people import audit, projects
from millpond.testing.builders_data import a_commit, a_dataset, a_tree, send, the_admin, the_project
from millpond.testing.builders_work import add_job
from millpond.testing.events import FakeEvents


def make(deps: Deps, name: str, *, type: RefType = RefType.BRANCH, at: str = "main") -> None:
    refs.create(deps, the_admin(deps), a_dataset(deps), name=name, type=type, at=at)


def drop(deps: Deps, name: str, expected: str | None = None) -> None:
    refs.delete(deps, the_admin(deps), a_dataset(deps), name=name, expected=expected)


def names(deps: Deps) -> dict[str, str]:
    found = refs.list_refs(deps, a_dataset(deps), limit=100, cursor=None).items
    return {ref.name: ref.commit_id for ref in found}


def commit_on(deps: Deps, branch: str, *, expected: str | None = None, parent: str | None = None) -> Commit:
    pushed = a_tree({"new": branch.encode()})
    asked = NewCommit(
        upload=send(deps, the_admin(deps), pushed), tree=pushed.root, branch=branch, expected=expected, parent=parent
    )
    return commits.create(deps, the_admin(deps), the_project(deps), "xray", asked)[1]


def test_a_branch_and_a_tag_at_any_commit(deps: Deps, events: FakeEvents) -> None:
    first, second = a_commit(deps, {"a": b"1"}), a_commit(deps, {"a": b"2"})
    make(deps, "feature/x")
    make(deps, "v1", type=RefType.TAG, at=first.id[:8])
    assert names(deps) == {"feature/x": second.id, "main": second.id, "v1": first.id}
    assert reading.get_commit(deps, a_dataset(deps), "v1") == first
    record = decode_record(deps.store.get(ProjectKeys(the_project(deps).id).record(a_dataset(deps).id, 4)))
    assert record.operation == Move("v1", RefType.TAG, first.id, None)
    assert [record.action for record in audit.list_records(deps, limit=2, cursor=None).items] == [
        "tag.create",
        "branch.create",
    ]


def test_a_name_is_taken_once_but_asking_twice_is_the_same(deps: Deps) -> None:
    first, _ = a_commit(deps, {"a": b"1"}), a_commit(deps, {"a": b"2"})
    make(deps, "v1", type=RefType.TAG, at=first.id)
    make(deps, "v1", type=RefType.TAG, at=first.id)
    for type, at in ((RefType.TAG, "main"), (RefType.BRANCH, first.id)):
        with pytest.raises(NameTaken):
            make(deps, "v1", type=type, at=at)


@pytest.mark.parametrize("name", ["", "a b", "../up", "a//b", "x.lock", "-x", "ab" * 32])
def test_names_that_cannot_be(deps: Deps, name: str) -> None:
    a_commit(deps, {"a": b"1"})
    with pytest.raises(BadName):
        make(deps, name)


def test_nothing_hides_a_commit_behind_its_own_id(deps: Deps) -> None:
    commit = a_commit(deps, {"a": b"1"})
    with pytest.raises(BadName):
        commit_on(deps, commit.id)
    other = a_dataset(deps, "other")
    with deps.db.write() as tx:  # as an older server might have
        rows.set_ref(tx, rows.Ref(other.id, commit.id, RefType.BRANCH, commit.id, deps.clock.now()))
    with pytest.raises(NotFound):
        reading.get_commit(deps, other, commit.id)


def test_a_tag_never_moves(deps: Deps) -> None:
    commit = a_commit(deps, {"a": b"1"})
    make(deps, "v1", type=RefType.TAG)
    with pytest.raises(BadRequest, match="tags cannot be moved"):
        commit_on(deps, "v1", expected=commit.id)


def test_a_branch_goes_and_its_commits_stay(deps: Deps) -> None:
    a_commit(deps, {"a": b"1"})
    make(deps, "side")
    commit = commit_on(deps, "side", expected=names(deps)["side"])
    with pytest.raises(RefMoved):
        drop(deps, "side", expected="0" * 64)
    drop(deps, "side", expected=commit.id)
    assert names(deps).keys() == {"main"}
    assert reading.get_commit(deps, a_dataset(deps), commit.id) == commit
    with pytest.raises(NotFound):
        drop(deps, "side")
    make(deps, "side", at=commit.id)


def test_the_default_branch_and_those_of_jobs_stay(deps: Deps) -> None:
    a_commit(deps, {"a": b"1"})
    with pytest.raises(BadRequest):
        drop(deps, "main")
    code = dataset_service.ensure_system_dataset(deps, the_project(deps), CODE_DATASET)
    with pytest.raises(BadRequest):
        refs.delete(deps, the_admin(deps), code, name="x", expected=None)


def test_code_is_named_by_its_job_and_only_in_its_own_project(deps: Deps) -> None:
    pushed = a_tree({"train.py": b"print()"})
    asked = NewCommit(upload=send(deps, the_admin(deps), pushed), tree=pushed.root, branch="code-1", expected=None)
    code, commit = commits.create(deps, the_admin(deps), the_project(deps), CODE_DATASET, asked)
    job = add_job(deps.db, name="train", code_commit=commit.id)
    projects.create(deps, the_admin(deps), name="other")
    stranger = add_job(deps.db, project="other", name="theirs", code_commit=commit.id)
    without = add_job(deps.db, name="bare")
    for written in (job.id, "train", commit.id[:8], "code-1"):
        assert reading.get_commit(deps, code, written) == commit
    for written in (stranger.id, "theirs", without.id, "bare", "nobody"):
        with pytest.raises(NotFound):
            reading.get_commit(deps, code, written)
    with pytest.raises(NotFound):
        reading.get_commit(deps, a_dataset(deps), job.id)


def test_pages_are_told(deps: Deps, events: FakeEvents) -> None:
    a_commit(deps, {"a": b"1"})
    make(deps, "side")
    assert events.published[-1][2]["what"] == "ref"


# The first commit of a new branch ---------------------------------------------------------------


def test_a_new_branch_grows_from_a_commit(deps: Deps) -> None:
    main = a_commit(deps, {"a": b"1"})
    side = commit_on(deps, "side", parent=main.id)
    assert side.parents == (main.id,)
    assert commit_on(deps, "side", parent=main.id) == side, "asked again after the answer was lost"
    with pytest.raises(RefMoved):
        commit_on(deps, "main", parent=main.id)


def test_the_parent_is_one_of_the_same_dataset_and_only_of_a_new_branch(deps: Deps) -> None:
    main = a_commit(deps, {"a": b"1"})
    other = a_commit(deps, {"b": b"1"}, dataset="other")
    for unknown in (other.id, "0" * 64, "main"):
        with pytest.raises(NotFound):
            commit_on(deps, "side", parent=unknown)
    with pytest.raises(BadRequest):
        commit_on(deps, "main", expected=main.id, parent=main.id)


def test_commits_before_a_ref(deps: Deps) -> None:
    first, second, third = (a_commit(deps, {"a": b"%d" % number}) for number in range(3))
    dataset = a_dataset(deps)
    with deps.db.read() as tx:
        for text, commit in {
            "main~0": third, "main~": second, "main~1": second, "main^": second, "main~2": first, "main^^": first,
            "main^~1": first, f"{third.id[:12]}~1": second, f"{second.id}^": first,
        }.items():  # fmt: skip
            assert refs.resolve(tx, dataset, text) == commit, text
        with pytest.raises(NotFound, match=r"main~3 does not exist: the history of main goes back to main~2"):
            refs.resolve(tx, dataset, "main~3")
        with pytest.raises(BadRequest, match="too far back"):
            refs.resolve(tx, dataset, "main~999999999")
        for text in ("main~x", "~1", "main~1a", "main~1~9999999999"):
            with pytest.raises(NotFound):
                refs.resolve(tx, dataset, text)
