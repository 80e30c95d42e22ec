"""Logs of the steps of a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from millpond.client.flows.flow_steps import find_steps, label
from millpond.client.flows.runs import get_run, has_ended
from millpond.client.http import Api
from millpond.client.logs import POLL_SECONDS, read_all, read_log
from millpond.model.flow_run import StepState
from millpond.wire.flows import FlowRun, FlowStep


@dataclass(frozen=True, slots=True)
class StepLog:
    """The job whose log it is. For a remembered step, that of the step which made its outputs."""

    label: str
    job: str
    remembered_from: str | None = None


@dataclass(slots=True)
class _Reader:
    """Reads what is new in the log of one job; later attempts begin anew."""

    offset: int = 0
    attempt: int = 0
    rest: bytes = b""
    is_complete: bool = False

    def lines(self, api: Api, project: str, job: str) -> Iterator[bytes]:
        while True:
            piece = read_log(api, project, job, self.offset)
            if piece.attempt != self.attempt:
                self.attempt, self.offset = piece.attempt, 0
                if piece.begin:
                    continue
            *whole, self.rest = (self.rest + piece.content).split(b"\n")
            self.offset, self.is_complete = piece.offset, piece.complete
            yield from whole
            if not piece.content:
                break
        if self.is_complete and self.rest:
            yield self.rest
            self.rest = b""


@dataclass(slots=True)
class _Reading:
    readers: dict[str, _Reader] = field(default_factory=dict)

    def of(self, job: str) -> _Reader:
        return self.readers.setdefault(job, _Reader())


def step_logs(api: Api, run: FlowRun, steps: Sequence[FlowStep]) -> list[StepLog]:
    """Steps that have a log, in order."""
    found = [_log_of(api, run.project, step) for step in steps]
    return [one for one in found if one is not None]


def read_step_log(api: Api, project: str, log: StepLog) -> Iterator[bytes]:
    """The log as it is now."""
    return read_all(api, project, log.job)


def follow_logs(
    api: Api, run: FlowRun, step: str | None = None, *, sleep: Callable[[float], None] = time.sleep
) -> Iterator[tuple[str, bytes]]:
    """Lines with the label of their step, as they are written, until the steps (or the run) have ended."""
    reading = _Reading()
    while True:
        run = get_run(api, run.project, run.id)
        steps = find_steps(run, step) if step is not None else list(run.steps)
        ended = has_ended(run) or (step is not None and all(StepState(one.state).is_finished for one in steps))
        silent = True
        for log in step_logs(api, run, steps):
            reader = reading.of(log.job)
            if reader.is_complete and ended:
                continue
            for line in reader.lines(api, run.project, log.job):
                silent = False
                yield log.label, line
        if ended and (silent or all(one.is_complete for one in reading.readers.values())):
            yield from ((name, reader.rest) for name, reader in reading.readers.items() if reader.rest)
            return
        if silent:
            sleep(POLL_SECONDS)


def _log_of(api: Api, project: str, step: FlowStep) -> StepLog | None:
    if step.job:
        return StepLog(label(step), step.job)
    if not step.remembered_from:
        return None
    run, _, name = step.remembered_from.partition("/")
    made = next((one for one in get_run(api, project, run).steps if label(one) == name), None)
    return StepLog(label(step), made.job, step.remembered_from) if made and made.job else None
