"""Building on what others sent while their URLs may still overwrite it: on copies of what was checked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.blobs.memory import MemoryStore
from millpond.blobs.signing import LocalSigner
from millpond.db import uploads as upload_rows
from millpond.errors import Incomplete, Unavailable
from millpond.lake.keys import ProjectKeys
from millpond.lake.locators import unpack_locator
from millpond.model.dataset import Commit
from millpond.model.people import Actor, Role
from millpond.services.commits import tree_check, verify
from millpond.services.deps import Deps
from millpond.settings import Settings
from millpond.testing.builders_data import a_commit, an_actor, the_project
from millpond.testing.clock import FakeClock
from millpond.testing.events import FakeEvents
from millpond.testing.server import SECRET, making_deps
from tests.unit.services.commits.test_edits import content, edit


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
    monkeypatch.setattr(tree_check, "_CHECKED_NOW", 0)
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
