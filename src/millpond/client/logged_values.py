"""Parameters and tags as a request can hold them, whatever a script hands over."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

# A request holds 1 MB, however its characters are escaped.
_MOST_BYTES = 500_000


class HasItem(Protocol):
    """A scalar of numpy or torch."""

    def item(self) -> Any: ...


def plain(value: Any) -> Any:
    """A value JSON can say: scalars of numpy and torch as numbers, containers part by part, the rest as text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(part) for part in value]
    try:
        scalar: HasItem = value
        inner = scalar.item()
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return str(value)
    return plain(inner) if isinstance(inner, (bool, int, float, str)) else str(value)


def in_parts(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Values in groups that one request can hold."""
    part: dict[str, Any] = {}
    size = 0
    for key, value in values.items():
        length = len(json.dumps([key, value]))
        if part and size + length > _MOST_BYTES:
            yield part
            part, size = {}, 0
        part[key] = value
        size += length
    yield part
