"""Frozen dataclasses as JSON documents, and back.

A document leaves out fields that have their default value, so defaults are part of a document's format: they never
change, and a field that is added later changes no document that exists. Reading ignores keys it does not know, because
a newer version may have written them; `check_keys` is for what people write.
"""

from __future__ import annotations

import difflib
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from millpond.errors import Invalid

T = TypeVar("T")


def to_document(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults, as JSON values."""
    found = ((field, getattr(value, field.name)) for field in fields(value))
    return {field.name: _plain(item) for field, item in found if item != _default(field)}


def from_document(cls: type[T], document: Mapping[str, Any]) -> T:
    """The value that a document of this class stands for."""
    readers: Mapping[str, Callable[[Any], Any]] = _readers(cls)  # type: ignore[arg-type]
    return cls(**{key: readers[key](item) for key, item in document.items() if key in readers})


def check_keys(cls: type[Any], document: Mapping[str, Any], *, also: Collection[str] = (), path: str = "") -> None:
    """Raise Invalid for the first key that no field has, naming the nearest; `also` lists further keys.

    Looks into fields that hold dataclasses themselves. Values are not checked.
    """
    nested: Mapping[str, type[Any] | None] = _nested(cls)  # type: ignore[arg-type]
    known = {*nested, *also}
    for key, item in document.items():
        if key not in known:
            raise unknown_key(f"{path}{key}", str(key), known)
        inner = nested.get(key)
        if inner is None:
            continue
        items = item if isinstance(item, Sequence) and not isinstance(item, str) else [item]
        for index, one in enumerate(items):
            if isinstance(one, Mapping):
                check_keys(inner, one, path=f"{path}{key}.{index}." if items is item else f"{path}{key}.")


def unknown_key(path: str, key: str, known: Collection[str]) -> Invalid:
    """The error for a key that nothing is called; `path` says where it stands."""
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known keys: {', '.join(sorted(known))}."
    return Invalid(f"Unknown key {path!r}.", hint=hint, fields=[path])


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return to_document(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


@cache
def _readers(cls: type[Any]) -> Mapping[str, Callable[[Any], Any]]:
    hints = get_type_hints(cls)
    return {field.name: _reader(hints[field.name]) for field in fields(cls)}


def _reader(hint: Any) -> Callable[[Any], Any]:
    hint = _bare(hint)
    if get_origin(hint) is tuple:
        item = _reader(get_args(hint)[0])
        return lambda value: tuple(item(one) for one in value)
    if is_dataclass(hint):
        return lambda value: from_document(hint, value)  # type: ignore[arg-type]
    if hint is datetime:
        return lambda value: datetime.fromisoformat(value) if isinstance(value, str) else value
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    return lambda value: value


@cache
def _nested(cls: type[Any]) -> Mapping[str, type[Any] | None]:
    """By field, the dataclass that it holds, or holds several of."""
    hints = get_type_hints(cls)
    return {field.name: _held(hints[field.name]) for field in fields(cls)}


def _held(hint: Any) -> type[Any] | None:
    hint = _bare(hint)
    if get_origin(hint) is tuple:
        hint = _bare(get_args(hint)[0])
    return hint if isinstance(hint, type) and is_dataclass(hint) else None


def _bare(hint: Any) -> Any:
    """Without what Annotated adds, and without None."""
    if get_origin(hint) is Annotated:
        return _bare(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        rest = [one for one in get_args(hint) if one is not type(None)]
        return _bare(rest[0]) if len(rest) == 1 else hint
    return hint
