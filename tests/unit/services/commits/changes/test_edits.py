"""Single paths as a commit: the same tree as built anew, the same checks, and only a few pages read."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from millpond.db import uploads as upload_rows
from millpond.errors import BadFormat, BadPath, BadRequest, Incomplete, NotFound, RefMoved
from millpond.lake.digests import digest_of
from millpond.model.dataset import Commit, RefType
from millpond.model.people import Actor, Role
from millpond.services.commits import refs
from millpond.services.commits.changes import edits
from millpond.services.commits.changes.edits import Edit, Put
from millpond.services.commits.packs import verify
from millpond.services.commits.pages import PageCache
from millpond.services.datasets import files, reading
from millpond.services.deps import Deps
from millpond.services.people import projects
from millpond.testing.builders_data import Pushed, a_commit, a_dataset, a_tree, an_actor, send, the_admin, the_project


def put_of(path: str, content: bytes) -> Put:
    if not content:
        return Put(path=path)
    return Put(path=path, size=len(content), content="blob", digest=digest_of(content).hex())


def edit(
    deps: Deps,
    puts: Mapping[str, bytes] | None = None,
    removes: list[str] | None = None,
    *,
    actor: Actor | None = None,
    sends: bool = True,
    **more: Any,
) -> Commit:
    actor = actor or the_admin(deps)
    content = {digest_of(data): data for data in (puts or {}).values() if data} if sends else {}
    asked = Edit(
        upload=send(deps, actor, Pushed("", {}, content)) if content else None,
        puts=[put_of(path, data) for path, data in (puts or {}).items()],
        removes=removes or [],
        **more,
    )
    return edits.edit(deps, actor, the_project(deps), a_dataset(deps), asked)


def content(deps: Deps, commit: Commit, path: str) -> bytes:
    file = files.open_file(deps, a_dataset(deps), commit, path)
    return b"".join(file.read(deps, 0, file.size))


def paths(deps: Deps, commit: Commit) -> list[str]:
    return [entry.path.decode() for entry in reading.reader_of(deps, a_dataset(deps), commit).entries()]


def test_files_are_put_and_removed_in_one_commit(deps: Deps) -> None:
    before = a_commit(deps, {"a": b"1", "b": b"2", "d/c": b"3"})
    after = edit(deps, {"b": b"new", "d/e": b"5", "empty": b""}, ["a"], message="tidy")
    expected = a_tree({"b": b"new", "d/c": b"3", "d/e": b"5", "empty": b""})
    assert (after.tree, after.files, after.bytes, after.parents) == (expected.root, 4, 5, (before.id,))
    assert (after.message, after.author) == ("tidy", "admin")
    assert content(deps, after, "b") == b"new"
    assert content(deps, after, "d/c") == b"3"


def test_the_first_commit_of_a_dataset_may_be_one_file(deps: Deps) -> None:
    a_dataset(deps)
    first = edit(deps, {"d/a": b"1"})
    assert (first.parents, first.files, first.message) == ((), 1, "Put d/a")
    assert content(deps, first, "d/a") == b"1"


def test_a_large_file_by_its_chunks(deps: Deps) -> None:
    big = random.Random(3).randbytes(2_500_000)
    pushed = a_tree({"big": big})
    upload = send(deps, the_admin(deps), Pushed("", {}, pushed.content))
    a_commit(deps, {"a": b"1"})
    digest = next(d for d, data in pushed.content.items() if data.startswith(b"MCL1")).hex()
    put = Put(path="big", kind="executable", size=len(big), content="chunks", digest=digest)
    asked = Edit(upload=upload, puts=[put])
    made = edits.edit(deps, the_admin(deps), the_project(deps), a_dataset(deps), asked)
    assert content(deps, made, "big") == big


def test_what_is_there_already_makes_no_commit(deps: Deps) -> None:
    before = a_commit(deps, {"a": b"1"})
    assert edit(deps, {"a": b"1"}) == before


def test_asked_again_after_the_answer_was_lost(deps: Deps) -> None:
    before = a_commit(deps, {"a": b"1", "b": b"2"})
    made = edit(deps, {"c": b"3"}, ["a"], expected=before.id)
    assert edit(deps, {"c": b"3"}, ["a"], expected=before.id) == made
    with pytest.raises(RefMoved):
        edit(deps, {"c": b"4"}, expected=before.id)
    other = an_actor(deps, "paul", default=Role.MEMBER)
    with pytest.raises(RefMoved):
        edit(deps, {"c": b"3"}, ["a"], expected=before.id, actor=other)


def test_without_an_expected_commit_it_goes_on_top_of_any(deps: Deps) -> None:
    a_commit(deps, {"a": b"1"})
    edit(deps, {"b": b"2"})
    assert paths(deps, edit(deps, {"c": b"3"})) == ["a", "b", "c"]


def test_directories_go_only_when_said(deps: Deps) -> None:
    a_commit(deps, {"d/a": b"1", "d/e/b": b"2", "d-x": b"3", "z": b"4"})
    with pytest.raises(BadRequest, match="is a directory"):
        edit(deps, removes=["d"])
    assert paths(deps, edit(deps, removes=["d"], recursive=True)) == ["d-x", "z"]


def test_what_is_not_there_cannot_be_removed(deps: Deps) -> None:
    a_commit(deps, {"d/a": b"1"})
    for path in ("a", "d/a/b", "d/"):
        with pytest.raises((NotFound, BadPath)):
            edit(deps, removes=[path])


@pytest.mark.parametrize("path", ["", "/a", "a/../b", "a//b", ".mill/x", "d/.MILL", "a\\x00b", "x" * 300])
def test_paths_that_cannot_be(deps: Deps, path: str) -> None:
    a_commit(deps, {"a": b"1"})
    with pytest.raises(BadPath):
        edit(deps, {path: b"1"})


def test_a_file_is_no_directory(deps: Deps) -> None:
    a_commit(deps, {"a": b"1", "d/b": b"2"})
    for path in ("a/b", "d"):
        with pytest.raises(BadPath):
            edit(deps, {path: b"1"})


def test_nothing_is_accepted_that_was_not_sent(deps: Deps) -> None:
    before = a_commit(deps, {"a": b"1"})
    with pytest.raises(Incomplete) as caught:
        edit(deps, {"b": b"never sent"}, sends=False)
    assert caught.value.details["blobs"] == [digest_of(b"never sent").hex()]
    assert reading.get_commit(deps, a_dataset(deps), "main") == before


def test_another_projects_content_cannot_be_named(deps: Deps) -> None:
    projects.create(deps, the_admin(deps), name="secret")
    a_commit(deps, {"s": b"secret"}, project="secret")
    a_commit(deps, {"a": b"1"})
    with pytest.raises(Incomplete):
        edit(deps, {"mine": b"secret"}, sends=False)


def test_sizes_that_do_not_agree_are_refused(deps: Deps) -> None:
    a_commit(deps, {"a": b"1"})
    wrong = replace(put_of("b", b"1"), size=7)
    for put in (wrong, Put(path="c", kind="directory", size=1), Put(path="c", content="blob", size=1)):
        with pytest.raises((BadFormat, Incomplete)):
            edits.edit(deps, the_admin(deps), the_project(deps), a_dataset(deps), Edit(puts=[put]))


def test_an_upload_of_somebody_else_is_not_found(deps: Deps) -> None:
    a_commit(deps, {"a": b"1"})
    paul = an_actor(deps, "paul", default=Role.MEMBER)
    asked = Edit(upload=send(deps, the_admin(deps), a_tree({"b": b"2"})), puts=[put_of("b", b"2")])
    with pytest.raises(NotFound):
        edits.edit(deps, paul, the_project(deps), a_dataset(deps), asked)


def test_branches_that_are_not_there_and_tags(deps: Deps) -> None:
    a_commit(deps, {"a": b"1"})
    with pytest.raises(NotFound):
        edit(deps, {"b": b"2"}, branch="mian")
    refs.create(deps, the_admin(deps), a_dataset(deps), name="v1", type=RefType.TAG, at="main")
    with pytest.raises(BadRequest):
        edit(deps, {"b": b"2"}, branch="v1")


def test_an_edit_beside_what_others_sent_checks_their_packs_first(deps: Deps) -> None:
    """Whoever edits has no copy of the rest of the page: it must be trusted before it is built on."""
    maria, paul = (an_actor(deps, name, default=Role.MEMBER) for name in ("maria", "paul"))
    a_commit(deps, {"a": b"maria's"}, actor=maria)
    made = edit(deps, {"b": b"paul's"}, actor=paul)
    assert content(deps, made, "a") == b"maria's"
    with deps.db.read() as tx:
        owners = {pack.owner for pack in upload_rows.unverified(tx, limit=10)}
    assert owners == {f"user:{paul.user_id}"}, "maria's was checked on the way"


def test_nothing_is_built_on_somebody_elses_bad_pack(deps: Deps) -> None:
    maria, paul = (an_actor(deps, name, default=Role.MEMBER) for name in ("maria", "paul"))
    a_dataset(deps)
    pushed = a_tree({"a": b"good"})
    lying = Pushed(pushed.root, pushed.pages, dict.fromkeys(pushed.content, b"evil"))
    send(deps, maria, lying)
    edit(deps, {"a": b"good"}, actor=maria, sends=False)
    with pytest.raises(Incomplete):
        edit(deps, {"b": b"paul's"}, actor=paul)


def test_one_file_among_many_reads_few_pages(deps: Deps) -> None:
    a_commit(deps, {f"dir/file-{n:05}": b"%d" % (n % 50) for n in range(9000)})
    verify.verify_some(deps)
    loaded: list[str] = []

    class Counting(PageCache):
        def get(self, key: str, load):  # type: ignore[no-untyped-def]
            return super().get(key, lambda: loaded.append(key) or load())

    object.__setattr__(deps, "pages", Counting())
    made = edit(deps, {"dir/file-04000": b"another"})
    assert content(deps, made, "dir/file-04000") == b"another"
    assert made.files == 9000
    assert len(loaded) <= 8, "of some ten pages the tree has, those beside the change and the new ones"
