"""One page of a list and the cursor behind it: an opaque text that holds the sort key of the last item shown."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from millpond.errors import BadRequest

Item = TypeVar("Item")
Key = str | int | list[str | int]


@dataclass(frozen=True, slots=True)
class Listing(Generic[Item]):
    items: Sequence[Item]
    # Goes into `?cursor=` of the next request; None on the last page.
    next: str | None = None


def page_of(found: Sequence[Item], limit: int, *, key: Callable[[Item], Key]) -> Listing[Item]:
    """The first `limit` of what was found by asking for `limit + 1`."""
    if len(found) <= limit:
        return Listing(found)
    shown = found[:limit]
    return Listing(shown, encode(key(shown[-1])))


def encode(key: Key) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def decode(cursor: str) -> Key:
    """BadRequest for a cursor no list of ours has given."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        key = json.loads(base64.urlsafe_b64decode(padded))
    except (binascii.Error, ValueError) as error:
        raise _bad(cursor) from error
    parts = key if isinstance(key, list) else [key]
    if not all(_is_key(part) for part in parts):
        raise _bad(cursor)
    return parts if isinstance(key, list) else parts[0]


def text_of(cursor: str | None) -> str:
    """The text behind a cursor; empty, and so before everything, without one."""
    key = "" if cursor is None else decode(cursor)
    if not isinstance(key, str):
        raise _bad(str(cursor))
    return key


def number_of(cursor: str | None) -> int | None:
    key = None if cursor is None else decode(cursor)
    if key is not None and not (isinstance(key, int) and 0 <= key < 1 << 63):
        raise _bad(str(cursor))
    return key


def _is_key(part: object) -> bool:
    """Whether a row can have it: JSON can say more."""
    if isinstance(part, str):
        return "\0" not in part and part.encode(errors="ignore").decode() == part
    return isinstance(part, int) and not isinstance(part, bool) and abs(part) < 1 << 63


def _bad(cursor: str) -> BadRequest:
    return BadRequest(f"{cursor[:80]!r} is not a cursor.", hint="Use `next` of the previous page, or leave it out.")
