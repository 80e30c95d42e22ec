"""Python functions as steps: `@step` reads the signature, and calls nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import update_wrapper
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, get_type_hints

from millpond.model.flow import COMMIT_TYPES, VALUE_TYPES

P = ParamSpec("P")
R = TypeVar("R")

# The argument that receives the folder for outputs.
OUT = "out"


class Out:
    """Types of outputs: values, which the function returns, and files, which it writes to `out / NAME`."""

    int = "int"
    float = "float"
    bool = "bool"
    str = "str"
    list = "list"
    json = "json"
    file = "file"
    directory = "directory"
    table = "table"
    image_folder = "image-folder"
    model = "model"
    metrics = "metrics"


@dataclass(frozen=True, slots=True)
class Signature:
    """What a step function takes: `inputs` are its `Path` arguments, `params` its keyword-only ones with defaults."""

    inputs: tuple[str, ...]
    params: Mapping[str, Any]
    required: frozenset[str]
    takes_out: bool


class StepFunction(Generic[P, R]):
    """A function that can be added to a flow. Calling it calls the function, so it can be tested as it is."""

    def __init__(self, function: Callable[P, R], outputs: Mapping[str, str], options: Mapping[str, Any]) -> None:
        self.function, self.outputs, self.options = function, outputs, options
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def signature(self) -> Signature:
        return read_signature(self.function)


def step(
    *, outputs: Mapping[str, str] | None = None, **options: Any
) -> Callable[[Callable[P, R]], StepFunction[P, R]]:  # fmt: skip
    """Make a function a step. `options` are those of a step in `flow.yaml`: environment, image, template, timeout …

    Arguments annotated with `Path` are inputs, `out` is the folder for outputs, keyword-only arguments are parameters.
    The function returns a dict with its value outputs.
    """
    declared = dict(outputs or {})
    known = VALUE_TYPES | COMMIT_TYPES
    for name, kind in declared.items():
        if kind not in known:
            raise TypeError(f"Output {name!r} cannot be of type {kind!r}. Choose one of: {', '.join(sorted(known))}.")

    def make(function: Callable[P, R]) -> StepFunction[P, R]:
        read_signature(function)
        return StepFunction(function, declared, options)

    return make


def read_signature(function: Callable[..., Any]) -> Signature:
    """TypeError for an argument that is neither an input, `out`, nor a parameter."""
    hints = get_type_hints(function)
    inputs: list[str] = []
    params: dict[str, Any] = {}
    required: set[str] = set()
    takes_out = False
    for name, one in inspect.signature(function).parameters.items():
        if name == OUT:
            takes_out = True
        elif one.kind is inspect.Parameter.KEYWORD_ONLY:
            params[name] = None if one.default is inspect.Parameter.empty else one.default
            required |= {name} if one.default is inspect.Parameter.empty else set()
        elif hints.get(name) is Path:
            inputs.append(name)
        else:
            raise TypeError(
                f"Argument {name!r} of step {function.__name__!r} is neither an input nor a parameter. "
                "Annotate inputs with Path; put parameters behind a '*'."
            )
    return Signature(tuple(inputs), params, frozenset(required), takes_out)
