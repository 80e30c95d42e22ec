"""The flow as an object: steps are added, handles connect them, `to_yaml()` is the `flow.yaml` they stand for."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from millpond.flows.functions import StepFunction
from millpond.flows.references import Dataset, Outputs, Reference, plain
from millpond.library.catalog import Catalog
from millpond.model.component import Component, ComponentRef
from millpond.model.flow import FLOW_SCHEMA

if TYPE_CHECKING:
    from millpond.client.flows.flow import Flow as SavedFlow
    from millpond.client.flows.flow import FlowRun

# Options that every step with work takes, as in `flow.yaml`.
_OPTIONS = frozenset({
    "after", "each", "environment", "image", "priority", "queue", "remember", "retries", "template", "templates",
    "timeout", "when",
})  # fmt: skip
_FLOW_OPTIONS = frozenset({"description", "defaults", "concurrency", "max_parallel", "on_failure", "run_as"})


class StepHandle(Outputs):
    """A step of a flow. `handle["name"]` is an output, `handle.all["name"]` the outputs of all its executions."""

    def __init__(self, name: str, document: dict[str, Any], outputs: frozenset[str] | None) -> None:
        super().__init__(name, outputs, f"steps.{name}")
        self.name = name
        self.all = Outputs(name, outputs, f"steps.{name}[*]")
        self._document = document

    def options(self, **given: Any) -> StepHandle:
        """Set options of the step: template, queue, retries, timeout, each, when, after … Returns the handle."""
        _only(given, _OPTIONS, f"step {self.name!r}")
        if "after" in given:
            after = given["after"]
            listed = [after] if isinstance(after, StepHandle | str) else after
            given["after"] = [one.name if isinstance(one, StepHandle) else one for one in listed]
        self._document.update({key: plain(value) for key, value in given.items()})
        return self


class Flow:
    """A flow. Adding a step only describes it; nothing runs before `run()` or `mill flow run`."""

    def __init__(self, name: str, *, code: str = ".", components: Sequence[Path] = (), **options: Any) -> None:
        """`code`: folder of its functions, relative to the script. `options`: description, max_parallel, defaults …"""
        _only(options, _FLOW_OPTIONS, f"flow {name!r}")
        self.name, self._code = name, code
        self._options = {key: plain(value) for key, value in options.items()}
        self._params: dict[str, Any] = {}
        self._steps: dict[str, dict[str, Any]] = {}
        self._lists: dict[str, list[dict[str, Any]]] = {"publish": [], "triggers": []}
        self._script = Path(inspect.stack()[1].filename)
        self._catalog = Catalog([self._script.parent / "components", *components])

    def param(self, name: str, type: str = "str", **settings: Any) -> Reference:
        """Add a parameter: a field of the Run form. `settings`: default, min, max, choices, help, optional."""
        self._params[name] = {"type": type, **plain(settings)}
        return Reference(f"params.{name}")

    def dataset(self, name: str, ref: str | Reference, *, cached: str = "near") -> Reference:
        """Add a dataset node."""
        self._add(name, {"dataset": plain(ref), "cached": cached})
        return Reference(f"steps.{name}")

    def add(self, what: StepFunction[..., Any] | str, *, name: str | None = None, **given: Any) -> StepHandle:
        """Add a `@step` function, or a component of the library (`split@1`), with its inputs and parameters."""
        if isinstance(what, str):
            return self._add_component(what, name, given)
        inputs, params = _arguments(what, given)
        document: dict[str, Any] = {
            "command": ["python", "-m", "millpond.flows.call", _script_of(what), what.name],
            "code": self._code,
            **_nonempty(inputs=self._inputs(inputs), params=plain(params)),
            **_nonempty(outputs={key: {"type": kind} for key, kind in what.outputs.items()}),
        }
        step = self._add(name or what.name, document, frozenset(what.outputs))
        return step.options(**what.options)

    def command(
        self,
        name: str,
        command: Sequence[str],
        *,
        inputs: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        outputs: Mapping[str, str] | None = None,
        code: str | None = None,
    ) -> StepHandle:
        """Add a step that runs a command, like a plain script."""
        document = {
            "command": plain(list(command)),
            "code": code or self._code,
            **_nonempty(inputs=self._inputs(inputs or {}), params=plain(dict(params or {}))),
            **_nonempty(outputs={key: {"type": kind} for key, kind in (outputs or {}).items()}),
        }
        return self._add(name, document, frozenset(outputs or {}))

    def approval(self, name: str, **settings: Any) -> StepHandle:
        """Add a gate that waits for a person. `settings`: role, message, timeout."""
        _only(settings, frozenset({"role", "message", "timeout"}), f"approval {name!r}")
        return self._add(name, {"approval": plain(settings)}, frozenset())

    def publish(self, output: Reference, to: str) -> None:
        """Move a branch to an output after the run succeeded."""
        self._lists["publish"].append({"output": str(output), "to": to})

    def trigger(self, type: str, **settings: Any) -> None:
        """Start runs by themselves: `flow.trigger("cron", cron="0 3 * * 1", timezone="Europe/Berlin")`."""
        self._lists["triggers"].append({"type": type, **plain(settings)})

    def to_yaml(self) -> str:
        """The text of `flow.yaml`. Equal flows give equal texts."""
        document = {
            "schema": FLOW_SCHEMA,
            "name": self.name,
            **self._options,
            **_nonempty(params=self._params),
            "steps": self._steps,
            **_nonempty(**self._lists),
        }
        text: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
        return text

    def save(self, *, server: str | None = None, project: str | None = None) -> SavedFlow:
        """Save it on the server with its code: a new version only if something changed."""
        from millpond.client.flows.flow import Flow as Saved  # noqa: PLC0415 - steps need nothing of it
        from millpond.client.flows.flow_file import FlowFile  # noqa: PLC0415

        return Saved.save(FlowFile(self._script, self.to_yaml()), server=server, project=project)

    def run(
        self,
        params: Mapping[str, Any] | None = None,
        *,
        wait: bool = False,
        server: str | None = None,
        project: str | None = None,
        **options: Any,
    ) -> FlowRun:
        """Save it and start a run on the server. `options` are those of `millpond.Flow.run`: on, only, remember …"""
        return self.save(server=server, project=project).run(params, wait=wait, **options)

    def _add_component(self, what: str, name: str | None, given: dict[str, Any]) -> StepHandle:
        component = self._catalog.component(ComponentRef.parse(what))
        is_input = _input_test(component)
        inputs = {key: value for key, value in given.items() if is_input(key, value)}
        params = {key: value for key, value in given.items() if key not in inputs}
        document = {"component": what, **_nonempty(inputs=self._inputs(inputs), params=plain(params))}
        outputs = frozenset(component.outputs) if component else None
        return self._add(name or what.partition("@")[0], document, outputs)

    def _add(self, name: str, document: dict[str, Any], outputs: frozenset[str] | None = None) -> StepHandle:
        if name in self._steps:
            raise ValueError(f"Flow {self.name!r} already has a step {name!r}. Give it another: name=…")
        self._steps[name] = document
        return StepHandle(name, document, outputs)

    def _inputs(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {key: plain(self._input(key, value)) for key, value in given.items()}

    def _input(self, key: str, value: Any) -> Any:
        if isinstance(value, Dataset):
            name = key if key not in self._steps else f"{key}-data"
            return self.dataset(name, value.ref, cached=value.cached)
        if isinstance(value, Reference | str):
            return value
        if isinstance(value, StepHandle):
            raise TypeError(f"Input {key!r} is the step {value.name!r}. Choose one of its outputs: step['NAME'].")
        raise TypeError(f"Input {key!r} must be an output of a step or a dataset, not {value!r}.")


class _Dumper(yaml.SafeDumper):
    """Without anchors: a list that stands twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _arguments(what: StepFunction[..., Any], given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Inputs and parameters of a function, defaults included. TypeError for what it does not take or lacks."""
    takes = what.signature
    _only(given, frozenset({*takes.inputs, *takes.params}), f"step {what.name!r}")
    missing = [name for name in (*takes.inputs, *sorted(takes.required)) if name not in given]
    if missing:
        raise TypeError(f"Step {what.name!r} needs {', '.join(missing)}.")
    params = {name: given.get(name, default) for name, default in takes.params.items()}
    return {name: given[name] for name in takes.inputs}, params


def _input_test(component: Component | None) -> Any:
    """True for what is an input of a component; of one that is not installed here, what is taken from another step."""
    if component is not None:
        inputs = component.inputs
        return lambda key, value: key in inputs
    return lambda key, value: (
        isinstance(value, Dataset) or (isinstance(value, Reference) and value.path.startswith("steps."))
    )


def _script_of(what: StepFunction[..., Any]) -> str:
    return Path(inspect.getfile(what.function)).name


def _nonempty(**parts: Any) -> dict[str, Any]:
    return {key: value for key, value in parts.items() if value}


def _only(given: Mapping[str, Any], known: frozenset[str], what: str) -> None:
    unknown = sorted(given.keys() - known)
    if unknown:
        raise TypeError(f"Unknown argument {unknown[0]!r} of {what}. Known: {', '.join(sorted(known)) or 'none'}.")
