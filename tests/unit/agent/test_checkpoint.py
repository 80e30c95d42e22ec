"""Which directories count as a checkpoint that the command has finished writing, and that each is saved once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from millpond.agent import checkpoint
from millpond.agent.checkpoint import Checkpoints, is_whole
from millpond.agent.drivers import Exited, Lost, Reason
from millpond.agent.spec import Spec
from millpond.errors import Forbidden, Unavailable
from millpond.testing.agents import a_spec
from millpond.wire.desired import DesiredPlacement


@pytest.mark.parametrize(
    ("ended", "without_sdk", "with_sdk"),
    [
        (Exited(exit_code=0), True, True),
        (Exited(exit_code=0, reason=Reason.STOPPED), True, True),
        (Exited(exit_code=3, reason=Reason.TERMINATED), True, True),
        (Exited(exit_code=255, reason=Reason.STOPPED), True, True),
        # An exception in the middle of a file: the SDK said which files are whole before.
        (Exited(exit_code=1), True, False),
        # It did not handle SIGTERM.
        (Exited(signal=15, reason=Reason.STOPPED), True, False),
        (Exited(exit_code=143, reason=Reason.STOPPED), True, False),
        (Exited(signal=9), False, False),
        (Exited(signal=9, reason=Reason.STOPPED), False, False),
        (Exited(exit_code=137, reason=Reason.STOPPED), False, False),
        (Exited(signal=11), False, False),
        (Exited(signal=15, reason=Reason.OUT_OF_MEMORY), False, False),
        (Exited(reason=Reason.NOT_STARTED), False, False),
        (Lost("gone"), False, False),
    ],
)  # fmt: skip
def test_what_a_killed_command_left_is_no_checkpoint(ended: Exited | Lost, without_sdk: bool, with_sdk: bool) -> None:
    assert is_whole(ended, saves_itself=False) is without_sdk
    assert is_whole(ended, saves_itself=True) is with_sdk


class Kept:
    """Stands in for the lake."""

    def __init__(self, *errors: Exception) -> None:
        self.saved: list[Path] = []
        self.errors = list(errors)

    def checkpoints(self) -> Checkpoints:
        return Checkpoints(self.restore, self.save, lambda spec: False)

    def restore(self, desired: DesiredPlacement, directory: Path) -> None:
        raise AssertionError("not asked for here")

    def save(self, spec: Spec, directory: Path) -> str | None:
        if self.errors:
            raise self.errors.pop(0)
        self.saved.append(directory)
        return "c1"


@pytest.fixture
def placement(tmp_path: Path) -> Path:
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "step").write_text("1")
    a_spec(directory=str(tmp_path / "work")).write(tmp_path)
    return tmp_path


def save(placement: Path, kept: Kept, ended: Exited | Lost) -> str | None:
    return asyncio.run(checkpoint.save(placement, ended, kept.checkpoints(), wanted=lambda: True))


def test_saved_once_however_often_the_agent_starts(placement: Path) -> None:
    kept = Kept()
    for _ in range(2):
        assert not save(placement, kept, Exited(exit_code=0))
    assert kept.saved == [placement / "checkpoint"]


def test_an_empty_directory_is_no_checkpoint(placement: Path) -> None:
    (placement / "checkpoint" / "step").unlink()
    kept = Kept()
    assert not save(placement, kept, Exited(exit_code=0)) and kept.saved == []


def test_a_server_that_is_away_is_waited_for(placement: Path) -> None:
    kept = Kept(Unavailable("away"))
    assert not save(placement, kept, Exited(exit_code=0))
    assert kept.saved == [placement / "checkpoint"]


def test_why_it_could_not_be_saved_is_told_and_remembered(placement: Path) -> None:
    kept = Kept(Forbidden("The bucket is read-only."))
    for _ in range(2):
        assert (
            save(placement, kept, Exited(exit_code=0)) == "The checkpoint could not be saved: The bucket is read-only."
        )
