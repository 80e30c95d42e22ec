"""The commit from which two histories part."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from millpond.decide.ancestry import parting
from millpond.model.dataset import Commit
from millpond.testing.clock import NOON


@dataclass
class History:
    """Commits by a short name; each is made later than those before it, unless told otherwise."""

    commits: dict[str, Commit] = field(default_factory=dict)
    loaded: list[str] = field(default_factory=list)

    def commit(self, name: str, *parents: str, at: int | None = None) -> Commit:
        time = NOON + timedelta(seconds=len(self.commits) if at is None else at)
        self.commits[name] = Commit(name, "d", "tree", parents, "maria", time, "", 0, 0)
        return self.commits[name]

    def load(self, ids: Collection[str]) -> list[Commit]:
        self.loaded.extend(ids)
        return [self.commits[name] for name in ids]

    def nearest(self, left: str, right: str) -> str | None:
        found = parting(self.commits[left], self.commits[right], self.load).common
        return found.id if found else None

    def ancestors(self, name: str) -> set[str]:
        """With the commit itself."""
        return {name}.union(*(self.ancestors(parent) for parent in self.commits[name].parents))


def a_history(**parents: str) -> History:
    history = History()
    for name, above in parents.items():
        history.commit(name, *above.split())
    return history


def test_two_branches_part_at_their_last_common_commit() -> None:
    history = a_history(a="", b="a", c="b", d="b", e="d")
    assert history.nearest("c", "e") == "b"
    assert history.nearest("e", "c") == "b"


def test_a_commit_that_the_other_grew_from_is_itself_the_common_one() -> None:
    history = a_history(a="", b="a", c="b")
    assert history.nearest("a", "c") == "a"
    assert history.nearest("c", "a") == "a"
    assert history.nearest("b", "b") == "b"


def test_histories_without_anything_in_common() -> None:
    assert a_history(a="", b="a", x="", y="x").nearest("b", "y") is None


def test_after_a_merge_the_merged_commit_is_the_common_one() -> None:
    history = a_history(a="", left="a", right="a", merge="left right", more="right")
    assert history.nearest("merge", "more") == "right"


def test_crossed_histories_take_the_newest() -> None:
    history = a_history(a="", b="a", c="a", d="b c", e="c b")
    assert history.nearest("d", "e") == "c"


def test_clocks_that_went_backwards_still_find_a_common_commit() -> None:
    history = History()
    history.commit("a", at=100)
    history.commit("b", "a", at=50)
    history.commit("c", "b", at=10)
    history.commit("d", "a", at=200)
    assert history.nearest("c", "d") == "a"


def test_old_history_is_not_looked_at() -> None:
    history = History()
    history.commit("0")
    for number in range(1, 1000):
        history.commit(str(number), str(number - 1))
    history.commit("left", "999")
    history.commit("right", "999")
    assert history.nearest("left", "right") == "999"
    assert len(history.loaded) < 10


@given(st.lists(st.lists(st.integers(0, 30), max_size=3, unique=True), min_size=2, max_size=16), st.data())
def test_no_other_common_commit_is_nearer(shapes: list[list[int]], data: st.DataObject) -> None:
    history = History()
    for number, parents in enumerate(shapes):
        history.commit(str(number), *sorted({str(parent % number) for parent in parents} if number else set()))
    names = st.sampled_from(sorted(history.commits))
    left, right = data.draw(names), data.draw(names)
    common = history.ancestors(left) & history.ancestors(right)
    found = history.nearest(left, right)
    assert (found in common) if common else (found is None)
    if found is not None:
        assert not any(found in history.ancestors(other) for other in common - {found})
