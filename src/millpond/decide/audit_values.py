"""What an audit entry keeps of a change: the values that differ, in JSON, as they were and as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any

# In place of what is stored sealed or hashed: that there is one, never what it is.
HIDDEN = "(hidden)"
_LONGEST = 2_000


def values_of(thing: object, *names: str) -> dict[str, Any]:
    """These fields of a value, or all of them."""
    return {name: getattr(thing, name) for name in names or _names(thing)}


def changed(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both sides in JSON, without what is alike. Of something made or removed, one side is empty."""
    old, new = dict(before or {}), dict(after or {})
    if before is not None and after is not None:
        alike = {name for name in old.keys() & new.keys() if old[name] == new[name]}
        old = {name: value for name, value in old.items() if name not in alike}
        new = {name: value for name, value in new.items() if name not in alike}
    return {name: plain(one) for name, one in old.items()}, {name: plain(one) for name, one in new.items()}


def plain(value: object) -> Any:
    """A value as JSON can say it. Bytes are hidden; long texts are cut."""
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, bytes):
        return HIDDEN
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(plain(name)): plain(one) for name, one in value.items()}
    if isinstance(value, AbstractSet):
        return sorted((plain(one) for one in value), key=str)
    if isinstance(value, Sequence):
        return [plain(one) for one in value]
    if is_dataclass(value):
        return {name: plain(getattr(value, name)) for name in _names(value)}
    return str(value)


def _names(thing: object) -> list[str]:
    return [one.name for one in fields(thing)] if is_dataclass(thing) else []
