"""Shapes that cost nothing before they are used: loading pydantic takes longer than all else a command does first.

Each stands for the shape of the same name in the module it names (`of`), and has those of its fields that are needed.
A test holds every one of them against that shape, so there is one promise.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from types import UnionType
from typing import Any, ClassVar, NoReturn, Self, Union, dataclass_transform, get_args, get_origin, get_type_hints

from millpond.errors import MillError

_Read = Callable[[Any], Any]
# Worked out when a shape is first used.
_FIELDS: dict[type, Mapping[str, _Read]] = {}


@dataclass_transform(kw_only_default=True, frozen_default=True)
class QuickShape:
    """A frozen value. It is sent and read by the names that pydantic has for that."""

    of: ClassVar[str]

    def __init_subclass__(cls, *, of: str) -> None:
        cls.of = of

    def __init__(self, **values: Any) -> None:
        fields = quick_fields(type(self))
        if wrong := values.keys() - fields or {name for name in fields if not hasattr(self, name)} - values.keys():
            raise TypeError(f"{type(self).__name__}: {', '.join(sorted(wrong))}")
        self.__dict__.update(values)

    @classmethod
    def model_validate_json(cls, content: bytes, /) -> Self:
        """ValueError for what is not JSON of this shape; fields that are not known are passed over."""
        return cls.model_validate(json.loads(content))

    @classmethod
    def model_validate(cls, document: Any, /) -> Self:
        given = _exactly(dict, document)
        fields = quick_fields(cls)
        for name in fields:
            if name not in given and not hasattr(cls, name):
                raise ValueError(f"{name} is missing")
        made = cls(**{name: read(given[name]) for name, read in fields.items() if name in given})
        made.__dict__["_document"] = given
        return made

    def model_dump_json(self) -> str:
        return json.dumps(_values(self), default=_plain)

    def model_dump(self, *, mode: str) -> Any:
        """All that the answer held, also what this shape has no field for; for programs, so it may take its time."""
        whole = getattr(importlib.import_module(self.of), type(self).__name__)
        document = self.__dict__.get("_document") or json.loads(self.model_dump_json())
        try:
            return whole.model_validate(document).model_dump(mode=mode)
        except ValueError as error:
            raise MillError(
                f"The server answered something that is not a {type(self).__name__}.",
                hint="Is it of a version that fits? Compare: mill version",
            ) from error

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _values(other) == _values(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in _values(self).items())})"


def quick_fields(shape: type[QuickShape]) -> Mapping[str, _Read]:
    """The fields of a shape, each with what reads it from JSON or raises a ValueError."""
    if shape not in _FIELDS:
        hints = get_type_hints(shape)
        _FIELDS[shape] = {name: _reader(hints[name]) for name in shape.__annotations__}
    return _FIELDS[shape]


def _values(shape: Any) -> dict[str, Any]:
    return {name: getattr(shape, name) for name in quick_fields(type(shape))}


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else _values(value)


def _reader(hint: Any) -> _Read:
    kind, inner = get_origin(hint), get_args(hint)
    if kind in (Union, UnionType):  # of something and None
        some = _reader(inner[0])
        return lambda value: None if value is None else some(value)
    if kind is list:
        item = _reader(inner[0])
        return lambda value: [item(one) for one in _exactly(list, value)]
    if kind is dict:
        item = _reader(inner[1])
        return lambda value: {key: item(one) for key, one in _exactly(dict, value).items()}
    if hint is object:
        return lambda value: value
    if hint is datetime:
        return _moment
    if issubclass(hint, QuickShape):
        return partial(hint.model_validate)
    return partial(hint) if issubclass(hint, Enum) else partial(_exactly, hint)


def _exactly(kind: type, value: Any) -> Any:
    if type(value) is kind:
        return value
    raise ValueError(f"{str(value)[:40]!r} is no {kind.__name__}")


def _moment(value: Any) -> datetime:
    moment = datetime.fromisoformat(_exactly(str, value))
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
