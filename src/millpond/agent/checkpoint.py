"""A job's checkpoint: restored before its command starts, saved when that has ended and left something whole."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from millpond.agent.drivers import Exited, Lost, Reason
from millpond.agent.prepare import CHECKPOINT
from millpond.agent.spec import Spec, read_spec, write_private
from millpond.agent.threads import in_thread
from millpond.agent.volumes import sentence
from millpond.errors import MillError
from millpond.retry import Backoff, may_pass
from millpond.wire.desired import DesiredPlacement

log = logging.getLogger(__name__)

RECORD = "checkpoint.json"
# The command was asked to end, with its grace to do so.
_ASKED_TO_END = (Reason.STOPPED, Reason.EXPIRED, Reason.TIMEOUT, Reason.TERMINATED, Reason.CANCELLED)
# How shells report a command that a signal ended.
_SHELL_SIGNAL = 128


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """How checkpoints go to the lake and come back. Each call blocks, and may be made again."""

    # Writes the checkpoint that a placement goes on from into an empty directory.
    restore: Callable[[DesiredPlacement, Path], None]
    # Commits what lies in the directory as the newest checkpoint of the job.
    save: Callable[[Spec, Path], str | None]
    # True if the job saves its checkpoints itself, with the SDK.
    saves_itself: Callable[[Spec], bool]


def is_whole(ended: Exited | Lost, *, saves_itself: bool) -> bool:
    """True if what lies in the directory may be taken for a checkpoint that the command has finished writing.

    A command that was killed may have been in the middle of a file. One that saves its checkpoints itself has said
    which ones are whole: beside those counts what it left after it was asked to end, or succeeded.
    """
    if isinstance(ended, Lost) or ended.reason in (Reason.NOT_STARTED, Reason.OUT_OF_MEMORY):
        return False
    number = ended.signal or _signal_in(ended.exit_code)
    if number not in (None, signal.SIGTERM, signal.SIGINT):
        return False
    if not saves_itself:
        return True
    return number is None and (ended.exit_code == 0 or ended.reason in _ASKED_TO_END)


def _signal_in(exit_code: int | None) -> int | None:
    """The signal that a shell reports by its own exit status."""
    number = (exit_code or 0) - _SHELL_SIGNAL
    return number if number in set(signal.Signals) else None


async def save(
    placement: Path, ended: Exited | Lost, checkpoints: Checkpoints, wanted: Callable[[], bool]
) -> str | None:
    """Save what the command left, once; why it could not be saved. Waits for a server or store that is away."""
    if (record := _read(placement)) is not None:
        return record
    directory = placement / CHECKPOINT
    spec = read_spec(placement) if directory.is_dir() and any(directory.iterdir()) else None
    if spec is None or not is_whole(ended, saves_itself=False):
        return None
    backoff, problem = Backoff(), None
    while wanted():
        try:
            await in_thread(lambda: _save(spec, directory, ended, checkpoints))
        except (MillError, OSError) as error:
            if isinstance(error, MillError) and may_pass(error):
                log.info("checkpoint waits: placement=%s %s", spec.placement, error)
                await asyncio.sleep(backoff.next())
                continue
            problem = f"The checkpoint could not be saved: {sentence(error)}"
            log.warning("checkpoint not saved: placement=%s %s", spec.placement, error)
        write_private(placement / RECORD, json.dumps({"problem": problem}))
        return problem
    return None


def _save(spec: Spec, directory: Path, ended: Exited | Lost, checkpoints: Checkpoints) -> None:
    if is_whole(ended, saves_itself=checkpoints.saves_itself(spec)):
        checkpoints.save(spec, directory)


def _read(placement: Path) -> str | None:
    """What was noted of a checkpoint that was dealt with: "" where all went well. None before."""
    try:
        return str(json.loads((placement / RECORD).read_bytes())["problem"] or "")
    except FileNotFoundError:
        return None
