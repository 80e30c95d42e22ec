"""From a step that may start to the job that runs it: its inputs as commits, its parameters, place and memo key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from blake3 import blake3

from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.expressions import Lookup, RefKind, exact_ref
from millpond.decide.flows.memo import Remembered
from millpond.decide.flows.next_steps import StepStart
from millpond.decide.flows.outputs import FILE_TYPES, input_variable
from millpond.decide.flows.resolving import lookup_for, resolve
from millpond.decide.flows.rules.steps import LOST
from millpond.decide.flows.values import why_wrong
from millpond.errors import BadRequest
from millpond.model.component import Component
from millpond.model.dataset import Commit
from millpond.model.flow import SECRET, Cached, Flow, FlowRetries, Step
from millpond.model.flow_run import Files, FlowRun, FlowRunState
from millpond.model.job_spec import JobInput, JobKind, JobSpec, JobStep, StepOutput
from millpond.model.names import STEP_DATASET, DatasetRef
from millpond.model.people import Project
from millpond.services.deps import Deps
from millpond.services.flows import lake_files
from millpond.services.flows.lake_files import Part
from millpond.services.flows.pins import PinnedComponent, Pins
from millpond.services.jobs.submit_many import NamedSpec

_NAME_MOST = 63
_ACTIONS = ("register", "deploy")


@dataclass(frozen=True, slots=True)
class StepWork:
    """`memo_key` is None where the step is never remembered."""

    params: Mapping[str, Any]
    job: NamedSpec
    memo_key: str | None


@dataclass(frozen=True, slots=True)
class _Input:
    """An input as a job reads it, and what it is remembered by."""

    item: JobInput
    tree: str


@dataclass(frozen=True, slots=True)
class StepMaker:
    """Makes the jobs of one run."""

    deps: Deps
    project: Project
    run: FlowRun
    context: FlowContext
    pins: Pins
    # Inputs that were made for other executions, by what they are made of.
    _made: dict[tuple[object, ...], Commit] = field(default_factory=dict)

    def work(self, start: StepStart, state: FlowRunState) -> StepWork:
        """BadRequest, in words for people, if the step cannot run with what it was given."""
        step = self.context.flow.steps[start.run.step]
        pinned = self.pins.components.get(step.component or "")
        component = self.context.component(step)
        params = self.params(step, component, start.params)
        inputs = {name: self._input(step, name, given) for name, given in start.inputs.items()}
        command = component.command if component else _command(step, state, start.run.each)
        spec = self._spec(step, component, inputs, command, lookup_for(state, start.run.each))
        index = -1 if start.run.index is None else start.run.index
        spec = replace(
            spec, step=JobStep(self.run.id, step.name, index, params, _outputs(self.context, step)),
            secrets=self._secrets(step, component, params),
        )  # fmt: skip
        # What depends on a secret may be another thing tomorrow, under the same name.
        remembers = self.remembers(step, component) and not spec.secrets
        return StepWork(
            params,
            NamedSpec(job_name(self.run, step.name, start.run.index), spec),
            self._memo_key(step, pinned, spec, inputs, start) if remembers else None,
        )

    def ahead(self, step: Step, inputs: Mapping[str, Files | list[Files]], state: FlowRunState) -> JobSpec:
        """What the step will ask for, as far as it can be said before its turn: where it runs, and these inputs."""
        component = self.context.component(step)
        command = component.command if component else step.command
        made = {name: self._input(step, name, given) for name, given in inputs.items()}
        return self._spec(step, component, made, command, lookup_for(state, {}))

    def params(self, step: Step, component: Component | None, given: Mapping[str, Any]) -> dict[str, Any]:
        """Defaults of the component, what the flow says, what the run sets; each of its type."""
        own = self.run.options.step_params.get(step.name, {})
        if component is None:
            return {**given, **own}
        defaults = {name: param.default for name, param in component.params.items()}
        params = {**defaults, **given, **own}
        for name, param in component.params.items():
            if wrong := why_wrong(param, params.get(name)):
                raise BadRequest(wrong)
        return params

    def remembers(self, step: Step, component: Component | None) -> bool:
        asked = self.context.flow.defaults.remember if step.remember is None else step.remember
        return asked and self.run.options.remember and (component is None or component.remember)

    def is_forced(self, step: Step) -> bool:
        """True if the run was asked to execute this very step, whatever is remembered."""
        return step.name in (self.run.options.from_step, self.run.options.only_step)

    def _input(self, step: Step, name: str, given: Files | list[Files]) -> _Input:
        if isinstance(given, list):
            parts = [self._part(files, str(index).encode()) for index, files in enumerate(given)]
            return self._combined(name, parts, "")
        ref = DatasetRef.parse(given.place)
        if not ref.path:
            commit = self._find(ref.ref or "")
            item = JobInput(
                dataset=f"{ref.project}/{ref.dataset}", ref=commit.id, commit_id=commit.id, env=input_variable(name),
                streamed=self._is_streamed(step, name),
            )  # fmt: skip
            return _Input(item, commit.tree)
        part = self._part(given, b"")
        is_file = given.type in FILE_TYPES and lake_files.is_file(self.deps, self.project, part)
        return self._combined(name, [part], ref.path.rpartition("/")[2] if is_file else "")

    def _part(self, files: Files, into: bytes) -> Part:
        ref = DatasetRef.parse(files.place)
        return Part(self._find(ref.ref or ""), (ref.path or "").encode(), into)

    def _find(self, commit_id: str) -> Commit:
        if (commit_id,) not in self._made:
            self._made[commit_id,] = lake_files.find_commit(self.deps, commit_id)
        return self._made[commit_id,]

    def _combined(self, name: str, parts: list[Part], path: str) -> _Input:
        key = tuple((part.commit.id, part.path, part.into) for part in parts)
        if key not in self._made:
            self._made[key] = lake_files.combine(
                self.deps, self.project, STEP_DATASET, parts, author=self.run.created_by,
                message=f"Input {name} of {self.run.written}", lineage=lineage_of(self.run),
            )  # fmt: skip
        commit = self._made[key]
        item = JobInput(
            dataset=f"{self.project.name}/{STEP_DATASET}", ref=commit.id, commit_id=commit.id,
            env=input_variable(name), path=path,
        )  # fmt: skip
        return _Input(item, f"{commit.tree}/{path}" if path else commit.tree)

    def _is_streamed(self, step: Step, name: str) -> bool:
        ref = exact_ref(step.inputs[name])
        node = self.context.flow.steps.get(ref.step) if ref and ref.kind is RefKind.STEP else None
        return node is not None and node.cached is Cached.NO

    def _spec(
        self, step: Step, component: Component | None, inputs: Mapping[str, _Input], command: tuple[str, ...],
        lookup: Lookup,
    ) -> JobSpec:  # fmt: skip
        flow, on = self.context.flow, self._place(step, lookup)
        retries = step.retries or flow.defaults.retries
        pinned = self.pins.components.get(step.component or "")
        code = pinned.code if pinned else self.pins.code.get(step.name)
        environment = pinned.environment if pinned else self.pins.environments.get(step.name)
        return JobSpec(
            kind=JobKind.STEP,
            command=command,
            inputs=tuple(one.item for one in inputs.values()),
            image=resolve(step.image, lookup) or (component.image if component else None),
            code_commit=code.commit if code else None,
            environment=environment.commit if environment else None,
            on=on,
            priority=flow.defaults.priority if step.priority is None else step.priority,
            timeout_seconds=_timeout(flow, step),
            experiment=flow.name,
            tags={"flow": flow.name, "flow_run": self.run.written, "step": step.name},
            **_resources(component, is_placed=on is not None),
            **_retries(retries),
        )

    def _secrets(self, step: Step, component: Component | None, params: Mapping[str, Any]) -> dict[str, str]:
        """Secrets that its parameters name: it finds their values in variables of these names."""
        of_flow = self.context.flow.params
        used = {ref.name for _, ref in self.context.refs_of(step.name) if ref.kind is RefKind.PARAM}
        found = [self.run.params.get(name) for name in sorted(used) if of_flow[name].type == SECRET]
        found += component.secrets(params) if component else ()
        return {name: name for name in found if name}

    def _place(self, step: Step, lookup: Lookup) -> str | None:
        chosen = self.run.options.on or resolve(step.queue or ",".join(step.templates), lookup)
        return chosen or None

    def _memo_key(
        self, step: Step, pinned: PinnedComponent | None, spec: JobSpec, inputs: Mapping[str, _Input], start: StepStart
    ) -> str:
        code = self.pins.code.get(step.name)
        work = (pinned.digest,) if pinned else (code.tree if code else "", *spec.command)
        environment = pinned.environment if pinned else self.pins.environments.get(step.name)
        outputs = tuple(f"{one.name}:{one.type}" for one in _outputs(self.context, step))
        return Remembered(
            work=(*work, *outputs),
            params=spec.step.params if spec.step else {},
            inputs={name: one.tree for name, one in inputs.items()},
            each=start.run.each,
            environment=spec.image or (environment.tree if environment else ""),
        ).key


def lineage_of(run: FlowRun, step: str = "") -> dict[str, Any]:
    """What commits that the server makes for a run say of it."""
    return {"step": f"{run.written}/{step}" if step else run.written, "flow_run": run.id}


def is_action(context: FlowContext, step: Step) -> bool:
    """True if the server does it itself: a component without a command that registers or deploys."""
    component = context.component(step)
    return component is not None and component.category in _ACTIONS and not component.command


def job_name(run: FlowRun, step: str, index: int | None) -> str:
    """`FLOW-RUN-STEP[-INDEX]`; of long names the beginnings, told apart by a digest."""
    end = "" if index is None else f"-{index}"
    name = f"{run.flow}-{run.number}-{step}{end}"
    if len(name) <= _NAME_MOST:
        return name
    digest = blake3(f"{run.flow} {step}".encode()).hexdigest(3)
    middle = f"-{run.number}-"
    left = _NAME_MOST - len(middle) - len(end) - len(digest) - 1
    flow = run.flow[: max(8, left - len(step))]
    return f"{flow}{middle}{step[: left - len(flow)]}-{digest}{end}"


def _command(step: Step, state: FlowRunState, each: Mapping[str, Any]) -> tuple[str, ...]:
    lookup = lookup_for(state, each)
    return tuple(str(resolve(word, lookup)) for word in step.command)


def _outputs(context: FlowContext, step: Step) -> tuple[StepOutput, ...]:
    ports = context.outputs(step) or {}
    return tuple(StepOutput(port.name, port.type, port.required) for port in ports.values())


def _timeout(flow: Flow, step: Step) -> int:
    return flow.defaults.timeout_seconds if step.timeout_seconds is None else step.timeout_seconds


def _retries(retries: FlowRetries) -> dict[str, Any]:
    """An attempt that was lost is repeated anyhow: a step that is retried for nothing else has no other retries."""
    endings = tuple(one for one in retries.endings if one != LOST)
    count = retries.count if endings or not retries.endings else 0
    return {"retries": count, "retry_on": endings, "backoff_seconds": retries.backoff_seconds}


def _resources(component: Component | None, *, is_placed: bool) -> dict[str, Any]:
    """What a component asks for where no template says it; a GPU that it can do without is left to templates."""
    if component is None:
        return {}
    wanted = component.resources
    processes = {"processes": wanted.processes} if wanted.processes else {}
    if is_placed:
        return processes
    gpus = 0 if wanted.gpu_optional else wanted.gpu_hundredths
    return {**processes, "cpu": wanted.cpu, "memory_bytes": wanted.memory_bytes, "gpu_hundredths": gpus}
