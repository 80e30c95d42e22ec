"""How a distributed job of the process driver stands while its ranks are still coming."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millpond.agent.drivers import NotStarted, Reason, Running, gangs, records
from millpond.agent.drivers.process import ProcessDriver
from millpond.agent.keeper import processes
from millpond.agent.keeper.files import claim
from millpond.agent.spec import rank_directories, renew
from millpond.model.job import RankPlace
from millpond.testing.agents import a_spec


@pytest.fixture
def placement(tmp_path: Path) -> Path:
    """Two ranks, of which the first has come: its keeper is this process."""
    spec = a_spec(directory=str(tmp_path), ranks=(RankPlace("box"),) * 2)
    spec.write(tmp_path)
    renew(tmp_path, 1.0)
    gangs.lay_out(tmp_path, spec)
    come(rank_directories(tmp_path)[0])
    return tmp_path


def come(directory: Path) -> None:
    assert claim(str(directory / records.CLAIM))


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Has something happen between the look at who has come and what is concluded from it."""
    look = processes.is_running

    def at_the_look(happen: Callable[[], None]) -> None:
        def is_running(owner: dict[str, Any]) -> bool:
            monkeypatch.setattr(processes, "is_running", look)
            happen()
            return look(owner)

        monkeypatch.setattr(processes, "is_running", is_running)

    return at_the_look


def test_a_rank_that_comes_while_the_job_is_looked_at_is_not_lost(
    placement: Path, meanwhile: Callable[[Callable[[], None]], None]
) -> None:
    meanwhile(lambda: come(rank_directories(placement)[1]))
    assert ProcessDriver().status(placement) == NotStarted()
    assert records.owner(placement) is None
    assert records.exited(placement) is None


def test_ranks_that_begin_while_the_job_is_looked_at_are_not_stopped(
    placement: Path, meanwhile: Callable[[Callable[[], None]], None]
) -> None:
    def begin() -> None:
        come(rank_directories(placement)[1])
        come(placement)

    meanwhile(begin)
    assert ProcessDriver().status(placement) == Running(None)
    assert not any((one / records.STOP).exists() for one in (placement, *rank_directories(placement)))


def test_a_rank_that_is_gone_before_all_have_come_is_the_end_of_all(placement: Path) -> None:
    gone = {**processes.identity(os.getpid()), "start": 0}
    (rank_directories(placement)[1] / records.CLAIM).write_text(json.dumps(gone))
    assert ProcessDriver().status(placement) == NotStarted()
    ended = records.exited(placement)
    assert ended is not None and ended.reason is Reason.NOT_STARTED
