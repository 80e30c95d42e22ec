"""A flow as its rules look at it: steps with the ports of their components, and every reference with its place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from millpond.decide.flows.document import Document, Path
from millpond.decide.flows.expressions import (
    ExpressionError,
    Ref,
    RefKind,
    Text,
    parse_condition,
    parse_text,
    refs_of,
)
from millpond.decide.flows.fields import at
from millpond.model.component import Component
from millpond.model.flow import Flow, FlowProblem, Param, Port, Step, StepKind

MAX_FAN_OUT = 2_000


@dataclass(frozen=True, slots=True)
class Placed:
    """A text with references, and where it stands. `step` is the one it belongs to, "" outside of steps."""

    path: Path
    step: str
    text: Text


@dataclass(frozen=True)
class FlowContext:
    """`components` by what steps write; one that is not known is missing."""

    flow: Flow
    document: Document
    components: Mapping[str, Component]
    max_fan_out: int = MAX_FAN_OUT

    def problem(self, path: Path, code: str, message: str, hint: str = "", *, at_key: bool = False) -> FlowProblem:
        return self.document.problem(path, code, message, hint, at_key=at_key)

    @cached_property
    def unreadable_steps(self) -> frozenset[str]:
        """Steps that stand in the text with a problem of their own; whoever names them is not to blame."""
        written = at(self.document.value, ("steps",))
        return frozenset(written if isinstance(written, dict) else ()) - self.flow.steps.keys()

    def component(self, step: Step) -> Component | None:
        return self.components.get(step.component or "")

    def inputs(self, step: Step) -> Mapping[str, Port] | None:
        """The declared inputs; None where anything may be given (a command, or a component that is not known)."""
        component = self.component(step)
        return None if component is None else component.inputs

    def params(self, step: Step) -> Mapping[str, Param] | None:
        component = self.component(step)
        return None if component is None else component.params

    def outputs(self, step: Step) -> Mapping[str, Port] | None:
        """None if its component is not known: then nothing can be said about them."""
        if step.kind is StepKind.COMPONENT:
            component = self.component(step)
            return None if component is None else component.outputs
        return step.outputs

    @cached_property
    def texts(self) -> tuple[Placed, ...]:
        """Every text that may hold references, as far as it can be read."""
        return tuple(found for found in self._scanned if isinstance(found, Placed))

    @cached_property
    def unreadable(self) -> tuple[FlowProblem, ...]:
        return tuple(found for found in self._scanned if isinstance(found, FlowProblem))

    @cached_property
    def _scanned(self) -> tuple[Placed | FlowProblem, ...]:
        return tuple(self._scan())

    @cached_property
    def refs(self) -> tuple[tuple[Placed, Ref], ...]:
        return tuple((placed, ref) for placed in self.texts for ref in placed.text.refs)

    @cached_property
    def needs(self) -> Mapping[str, frozenset[str]]:
        """The steps that each step comes after, by data or by order; unknown names are left out."""
        found: dict[str, set[str]] = {name: set(step.after) for name, step in self.flow.steps.items()}
        for placed, ref in self.refs:
            if placed.step and ref.step:
                found[placed.step].add(ref.step)
        return {name: frozenset(needed & self.flow.steps.keys()) for name, needed in found.items()}

    @cached_property
    def optional_datasets(self) -> frozenset[str]:
        """Dataset steps that may be missing: every step that reads them takes them as an optional input."""
        found: dict[str, bool] = {}
        for placed, ref in self.refs:
            step, reader = self.flow.steps.get(ref.step), self.flow.steps.get(placed.step)
            if step is not None and step.kind is StepKind.DATASET:
                is_input = reader is not None and placed.path[2:3] == ("inputs",)
                is_optional = is_input and reader is not None and placed.path[3] in reader.optional_inputs
                found[step.name] = found.get(step.name, True) and is_optional
        return frozenset(name for name, is_optional in found.items() if is_optional)

    def refs_of(self, step: str) -> Sequence[tuple[Placed, Ref]]:
        return self._refs_by_step.get(step, ())

    @cached_property
    def _refs_by_step(self) -> Mapping[str, Sequence[tuple[Placed, Ref]]]:
        found: dict[str, list[tuple[Placed, Ref]]] = defaultdict(list)
        for placed, ref in self.refs:
            found[placed.step].append((placed, ref))
        return found

    @cached_property
    def order(self) -> Sequence[str]:
        """Every step behind those it needs, and as written among those that do not depend on each other."""
        place = {name: number for number, name in enumerate(self.flow.steps)}
        done: dict[str, None] = {}
        for name in self.flow.steps:
            waiting = [name]
            while waiting:
                missing = sorted((one for one in self.needs[waiting[-1]] if one not in done), key=place.__getitem__)
                if missing:
                    waiting += reversed(missing)
                else:
                    done[waiting.pop()] = None
        return list(done)

    def type_of(self, ref: Ref) -> str | None:
        """The type of what a reference stands for; None if that is not known before the flow runs."""
        match ref.kind:
            case RefKind.PARAM:
                param = self.flow.params.get(ref.name)
                return param.type if param else None
            case RefKind.STEP:
                return "directory"
            case RefKind.OUTPUT | RefKind.OUTPUTS:
                step = self.flow.steps.get(ref.step)
                port = (self.outputs(step) or {}).get(ref.name) if step else None
                return port.type if port else None
            case RefKind.FIXED:
                return "str"
            case RefKind.EACH:
                return None

    def _scan(self) -> Iterator[Placed | FlowProblem]:
        for name, step in self.flow.steps.items():
            path: Path = ("steps", name)
            for key in ("dataset", "component", "command", "environment", "image", "template", "templates", "queue"):
                yield from self._read((*path, key), name, at(self.document.value, (*path, key)))
            for key in ("inputs", "params", "each", "approval"):
                yield from self._read((*path, key), name, at(self.document.value, (*path, key)))
            if step.when is not None:
                yield from self._condition((*path, "when"), name, step.when)
        for index, publication in enumerate(self.flow.publish):
            yield from self._read(("publish", index, "output"), "", publication.output)

    def _read(self, path: Path, step: str, value: Any) -> Iterator[Placed | FlowProblem]:
        if isinstance(value, dict):
            for key, item in value.items():
                yield from self._read((*path, key), step, item)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from self._read((*path, index), step, item)
        elif isinstance(value, str) and "${" in value:
            try:
                yield Placed(path, step, parse_text(value))
            except ExpressionError as error:
                yield self.problem(path, "expression", error.message, error.hint)

    def _condition(self, path: Path, step: str, text: str) -> Iterator[Placed | FlowProblem]:
        try:
            # Its references with a literal before them: none of them is the whole text.
            yield Placed(path, step, Text(("", *refs_of(parse_condition(text)))))
        except ExpressionError as error:
            yield self.problem(path, "expression", error.message, error.hint)
