"""Merging and undoing: path by path, fast forward where possible, and nothing at all where both sides disagree."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from millpond.db import collecting
from millpond.db import commits as rows
from millpond.errors import BadRequest, Conflict, MergeConflict, NotFound, RefMoved
from millpond.model.dataset import Commit, RefType
from millpond.model.people import Role
from millpond.services.commits import refs
from millpond.services.commits.changes import merges
from millpond.services.commits.changes.merges import Merge, Revert
from millpond.services.datasets import reading
from millpond.services.deps import Deps
from millpond.services.people import audit
from millpond.testing.builders_data import a_commit, a_dataset, a_tree, an_actor, the_admin
from millpond.testing.clock import FakeClock

BASE = {"a": b"1", "b": b"2", "d/c": b"3"}


def branch(deps: Deps, name: str, at: str = "main", type: RefType = RefType.BRANCH) -> None:
    refs.create(deps, the_admin(deps), a_dataset(deps), name=name, type=type, at=at)


def merge(deps: Deps, source: str, into: str = "main", **more: str) -> Commit:
    return merges.merge(deps, the_admin(deps), a_dataset(deps), Merge(source=source, into=into, **more))


def revert(deps: Deps, commit: str, **more: str) -> Commit:
    return merges.revert(deps, the_admin(deps), a_dataset(deps), Revert(commit=commit, **more))


def head(deps: Deps, name: str = "main") -> Commit:
    return reading.get_commit(deps, a_dataset(deps), name)


def parted(deps: Deps, clock: FakeClock, side: Mapping[str, bytes], main: Mapping[str, bytes]) -> tuple[Commit, Commit]:
    """The newest commits of `side` and `main`, which both grew from BASE."""
    a_commit(deps, BASE)
    branch(deps, "side")
    clock.advance(1)
    on_side = a_commit(deps, side, branch="side")
    clock.advance(1)
    return on_side, a_commit(deps, main)


def test_both_sides_come_together(deps: Deps, clock: FakeClock) -> None:
    side, main = parted(deps, clock, BASE | {"a": b"side", "s": b"4"}, {"a": b"1", "d/c": b"main"})
    made = merge(deps, "side")
    assert made.parents == (main.id, side.id)
    assert made.tree == a_tree({"a": b"side", "s": b"4", "d/c": b"main"}).root
    assert made.message == "Merge side into main"
    assert head(deps) == made
    assert merge(deps, "side") == made, "there is nothing left to merge"


def test_a_branch_without_anything_of_its_own_just_moves(deps: Deps) -> None:
    a_commit(deps, BASE)
    branch(deps, "side")
    side = a_commit(deps, BASE | {"s": b"4"}, branch="side")
    assert merge(deps, "side") == side
    assert head(deps) == side
    assert audit.list_records(deps, limit=1, cursor=None).items[0].action == "branch.move"
    assert merge(deps, "side") == side
    assert merge(deps, "main", "side") == side


def test_conflicts_are_named_and_nothing_changes(deps: Deps, clock: FakeClock) -> None:
    _, main = parted(deps, clock, BASE | {"a": b"side", "x": b"s"}, BASE | {"a": b"main", "x": b"m", "y": b"5"})
    with pytest.raises(MergeConflict) as caught:
        merge(deps, "side")
    assert caught.value.details["paths"] == ["a", "x"]
    assert caught.value.details["count"] == 2
    assert (caught.value.status, caught.value.code) == (409, "merge_conflict")
    assert head(deps) == main


def test_a_merge_onto_another_commit_than_expected(deps: Deps, clock: FakeClock) -> None:
    side, main = parted(deps, clock, BASE | {"s": b"4"}, BASE | {"m": b"5"})
    with pytest.raises(RefMoved):
        merge(deps, "side", expected=side.id)
    made = merge(deps, "side", expected=main.id)
    assert merge(deps, "side", expected=main.id) == made, "asked again after the answer was lost"


def test_equal_changes_on_both_sides_still_join_the_histories(deps: Deps, clock: FakeClock) -> None:
    side, main = parted(deps, clock, BASE | {"s": b"4"}, BASE | {"s": b"4"})
    made = merge(deps, "side")
    assert (made.tree, made.parents) == (main.tree, (main.id, side.id))


def test_a_second_merge_starts_from_the_first(deps: Deps, clock: FakeClock) -> None:
    parted(deps, clock, BASE | {"s": b"4"}, BASE | {"m": b"5"})
    merge(deps, "side")
    clock.advance(1)
    a_commit(deps, BASE | {"s": b"changed"}, branch="side")
    made = merge(deps, "side")
    assert made.tree == a_tree(BASE | {"s": b"changed", "m": b"5"}).root


def test_histories_with_nothing_in_common(deps: Deps) -> None:
    a_commit(deps, {"a": b"1"})
    a_commit(deps, {"b": b"2"}, branch="orphan")
    assert merge(deps, "orphan").tree == a_tree({"a": b"1", "b": b"2"}).root


def test_a_merge_takes_over_what_others_sent(deps: Deps, clock: FakeClock) -> None:
    maria = an_actor(deps, "maria", default=Role.MEMBER)
    a_commit(deps, BASE)
    branch(deps, "side")
    clock.advance(1)
    a_commit(deps, BASE | {"s": b"maria's"}, branch="side", actor=maria)
    a_commit(deps, BASE | {"m": b"5"})
    assert merge(deps, "side").tree == a_tree(BASE | {"s": b"maria's", "m": b"5"}).root


def test_merging_into_what_cannot_move(deps: Deps, clock: FakeClock) -> None:
    parted(deps, clock, BASE | {"s": b"4"}, BASE | {"m": b"5"})
    branch(deps, "v1", type=RefType.TAG)
    with pytest.raises(BadRequest, match="tags cannot be moved"):
        merge(deps, "side", "v1")
    with pytest.raises(NotFound):
        merge(deps, "side", "nowhere")
    with pytest.raises(NotFound):
        merge(deps, "nothing")
    assert merge(deps, "v1", "side").message == "Merge v1 into side"


# Reverting ---------------------------------------------------------------------------------------


def test_one_commit_is_undone_and_later_ones_stay(deps: Deps) -> None:
    a_commit(deps, BASE)
    undone = a_commit(deps, {"a": b"changed", "d/c": b"3", "n": b"9"}, message="a mistake")
    last = a_commit(deps, {"a": b"changed", "d/c": b"3", "n": b"9", "later": b"5"})
    made = revert(deps, undone.id[:10])
    assert made.tree == a_tree(BASE | {"later": b"5"}).root
    assert (made.parents, made.message) == ((last.id,), f"Revert {undone.id[:12]}: a mistake")


def test_undoing_what_was_changed_again_is_a_conflict(deps: Deps) -> None:
    a_commit(deps, {"a": b"1"})
    undone = a_commit(deps, {"a": b"2"})
    a_commit(deps, {"a": b"3"})
    with pytest.raises(MergeConflict) as caught:
        revert(deps, undone.id)
    assert caught.value.details["paths"] == ["a"]


def test_the_first_commit_can_be_undone_and_that_too(deps: Deps) -> None:
    first = a_commit(deps, BASE)
    empty = revert(deps, "main")
    assert (empty.files, empty.tree) == (0, a_tree({}).root)
    assert revert(deps, "main").tree == first.tree


def test_undoing_twice_makes_one_commit(deps: Deps) -> None:
    a_commit(deps, {"a": b"1"})
    undone = a_commit(deps, {"a": b"1", "b": b"2"})
    made = revert(deps, undone.id, expected=undone.id)
    assert revert(deps, undone.id, expected=undone.id) == made
    assert revert(deps, undone.id) == made
    with deps.db.read() as tx:
        assert rows.get(tx, made.id) == made


def test_a_merge_is_undone_against_its_own_branch(deps: Deps, clock: FakeClock) -> None:
    _, main = parted(deps, clock, BASE | {"s": b"4"}, BASE | {"m": b"5"})
    merge(deps, "side")
    assert revert(deps, "main").tree == main.tree


def let_go(deps: Deps, *commits: Commit) -> None:
    """As a retention rule does."""
    with deps.db.write() as tx:
        collecting.delete_commits(tx, [commit.id for commit in commits])


def test_a_commit_whose_parent_a_rule_let_go_is_not_undone(deps: Deps, clock: FakeClock) -> None:
    """Against nothing, undoing it would remove every file."""
    first = a_commit(deps, BASE)
    clock.advance(1)
    second = a_commit(deps, BASE | {"a": b"changed"})
    let_go(deps, first)
    with pytest.raises(Conflict, match="removed by the retention rule"):
        revert(deps, second.id)
    assert head(deps) == second


def test_branches_whose_parting_a_rule_let_go_are_not_merged(deps: Deps, clock: FakeClock) -> None:
    """From nothing, what main has removed since would come back."""
    side, main = parted(deps, clock, BASE | {"s": b"4"}, {"a": b"1", "d/c": b"3"})
    with deps.db.read() as tx:
        base = rows.get(tx, side.parents[0])
    assert base is not None
    let_go(deps, base)
    with pytest.raises(Conflict, match="removed by the retention rule"):
        merge(deps, "side")
    assert head(deps) == main
