"""Saves a job's outputs: committed once, waiting while the server or store is unreachable."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from millpond.agent import step_folder
from millpond.agent.kept_outputs import CommittedOutputs, KeptOutputs
from millpond.agent.prepare import OUTPUT, TEMPORARY
from millpond.agent.spec import Spec, read_spec, write_private
from millpond.agent.threads import in_thread
from millpond.agent.volumes import sentence
from millpond.decide.flows.outputs import StepOutcome
from millpond.errors import MillError
from millpond.retry import Backoff, may_pass

log = logging.getLogger(__name__)

OUTCOME = "outcome.json"

# Commits what lies in the directory as the output of the job. Blocks; may be called again.
SaveOutputs = Callable[[Spec, Path], CommittedOutputs]


@dataclass(frozen=True, slots=True)
class SavedOutputs:
    """Result of saving the outputs, kept in a file of the placement."""

    output_commit: str | None = None
    problem: str | None = None
    step_made: Mapping[str, Any] | None = None


def read_outcome(directory: Path) -> SavedOutputs | None:
    try:
        return SavedOutputs(**json.loads((directory / OUTCOME).read_bytes()))
    except FileNotFoundError:
        return None


def spec_with_outputs(directory: Path) -> Spec | None:
    """The spec of a placement that has left something to save; None when there is nothing."""
    output = directory / OUTPUT
    spec = read_spec(directory) if output.is_dir() else None
    return spec if spec is not None and (spec.asked.step is not None or any(output.iterdir())) else None


def step_outcome(directory: Path, spec: Spec) -> StepOutcome:
    """What a step that ended well has made; nothing for other jobs."""
    if spec.asked.step is None:
        return StepOutcome()
    return step_folder.outcome(spec.asked.step, output=directory / OUTPUT, temporary=directory / TEMPORARY)


async def save(
    directory: Path,
    spec: Spec,
    save_outputs: SaveOutputs,
    wanted: Callable[[], bool],
    *,
    kept: KeptOutputs,
    succeeded: bool = False,
) -> SavedOutputs:
    """Commit the outputs and record the result; do nothing if they are no longer `wanted`.

    A step that `succeeded` must have made what it declares. What was committed is `kept` for fills of this site.
    """
    backoff = Backoff()
    while wanted():
        try:
            made = step_outcome(directory, spec) if succeeded else StepOutcome()
            is_empty = not any((directory / OUTPUT).iterdir())
            committed = None if is_empty else await in_thread(lambda: save_outputs(spec, directory / OUTPUT))
            outcome = SavedOutputs(committed.commit if committed else None, made.problem, made.document)
        except (MillError, OSError) as error:
            if isinstance(error, MillError) and may_pass(error):
                log.info("outputs wait: placement=%s %s", spec.placement, error)
                await asyncio.sleep(backoff.next())
                continue
            committed, outcome = None, SavedOutputs(problem=f"Cannot save the outputs: {sentence(error)}")
        write_private(directory / OUTCOME, json.dumps(asdict(outcome)))
        if committed is not None:
            # Only now: a new agent that finds no outcome looks for the outputs where they were.
            keep = partial(kept.keep, spec.project, spec.placement, directory / OUTPUT, committed.files)
            await in_thread(keep)
        return outcome
    return SavedOutputs()
