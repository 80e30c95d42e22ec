"""Says what is wrong with the specification of a search, each problem with the field that it is about."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from millpond.decide.searches.commands import names_in, texts_of
from millpond.decide.searches.space import combinations, points_of
from millpond.model.job_spec import JobKind
from millpond.model.quantity import format_count
from millpond.model.search import MAX_TRIALS, Method, Parameter, SearchSpec

Path = tuple[str | int, ...]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_CLOSE = 0.75


@dataclass(frozen=True, slots=True)
class SearchProblem:
    path: Path
    message: str
    hint: str | None = None


def problems_of(spec: SearchSpec) -> Iterator[SearchProblem]:
    """In the order of the fields; nothing for one that can run."""
    yield from _parameters(spec)
    yield from _command(spec)
    yield from _objectives(spec)
    yield from _size(spec)
    if spec.job.kind is not JobKind.TRAINING:
        yield SearchProblem(("job",), "The trials of a search cannot be interactive jobs.", "Remove what asks for it.")


def _parameters(spec: SearchSpec) -> Iterator[SearchProblem]:
    if not spec.parameters:
        yield SearchProblem(("parameters",), "No parameters given.", "Add one, like `lr: [0.1, 0.01]`.")
    before: dict[str, Parameter] = {}
    for parameter in spec.parameters:
        path = ("parameters", parameter.name)
        if not _NAME.fullmatch(parameter.name):
            yield SearchProblem(path, f"{parameter.name!r} is not a name of a parameter.", "Use letters, digits, _ - .")
        if parameter.name in before:
            yield SearchProblem(path, f"Parameter {parameter.name!r} is given twice.", "Remove one of them.")
        problem = _range(parameter) if parameter.is_range else _values(parameter)
        if problem is not None:
            yield SearchProblem(path, f"{parameter.name}: {problem}")
        elif spec.method is Method.GRID and points_of(parameter) is None:
            yield SearchProblem(
                path, f"{parameter.name}: a grid needs values.", "List them, give a step, or use method random or tpe."
            )
        yield from _condition(parameter, before)
        before[parameter.name] = parameter


def _values(parameter: Parameter) -> str | None:
    if parameter.min is not None or parameter.max is not None or parameter.step is not None or parameter.log:
        return "give either values, or min and max."
    if len(set(map(repr, parameter.values))) < len(parameter.values):
        return "a value is listed twice."
    if any(isinstance(value, float) and not math.isfinite(value) for value in parameter.values):
        return "values must be finite."
    if any(isinstance(value, str) and (not value or "\0" in value) for value in parameter.values):
        return "a value must not be empty or contain a zero byte."
    return None


def _range(parameter: Parameter) -> str | None:
    low, high, step = parameter.min, parameter.max, parameter.step
    if low is None or high is None:
        return "give a list of values, or min and max."
    if not all(math.isfinite(number) for number in (low, high, step or 0)):
        return "min, max and step must be finite."
    if low > high:
        return f"min ({low}) must be at most max ({high})."
    if step is not None and step <= 0:
        return "step must be above 0."
    if parameter.type == "int" and not all(float(number).is_integer() for number in (low, high, step or 1)):
        return "min, max and step of whole numbers must be whole."
    if parameter.log and low <= 0:
        return "min must be above 0 on a logarithmic scale."
    if parameter.log and step is not None:
        return "log and step cannot be combined."
    return None


def _condition(parameter: Parameter, before: dict[str, Parameter]) -> Iterator[SearchProblem]:
    for name, wanted in parameter.when.items():
        path = ("parameters", parameter.name, "when", name)
        parent = before.get(name)
        if parent is None:
            near = difflib.get_close_matches(name, before, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else "A parameter can depend on those listed before it."
            yield SearchProblem(path, f"{parameter.name}: no parameter {name!r} is listed before it.", hint)
        elif parent.is_range or not all(value in parent.values for value in wanted):
            listed = ", ".join(map(str, parent.values)) or "it is a range"
            message = f"{parameter.name}: {name} never has the value {', '.join(map(str, wanted))}."
            yield SearchProblem(path, message, f"Its values: {listed}.")


def _command(spec: SearchSpec) -> Iterator[SearchProblem]:
    known = {parameter.name: parameter for parameter in spec.parameters}
    for written in names_in(texts_of(spec.job)):
        if written in known and known[written].when:
            message = f"{{{written}}} cannot stand in the command: {written} is not used in every trial."
            yield SearchProblem(
                ("job", "command"), message, f"Remove it: --{written} VALUE is appended where it is used."
            )
        near = difflib.get_close_matches(written, known, n=1, cutoff=_CLOSE)
        if written not in known and near:
            yield SearchProblem(
                ("job", "command"), f"No parameter is called {{{written}}}.", f"Did you mean {{{near[0]}}}?"
            )


def _objectives(spec: SearchSpec) -> Iterator[SearchProblem]:
    metrics = [objective.metric for objective in spec.objectives]
    if not metrics and spec.method is Method.TPE:
        yield SearchProblem(
            ("objective",),
            "Method tpe needs an objective.",
            "Add `objective: {metric: val_loss, direction: minimize}`.",
        )
    if any("\0" in metric for metric in metrics):
        yield SearchProblem(("objectives",), "The name of a metric must not contain a zero byte.")
    if len(set(metrics)) < len(metrics):
        yield SearchProblem(("objectives",), "A metric is listed twice.", "Remove one of them.")
    if any(one.target is not None and not math.isfinite(one.target) for one in spec.objectives):
        yield SearchProblem(("objectives",), "A target must be a finite number.")
    if spec.pruning is not None and not spec.is_single:
        message = "Pruning needs exactly one objective." if metrics else "Pruning needs an objective."
        yield SearchProblem(("pruning",), message, "Remove `pruning`, or name the one metric it compares.")


def _size(spec: SearchSpec) -> Iterator[SearchProblem]:
    total = combinations(spec.parameters)
    if spec.method is Method.GRID and total is not None and total > MAX_TRIALS:
        written = format_count(total, "combination")
        yield SearchProblem(
            ("parameters",),
            f"The grid has {written}; a search runs at most {MAX_TRIALS:,} trials.",
            "List fewer values, or use method random or tpe with max_trials.",
        )
