"""Whoever changes a branch that others change as well comes through at last, or is told so."""

from __future__ import annotations

import pytest

from millpond.errors import NotFound, RefMoved
from millpond.lake.branch_retry import on_newest
from millpond.retry import RetryPolicy


class Crowd:
    """Others who are quicker so often."""

    def __init__(self, quicker: int) -> None:
        self.quicker = quicker
        self.pauses: list[float] = []

    def commit(self) -> str:
        if len(self.pauses) < self.quicker:
            raise RefMoved("somebody else committed first")
        return "done"


def test_a_crowd_lets_everybody_through() -> None:
    crowd = Crowd(quicker=30)
    assert on_newest(crowd.commit, sleep=crowd.pauses.append) == "done"
    assert crowd.pauses[0] < 0.1 < crowd.pauses[-1]


def test_patience_ends() -> None:
    crowd = Crowd(quicker=30)
    with pytest.raises(RefMoved):
        on_newest(crowd.commit, policy=RetryPolicy(attempts=4), sleep=crowd.pauses.append)
    assert len(crowd.pauses) == 3


def test_what_does_not_pass_is_not_tried_again() -> None:
    def commit() -> str:
        raise NotFound("there is no such branch")

    with pytest.raises(NotFound):
        on_newest(commit, sleep=Crowd(0).pauses.append)
