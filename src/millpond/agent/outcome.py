"""Saves a job's outputs: committed once, waiting while the server or store is unreachable."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from millpond.agent.prepare import OUTPUT
from millpond.agent.spec import Spec, read_spec, write_private
from millpond.agent.threads import in_thread
from millpond.agent.volumes import sentence
from millpond.errors import MillError
from millpond.retry import Backoff, may_pass

log = logging.getLogger(__name__)

OUTCOME = "outcome.json"

# Commits what lies in the directory as the output of the job; None for nothing. Blocks; may be called again.
SaveOutputs = Callable[[Spec, Path], str | None]


@dataclass(frozen=True, slots=True)
class SavedOutputs:
    """Result of saving the outputs, kept in a file of the placement."""

    output_commit: str | None = None
    problem: str | None = None


def read_outcome(directory: Path) -> SavedOutputs | None:
    try:
        return SavedOutputs(**json.loads((directory / OUTCOME).read_bytes()))
    except FileNotFoundError:
        return None


def spec_with_outputs(directory: Path) -> Spec | None:
    """The spec of a placement that has left something to save; None when there is nothing."""
    output = directory / OUTPUT
    return read_spec(directory) if output.is_dir() and any(output.iterdir()) else None


async def save(directory: Path, spec: Spec, save_outputs: SaveOutputs, wanted: Callable[[], bool]) -> SavedOutputs:
    """Commit the outputs and record the result; do nothing if they are no longer `wanted`."""
    backoff = Backoff()
    while wanted():
        try:
            outcome = SavedOutputs(await in_thread(lambda: save_outputs(spec, directory / OUTPUT)))
        except (MillError, OSError) as error:
            if isinstance(error, MillError) and may_pass(error):
                log.info("outputs wait: placement=%s %s", spec.placement, error)
                await asyncio.sleep(backoff.next())
                continue
            outcome = SavedOutputs(problem=f"Cannot save the outputs: {sentence(error)}")
        write_private(directory / OUTCOME, json.dumps(asdict(outcome)))
        return outcome
    return SavedOutputs()
