"""A hyperparameter search as a YAML file: `mill search run search.yaml` (docs/searches.md)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millpond.client.task_file import Task, read_task, read_text, task_of
from millpond.client.yaml_text import read_yaml
from millpond.decide.flows.document import read_document
from millpond.decide.flows.fields import Fields
from millpond.decide.searches.check import problems_of
from millpond.errors import BadRequest
from millpond.model.flow import FlowProblem
from millpond.model.search import (
    MAX_PARALLEL,
    MAX_SEED,
    MAX_TRIALS,
    SCHEMA,
    Direction,
    Method,
    Objective,
    Parameter,
    Pruning,
    Reading,
    SearchSpec,
)

_KEYS = (
    "schema", "name", "job", "parameters", "method", "objective", "objectives", "pruning", "max_trials", "parallel",
    "max_failed", "seed", "max_time",
)  # fmt: skip
_PARAMETER = ("values", "min", "max", "log", "step", "type", "when")
_OBJECTIVE = ("metric", "direction", "reading", "target")


@dataclass(frozen=True, slots=True)
class SearchFile:
    """Content of a search file. `spec.job` has no code and environment yet: the client uploads those."""

    name: str | None
    task: Task
    spec: SearchSpec


def read_search(file: Path) -> SearchFile:
    """Raises BadRequest with every mistake: line, column and, for an unknown key, the nearest known one."""
    content = read_text(file)
    document, problems = read_document(content)
    _raise(file, problems)
    fields = Fields(document, (), problems)
    if not fields.is_mapping:
        raise BadRequest(f"{file}:1:1: A search file is a mapping.", hint="See docs/searches.md")
    fields.only(_KEYS)
    if fields.text("schema", SCHEMA) != SCHEMA:
        fields.note(("schema",), "schema", f"Unknown schema {fields.text('schema')!r}.", f"Write {SCHEMA}.")
    if "job" not in fields:
        fields.note((), "job", "No job given.", "Add `job:` with the fields of a task file, or the path of one.")
    _raise(file, problems)
    task = _task(file, content, fields.value["job"])
    spec = _spec(fields, task)
    _raise(file, problems)
    _raise(file, [document.problem(one.path, "search", one.message, one.hint or "") for one in problems_of(spec)])
    return SearchFile(fields.optional_text("name"), task, spec)


def _task(file: Path, content: str, job: Any) -> Task:
    if isinstance(job, str):
        task = read_task(file.parent / job)
    else:
        task = task_of(read_yaml(content, str(file)).inside("job"), file.parent)
    if "command" not in task.document:
        raise BadRequest(f"{file}: The job has no command.", hint="Add `command: python train.py` below `job:`.")
    return task


def _spec(fields: Fields, task: Task) -> SearchSpec:
    return SearchSpec(
        job=task.request().spec,
        parameters=tuple(_parameter(fields, name) for name in fields.mapping("parameters")),
        method=Method(fields.choice("method", [one.value for one in Method], Method.TPE.value)),
        objectives=_objectives(fields),
        pruning=_pruning(fields),
        max_trials=fields.number("max_trials", None, least=1, most=MAX_TRIALS),
        parallel=fields.number("parallel", 2, least=1, most=MAX_PARALLEL),
        max_failed=fields.number("max_failed", None, least=1, most=MAX_TRIALS),
        seed=fields.number("seed", 0, most=MAX_SEED),
        max_seconds=fields.seconds("max_time", 0),
    )


def _parameter(fields: Fields, name: str) -> Parameter:
    value = fields.mapping("parameters")[name]
    if not isinstance(value, dict):
        return Parameter(name=name, values=_values(fields, ("parameters", name), value))
    inside = fields.inside("parameters").inside(name)
    inside.only(_PARAMETER)
    kind = inside.choice("type", ("int", "float"), "float") if "type" in inside else None
    return Parameter(
        name=name,
        values=_values(inside, ("values",), value["values"]) if "values" in inside else (),
        min=_number(inside, "min"),
        max=_number(inside, "max"),
        log=inside.flag("log", False),
        step=_number(inside, "step"),
        type="int" if kind == "int" else "float" if kind else None,
        when={other: _values(inside, ("when", other), one) for other, one in inside.mapping("when").items()},
    )


def _values(fields: Fields, path: tuple[str, ...], value: Any) -> tuple[Any, ...]:
    """A list of values, or one alone."""
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(one, bool | int | float | str) for one in values):
        fields.note(path, "type", f"{path[-1]}: values must be texts, numbers, true or false.")
        return ()
    return tuple(values)


def _number(fields: Fields, key: str) -> int | float | None:
    value = fields.value.get(key)
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    fields.note((key,), "type", f"{key} must be a number.")
    return None


def _objectives(fields: Fields) -> tuple[Objective, ...]:
    if "objective" in fields and "objectives" in fields:
        fields.note(("objectives",), "value", "Give either objective or objectives.", "Remove one.", at_key=True)
        return ()
    if "objectives" not in fields:
        return (_objective(fields.inside("objective")),) if "objective" in fields else ()
    value = fields.value["objectives"]
    if not isinstance(value, list):
        fields.note(("objectives",), "type", "objectives must be a list.")
        return ()
    paths = [(*fields.path, "objectives", place) for place in range(len(value))]
    return tuple(_objective(Fields(fields.document, path, fields.problems)) for path in paths)


def _objective(fields: Fields) -> Objective:
    fields.only(_OBJECTIVE)
    metric = fields.text("metric")
    if not metric:
        fields.note((), "value", "An objective needs a metric.", "Add `metric: val_loss`.")
    return Objective(
        metric=metric,
        direction=Direction(fields.choice("direction", [one.value for one in Direction], Direction.MINIMIZE.value)),
        reading=Reading(fields.choice("reading", [one.value for one in Reading], Reading.LAST.value)),
        target=_number(fields, "target"),
    )


def _pruning(fields: Fields) -> Pruning | None:
    if fields.value.get("pruning") in (None, False):
        return None
    if fields.value["pruning"] in (True, "asha"):
        return Pruning()
    inside = fields.inside("pruning")
    inside.only(("method", "min_step", "factor"))
    inside.choice("method", ("asha",), "asha")
    return Pruning(
        min_step=inside.number("min_step", 1, least=1, most=10**12),
        factor=inside.number("factor", 3, least=2, most=100),
    )


def _raise(file: Path, problems: list[FlowProblem]) -> None:
    if problems:
        lines = [f"{file}:{one.line}:{one.column}: {one.message}" for one in problems]
        raise BadRequest("\n".join(lines), hint=problems[0].hint or None)
