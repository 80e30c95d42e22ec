"""Runs a flow on this machine without a server: steps are plain processes, datasets are folders."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from millpond.client.flows.flow_file import FlowFile, problems_error
from millpond.client.flows.local_register import MODELS, register_locally
from millpond.client.flows.local_step import LOG, LocalStep, LocalWork
from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.given import flow_params, split_given, step_params
from millpond.decide.flows.next_steps import StepStart, next_steps
from millpond.decide.flows.reader import read_flow
from millpond.decide.flows.resolving import lookup_for, resolve
from millpond.errors import BadRequest
from millpond.library.catalog import Catalog
from millpond.model.component import ComponentRef
from millpond.model.flow import Step, StepKind
from millpond.model.flow_run import Files, FlowRunState, StepRun, StepState
from millpond.model.ids import new_id

# How often running steps are looked at.
_SECONDS = 0.02
FOLDER = ".mill-flow"

# A step that changed, and where its log is.
Tell = Callable[[StepRun, Path], None]


@dataclass(frozen=True, slots=True)
class LocalRun:
    """How a local run ended. `folder` holds the outputs and logs of its steps."""

    id: str
    flow: str
    state: StepState
    reason: str
    folder: Path
    params: Mapping[str, Any]
    steps: tuple[StepRun, ...]


def run_locally(file: FlowFile, *, given: Mapping[str, str], folders: Mapping[str, Path], tell: Tell) -> LocalRun:
    """Run the flow of a file. `given`: parameters as written, `STEP.PARAM` for one of a step; `folders`: what dataset
    steps stand for.

    Invalid with every problem if the flow cannot run. `tell` hears of every step that changed.
    """
    catalog = file.catalog
    checked = file.check()
    if checked.problems or checked.flow is None:
        raise problems_error(file.path, checked.problems)
    _, document, _ = read_flow(file.text)
    context = FlowContext(checked.flow, document, checked.components)
    own, of_steps = split_given(checked.flow, given)
    params, step_values = flow_params(checked.flow, own), step_params(context, of_steps)
    runner = _Runner(file.folder.resolve(), context, catalog, params, step_values, tell)
    runner.take_datasets(folders)
    return runner.run()


class _Runner:
    def __init__(
        self,
        folder: Path,
        context: FlowContext,
        catalog: Catalog,
        params: Mapping[str, Any],
        step_values: Mapping[str, Mapping[str, Any]],
        tell: Tell,
    ) -> None:
        self._base, self._context, self._catalog, self._tell = folder, context, catalog, tell
        self._params, self._step_values = params, step_values
        self._id = new_id()
        self._folder = folder / FOLDER / context.flow.name / self._id
        self._steps: dict[str, tuple[StepRun, ...]] = {}
        self._running: list[tuple[StepRun, LocalStep]] = []

    def take_datasets(self, folders: Mapping[str, Path]) -> None:
        """Each dataset step reads the folder that was given for it."""
        unknown = sorted(folders.keys() - {name for name, _ in self._datasets()})
        if unknown:
            known = ", ".join(name for name, _ in self._datasets()) or "none"
            raise BadRequest(f"{unknown[0]!r} is not a dataset step.", hint=f"Dataset steps of the flow: {known}.")
        lookup = lookup_for(self._state(), {})
        for name, step in self._datasets():
            folder = folders.get(name)
            if folder is None and name in self._context.optional_datasets:
                self._steps[name] = (StepRun(name, state=StepState.SKIPPED, reason="No folder was given for it."),)
                continue
            if folder is None or not folder.is_dir():
                what = f"{folder} is not a folder" if folder else f"dataset {resolve(step.dataset, lookup)} is not here"
                raise BadRequest(
                    f"Step {name!r} has no data: {what}.",
                    hint=f"Local runs read folders. Give one: --data {name}=DIRECTORY",
                )
            files = Files(str(folder.resolve()), "directory")
            self._steps[name] = (StepRun(name, state=StepState.SUCCEEDED, outputs={"data": files}),)

    def _datasets(self) -> list[tuple[str, Step]]:
        return [(name, step) for name, step in self._context.flow.steps.items() if step.kind is StepKind.DATASET]

    def run(self) -> LocalRun:
        try:
            while True:
                decision = next_steps(self._context, self._state())
                self._steps |= decision.changed
                for run in (run for runs in decision.changed.values() for run in runs if run.state.is_finished):
                    self._tell(run, self._folder_of(run) / LOG)
                # The others are offered again when one has ended.
                starts = decision.starts[: max(0, (os.cpu_count() or 1) - len(self._running))]
                for start in starts:
                    self._start(start)
                if decision.ended is not None:
                    state, reason = decision.ended
                    runs = tuple(run for runs in self._steps.values() for run in runs)
                    name = self._context.flow.name
                    return LocalRun(self._id, name, state, reason, self._folder, self._params, runs)
                if not decision.changed and not starts:
                    self._wait_for_one() if self._running else self._approve_gates()
        finally:
            for _, step in self._running:
                os.killpg(step.pid, signal.SIGTERM)

    def _state(self) -> FlowRunState:
        return FlowRunState(self._id, self._params, dict(self._steps))

    def _start(self, start: StepStart) -> None:
        run = replace(start.run, state=StepState.RUNNING)
        work = self._work(start)
        if not work.command:
            # A component of category `register`: a server would do its work.
            outputs = register_locally(self._base / FOLDER / MODELS, work)
            self._change(replace(run, state=StepState.SUCCEEDED, outputs=outputs))
            return
        try:
            step = LocalStep(work)
        except OSError as error:
            self._change(replace(run, state=StepState.FAILED, reason=f"Cannot start its command: {error}"))
            return
        self._change(run)
        self._running.append((run, step))

    def _work(self, start: StepStart) -> LocalWork:
        step = self._context.flow.steps[start.run.step]
        command, cwd = step.command, self._base / (step.code or ".")
        params = {**start.params, **self._step_values.get(step.name, {})}
        if step.component is not None:
            found = self._catalog.find(ComponentRef.parse(step.component))
            assert found is not None  # checked before
            command, cwd = found.component.command, found.folder
            params = {name: one.default for name, one in found.component.params.items()} | params
        else:
            lookup = lookup_for(self._state(), start.run.each)
            command = tuple(str(resolve(word, lookup)) for word in command)
        return LocalWork(
            step.name, start.run.index, self._id, command, cwd, self._folder_of(start.run), start.inputs, params,
            self._context.outputs(step) or {},
        )  # fmt: skip

    def _folder_of(self, run: StepRun) -> Path:
        return self._folder / (run.step if run.index is None else f"{run.step}-{run.index}")

    def _wait_for_one(self) -> None:
        """Until a running step has ended: `waitid` would take the exit status that `Popen` wants."""
        while not (ended := [one for one in self._running if one[1].poll() is not None]):
            time.sleep(_SECONDS)
        for run, step in ended:
            self._running.remove((run, step))
            outcome = step.outcome()
            if isinstance(outcome, str):
                self._change(replace(run, state=StepState.FAILED, reason=outcome))
            else:
                self._change(replace(run, state=StepState.SUCCEEDED, outputs=outcome))

    def _approve_gates(self) -> None:
        """Nothing runs any longer, so gates are what the run waits for."""
        for run in [run for runs in self._steps.values() for run in runs if run.state is StepState.WAITING]:
            self._change(replace(run, state=StepState.SUCCEEDED, reason="Approved: local runs ask nobody."))

    def _change(self, run: StepRun) -> None:
        self._steps[run.step] = tuple(run if one.index == run.index else one for one in self._steps[run.step])
        self._tell(run, self._folder_of(run) / LOG)
