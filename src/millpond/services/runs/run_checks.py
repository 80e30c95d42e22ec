"""What a run may hold: names, keys and values that can be stored, and that lists can show."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from millpond.errors import Invalid, TooLarge
from millpond.model.quantity import format_bytes
from millpond.model.run import MAX_KEY, MAX_NAME, MAX_NOTES_BYTES, MAX_VALUE_BYTES


def check_name(text: str | None, field: str) -> None:
    """Of a run or an experiment; None is none."""
    if text is None:
        return
    if not 1 <= len(text) <= MAX_NAME:
        raise Invalid(f"The {field} of a run must have 1 to {MAX_NAME} characters.", fields=[field])
    if "\0" in text:
        raise Invalid(f"The {field} of a run cannot contain a NUL character.", fields=[field])


def check_key(key: str, field: str) -> None:
    if not 1 <= len(key) <= MAX_KEY:
        raise Invalid(f"A key in {field} must have 1 to {MAX_KEY} characters: {key[:50]!r}.", fields=[field])
    if "\0" in key:
        raise Invalid(f"A key in {field} cannot contain a NUL character: {key[:50]!r}.", fields=[field])


def checked_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as JSON has them: NaN and the infinities, which it cannot say, become words."""
    found = {key: _storable(value) for key, value in params.items()}
    for key, value in found.items():
        check_key(key, "params")
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        _check_size(text, f"Parameter {key!r}", "params")
    return found


def check_tags(tags: Mapping[str, str | None]) -> None:
    for key, text in tags.items():
        check_key(key, "tags")
        _check_size(text or "", f"Tag {key!r}", "tags")


def check_notes(text: str) -> None:
    _check_size(text, "The note", "notes", MAX_NOTES_BYTES)


def _check_size(text: str, what: str, field: str, most: int = MAX_VALUE_BYTES) -> None:
    if len(text) > most or len(text.encode()) > most:
        raise TooLarge(
            f"{what} is larger than {format_bytes(most)}.", hint="Log it as an artifact instead.", fields=[field]
        )
    if "\0" in text:
        raise Invalid(f"{what} cannot contain a NUL character.", fields=[field])


def _storable(value: object) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case dict():
            return {str(key): _storable(item) for key, item in value.items()}
        case list() | tuple():
            return [_storable(item) for item in value]
    return value
