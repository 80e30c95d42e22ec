"""Whether a value may stand for a parameter: type, bounds, choices. For flows, components, forms and `--set` alike."""

from __future__ import annotations

import json
import math
from typing import Any

from millpond.errors import BadRequest
from millpond.model.flow import Param


def why_wrong(param: Param, value: Any) -> str | None:
    """Why the value cannot be that of the parameter, in words; None if it can."""
    if value is None:
        return f"{param.name} needs a value." if param.is_required else None
    if not _is_of(param.type, value):
        return f"{param.name} must be {_ARTICLES.get(param.type, param.type)}, not {value!r}."
    if param.choices and value not in param.choices:
        return f"{param.name} cannot be {value!r}: choose one of {', '.join(map(str, param.choices))}."
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _out_of_bounds(param, value)
    return None


def parse_value(param: Param, text: str) -> Any:
    """What was written after `--set NAME=` as a value of the parameter's type. BadRequest if it cannot be one."""
    value = _PARSERS[param.type](text) if param.type in _PARSERS else text
    if param.type == "enum":
        value = next((choice for choice in param.choices if str(choice) == text), text)
    wrong = why_wrong(param, value)
    if wrong:
        raise BadRequest(wrong, hint=param.help or None)
    return value


def _is_of(kind: str, value: Any) -> bool:
    match kind:
        case "int":
            return isinstance(value, int) and not isinstance(value, bool)
        case "float":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "bool":
            return isinstance(value, bool)
        case "str" | "dataset" | "secret":
            return isinstance(value, str)
        case "list":
            return isinstance(value, list)
        case "enum":
            return isinstance(value, str | int | float)
    return True


def _out_of_bounds(param: Param, value: float) -> str | None:
    if isinstance(value, float) and math.isnan(value):
        return f"{param.name} must be a number, not NaN."
    if param.min is not None and (value <= param.min if param.exclusive_min else value < param.min):
        return (
            f"{param.name} must be {'more than' if param.exclusive_min else 'at least'} {param.min:g}, not {value:g}."
        )
    if param.max is not None and value > param.max:
        return f"{param.name} must be at most {param.max:g}, not {value:g}."
    return None


_ARTICLES = {
    "int": "a whole number", "float": "a number", "bool": "true or false", "str": "text", "list": "a list",
    "dataset": "a dataset like name@ref", "secret": "the name of a secret",
}  # fmt: skip


def _as_number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _as_bool(text: str) -> Any:
    return {"true": True, "false": False}.get(text.lower(), text)


def _as_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


_PARSERS = {"int": _as_number, "float": _as_number, "bool": _as_bool, "list": _as_json, "json": _as_json}
