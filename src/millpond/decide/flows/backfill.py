"""Backfills: the choices of parameters that ranges and lists stand for, and which of them start now."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import product
from math import prod
from typing import Any

from millpond.decide.flows.fields import nearest
from millpond.decide.flows.values import parse_value, why_wrong
from millpond.errors import BadRequest
from millpond.model.flow import Param

_RANGE = re.compile(r"(.+?)\.\.(.+)")
_WHOLE = re.compile(r"[+-]?[0-9]{1,15}")
# Parameters whose text may hold commas and dots of its own.
_ONE_VALUE = ("list", "json")


@dataclass(frozen=True, slots=True)
class Room:
    """How many runs may go on. `limit` is that of the flow (0: none), `living` counts all of its runs, `own` those of
    the backfill."""

    max_parallel: int
    limit: int
    living: int
    own: int

    @property
    def left(self) -> int:
        free = self.max_parallel - self.own
        return max(0, min(free, self.limit - self.living) if self.limit else free)

    @property
    def reason(self) -> str:
        """Why nothing more starts; empty if it may."""
        if self.left:
            return ""
        if self.own >= self.max_parallel:
            return f"Waits: {self.own} of at most {self.max_parallel} at once are going on."
        return f"Waits: the flow lets {self.limit} run at once."


def expand(params: Mapping[str, Param], given: Mapping[str, Any], most: int) -> list[dict[str, Any]]:
    """Every choice of parameters, the last one changing fastest. BadRequest for what is unknown, wrong or too much."""
    for name in given:
        if name not in params:
            raise BadRequest(f"The flow has no parameter {name!r}.", hint=nearest(name, params))
    values = {name: values_of(params[name], value, most) for name, value in given.items()}
    count = prod(len(one) for one in values.values())
    if count > most:
        raise BadRequest(f"That is {count:,} runs; at most {most:,} are possible.", hint="Give shorter ranges.")
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def values_of(param: Param, given: Any, most: int) -> list[Any]:
    """`2026-01-01..2026-01-31`, `1..10`, `a,b,c`, one value, or a list of values; each of the parameter's type."""
    if isinstance(given, list) and param.type not in _ONE_VALUE:
        values = given
    elif not isinstance(given, str):
        values = [given]
    elif param.type in _ONE_VALUE:
        values = [parse_value(param, given)]
    else:
        texts = [text for part in given.split(",") for text in _range(param.name, part.strip(), most)]
        values = [parse_value(param, text) for text in texts]
    if wrong := next((why for value in values if (why := why_wrong(param, value))), None):
        raise BadRequest(wrong, hint=param.help or None)
    if not values:
        raise BadRequest(f"{param.name} has no values.", hint=f"Write a range or a list, like {param.name}=1..10.")
    return list({repr(value): value for value in values}.values())


def _range(name: str, text: str, most: int) -> Sequence[str]:
    if not text:
        raise BadRequest(f"{name} has an empty value.", hint=f"Write a list without gaps, like {name}=a,b.")
    match = _RANGE.fullmatch(text)
    if match is None:
        return [text]
    first, last = match[1].strip(), match[2].strip()
    if _WHOLE.fullmatch(first) and _WHOLE.fullmatch(last):
        count = int(last) - int(first) + 1
        _check_count(text, count, most)
        return [str(int(first) + number) for number in range(count)]
    begin, end = _date(first), _date(last)
    if begin is None or end is None:
        raise BadRequest(
            f"{name}={text} is not a range of dates or whole numbers.",
            hint=f"Write it like {name}=2026-01-01..2026-01-31 or {name}=1..10.",
        )
    count = (end - begin).days + 1
    _check_count(text, count, most)
    return [(begin + timedelta(days=number)).isoformat() for number in range(count)]


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


def _check_count(text: str, count: int, most: int) -> None:
    if count < 1:
        raise BadRequest(f"{text} ends before it begins.", hint="Write the first value first.")
    if count > most:
        raise BadRequest(f"{text} has {count:,} values; at most {most:,} are possible.", hint="Give shorter ranges.")
