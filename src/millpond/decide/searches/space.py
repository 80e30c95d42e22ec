"""The combinations of parameters that a search can try: how many there are, and those of a grid one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from millpond.model.search import Method, Parameter, Params, ParamValue, SearchSpec

DEFAULT_TRIALS = 20
# Float steps rarely add up exactly: 0.1 + 0.2 is still inside a range that ends at 0.3.
_SLACK = 1e-9


def points_of(parameter: Parameter) -> int | None:
    """How many values a parameter can have; None for a range without steps."""
    if not parameter.is_range:
        return len(parameter.values)
    if parameter.min is None or parameter.max is None:
        return 0
    step = parameter.step or (1 if parameter.is_whole else None)
    if step is None:
        return 1 if parameter.min == parameter.max else None
    return math.floor((parameter.max - parameter.min) / step + _SLACK) + 1


def values_of(parameter: Parameter) -> Sequence[ParamValue]:
    """Every value of a parameter that has finitely many."""
    if not parameter.is_range:
        return parameter.values
    count, low, step = points_of(parameter), parameter.min or 0, parameter.step or 1
    if parameter.is_whole:
        return [int(low + index * step) for index in range(count or 0)]
    # Rounded, so that 0.1 * 3 is written 0.3.
    return [float(f"{low + index * step:.12g}") for index in range(count or 0)]


def combinations(parameters: Sequence[Parameter]) -> int | None:
    """How many different trials there are; None if without end. One that depends on another counts where it is used."""
    counts = [points_of(parameter) for parameter in parameters]
    if any(count is None for count in counts):
        return None
    if not any(parameter.when for parameter in parameters):
        return math.prod(count or 0 for count in counts)
    return _count(parameters, 0, {})


def grid(parameters: Sequence[Parameter], begin: int = 0) -> Iterator[Params]:
    """Every combination from number `begin` on, the last parameter changing fastest."""
    if any(parameter.when for parameter in parameters):
        yield from _dependent(parameters, begin)
        return
    choices = [values_of(parameter) for parameter in parameters]
    for number in range(begin, math.prod(map(len, choices))):
        yield _numbered(parameters, choices, number)


def most_trials(spec: SearchSpec) -> int:
    """How many trials a search runs at most."""
    total = combinations(spec.parameters)
    wanted = spec.max_trials or (total if spec.method is Method.GRID and total is not None else DEFAULT_TRIALS)
    return wanted if total is None else min(wanted, total)


def _numbered(parameters: Sequence[Parameter], choices: Sequence[Sequence[ParamValue]], number: int) -> Params:
    found: dict[str, ParamValue] = {}
    for parameter, values in zip(reversed(parameters), reversed(choices), strict=True):
        number, place = divmod(number, len(values))
        found[parameter.name] = values[place]
    return {parameter.name: found[parameter.name] for parameter in parameters}


def _dependent(parameters: Sequence[Parameter], begin: int) -> Iterator[Params]:
    for number, params in enumerate(_walk(parameters, 0, {})):
        if number >= begin:
            yield params


def _walk(parameters: Sequence[Parameter], place: int, chosen: Params) -> Iterator[Params]:
    if place == len(parameters):
        yield chosen
        return
    parameter = parameters[place]
    if not parameter.is_used(chosen):
        yield from _walk(parameters, place + 1, chosen)
        return
    for value in values_of(parameter):
        yield from _walk(parameters, place + 1, {**chosen, parameter.name: value})


def _count(parameters: Sequence[Parameter], place: int, chosen: Params) -> int:
    """Without walking parameters that no other depends on: those only multiply."""
    if place == len(parameters):
        return 1
    parameter = parameters[place]
    if not parameter.is_used(chosen):
        return _count(parameters, place + 1, chosen)
    if not any(parameter.name in other.when for other in parameters[place + 1 :]):
        return (points_of(parameter) or 0) * _count(parameters, place + 1, chosen)
    return sum(
        _count(parameters, place + 1, {**chosen, parameter.name: value}) for value in values_of(parameter)
    )  # fmt: skip
