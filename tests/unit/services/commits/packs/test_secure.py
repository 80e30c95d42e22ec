"""Building on what others sent while their URLs may still overwrite it: on copies of what was checked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millpond.blobs.memory import MemoryStore
from millpond.blobs.signing import LocalSigner
from millpond.db import blobs as blob_rows
from millpond.db import uploads as upload_rows
from millpond.errors import Corrupt, Incomplete, Unavailable
from millpond.lake.keys import ProjectKeys
from millpond.lake.locators import pack_locator, unpack_locator
from millpond.model.dataset import Commit
from millpond.model.people import Actor, Role
from millpond.services.commits import accept, commits
from millpond.services.commits.commits import NewCommit
from millpond.services.commits.packs import stable as stable_packs
from millpond.services.commits.packs import verify
from millpond.services.deps import Deps
from millpond.settings import Settings
from millpond.testing.builders_data import a_commit, a_dataset, a_tree, an_actor, the_project
from millpond.testing.clock import FakeClock
from millpond.testing.events import FakeEvents
from millpond.testing.server import SECRET, making_deps
from tests.unit.services.commits.changes.test_edits import content, edit
from tests.unit.services.commits.test_commits import commit_tree, lie


class Overwriting(MemoryStore):
    """As S3 does: whoever has kept a signed URL may use it again."""

    signed_puts_only_create = False


@pytest.fixture
def deps(tmp_path: Path, clock: FakeClock, events: FakeEvents) -> Iterator[Deps]:
    store = Overwriting(LocalSigner(SECRET))
    with making_deps(Settings(data_dir=tmp_path), clock=clock, store=store, events=events) as made:
        yield made


@pytest.fixture
def maria(deps: Deps) -> Actor:
    return an_actor(deps, "maria", default=Role.MEMBER)


@pytest.fixture
def paul(deps: Deps) -> Actor:
    return an_actor(deps, "paul", default=Role.MEMBER)


def owners(deps: Deps, commit: Commit) -> set[str]:
    """Whose packs the locator of a small commit names."""
    project_id = the_project(deps).id
    places = unpack_locator(deps.store.get(ProjectKeys(project_id).locator(commit.tree)))
    with deps.db.read() as tx:
        packs = upload_rows.packs(tx, project_id, {place.pack_id for place in places.values()})
    return {pack.owner for pack in packs}


def count_packs(deps: Deps) -> int:
    return len(list(deps.store.list(ProjectKeys(the_project(deps).id).packs)))


def test_an_edit_rests_on_a_copy_and_the_next_one_on_the_same(deps: Deps, maria: Actor, paul: Actor) -> None:
    a_commit(deps, {"a": b"maria's"}, actor=maria)
    first = edit(deps, {"b": b"paul's"}, actor=paul)
    assert owners(deps, first) == {"server", f"user:{paul.user_id}"}
    assert count_packs(deps) == 3
    second = edit(deps, {"c": b"paul's"}, actor=paul)
    assert owners(deps, second) == {"server", f"user:{paul.user_id}"}
    assert count_packs(deps) == 3, "nothing is copied twice"
    assert content(deps, second, "a") == b"maria's"


def test_whoever_edits_what_is_their_own_needs_no_copy(deps: Deps, maria: Actor) -> None:
    a_commit(deps, {"a": b"maria's"}, actor=maria)
    edit(deps, {"b": b"hers, too"}, actor=maria)
    assert count_packs(deps) == 2


def test_what_no_url_can_change_any_more_is_not_copied(deps: Deps, maria: Actor, paul: Actor, clock: FakeClock) -> None:
    a_commit(deps, {"a": b"maria's"}, actor=maria)
    clock.advance(deps.settings.url_seconds + 121)
    made = edit(deps, {"b": b"paul's"}, actor=paul)
    assert owners(deps, made) == {f"user:{maria.user_id}", f"user:{paul.user_id}"}
    assert count_packs(deps) == 2


def test_many_packs_are_copied_by_the_loop(
    deps: Deps, maria: Actor, paul: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stable_packs, "_CHECKED_NOW", 0)
    a_commit(deps, {"a": b"maria's"}, actor=maria)
    with pytest.raises(Unavailable, match="still being checked"):
        edit(deps, {"b": b"paul's"}, actor=paul)
    assert verify.verify_some(deps) == 2, "maria's is copied, paul's is looked at"
    made = edit(deps, {"b": b"paul's"}, actor=paul)
    assert owners(deps, made) == {"server", f"user:{paul.user_id}"}
    assert count_packs(deps) == 3
    verify.verify_some(deps)
    assert count_packs(deps) == 3


def test_a_pack_that_is_bad_already_is_not_copied(deps: Deps, maria: Actor, paul: Actor) -> None:
    a_commit(deps, {"a": b"maria's"}, actor=maria)
    (pack,) = deps.store.list(ProjectKeys(the_project(deps).id).packs)
    deps.store.put(pack.key, bytes(pack.size))
    with pytest.raises(Incomplete):
        edit(deps, {"b": b"paul's"}, actor=paul)
    assert count_packs(deps) == 2, "maria's bad one, and paul's"


def test_a_known_leaf_is_never_moved_onto_a_pack_that_nobody_has_read(deps: Deps, maria: Actor, paul: Actor) -> None:
    good = a_commit(deps, {"a": b"the truth"}, actor=maria)
    pushed = a_tree({"a": b"the truth"})
    commit_tree(deps, paul, pushed, expected=good.id, upload=lie(deps, paul, pushed))
    assert content(deps, good, "a") == b"the truth"
    verify.verify_some(deps)
    assert content(deps, good, "a") == b"the truth"


def test_a_lie_that_comes_while_the_truth_is_being_committed_does_not_replace_it(
    deps: Deps, maria: Actor, paul: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two commit the same new leaf at the same moment: the second finds a locator of a page that is not known yet."""
    pushed = a_tree({"a": b"the truth"})
    a_dataset(deps, "his")
    real, began = accept.make_visible, []

    def after_a_lie(*arguments: Any) -> Commit:
        if not began:
            began.append(True)
            upload = lie(deps, paul, pushed)
            asked = NewCommit(upload=upload, tree=pushed.root)
            commits.create(deps, paul, the_project(deps), "his", asked)
        return real(*arguments)

    monkeypatch.setattr(accept, "make_visible", after_a_lie)
    good = a_commit(deps, {"a": b"the truth"}, actor=maria)
    assert content(deps, good, "a") == b"the truth"
    verify.verify_some(deps)
    assert content(deps, good, "a") == b"the truth"


def test_leaves_on_a_condemned_pack_move_to_where_their_content_also_lies(
    deps: Deps, maria: Actor, paul: Actor
) -> None:
    good = a_commit(deps, {"a": b"the truth", "b": b"more"}, actor=maria)
    pushed = a_tree({"a": b"the truth", "b": b"more"})
    lie(deps, paul, pushed)
    rest_on(deps, good, owner=f"user:{paul.user_id}")
    with pytest.raises(Corrupt):
        content(deps, good, "a")
    verify.verify_some(deps)
    assert content(deps, good, "a") == b"the truth"
    assert edit(deps, {"c": b"paul's"}, actor=paul), "the page is still known"


def rest_on(deps: Deps, commit: Commit, owner: str) -> None:
    """Write a locator of its only page on the packs of `owner`, as earlier versions did without verifying them."""
    project_id = the_project(deps).id
    with deps.db.read() as tx:
        (pack,) = (pack for pack in upload_rows.unverified(tx, limit=9) if pack.owner == owner)
        places = blob_rows.places_in(tx, pack.id)
    deps.store.put(ProjectKeys(project_id).locator(commit.tree), pack_locator(places))
    with deps.db.write() as tx:
        blob_rows.add_page_packs(tx, project_id, {commit.tree: {pack.id}})
