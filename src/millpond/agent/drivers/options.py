"""What is told to a driver on the command line: `--option KEY=VALUE`, checked against the driver's own shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from millpond.errors import BadRequest

Given = Mapping[str, Sequence[str]]


class Options(BaseModel):
    """The shape of a driver's options: a list takes a key several times, everything else takes the last."""

    model_config = ConfigDict(extra="forbid", frozen=True)


T = TypeVar("T", bound=Options)


def parse_options(pairs: Sequence[str]) -> dict[str, list[str]]:
    given: dict[str, list[str]] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise BadRequest(f"{pair!r} is not an option.", hint="Write it as KEY=VALUE, like --option namespace=jobs.")
        given.setdefault(key.replace("-", "_"), []).append(value)
    return given


def checked(shape: type[T], given: Given, driver: str) -> T:
    """The options as the driver wants them; BadRequest names the one that is wrong and those there are."""
    fields = shape.model_fields
    several = {name for name, field in fields.items() if get_origin(field.annotation) in (list, tuple)}
    values = {key: list(found) if key in several else found[-1] for key, found in given.items()}
    try:
        return shape.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0]) if first["loc"] else ""
        if key not in fields:
            hint = f"Options: {', '.join(sorted(fields))}." if fields else "It has no options."
            raise BadRequest(f"The driver {driver} has no option {key!r}.", hint=hint) from None
        message = first["msg"].removeprefix("Value error, ")
        raise BadRequest(f"Invalid option {key} of driver {driver}: {message}.") from None
