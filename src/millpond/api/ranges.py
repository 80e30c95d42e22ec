"""The header `Range`, as far as we honour it: one range of bytes."""

from __future__ import annotations

import re

from starlette.exceptions import HTTPException

_ONE = re.compile(r"bytes=([0-9]*)-([0-9]*)")
_DIGITS_MOST = 30


def parse_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Start and end (not included) of what is asked for; None for everything, also where we do not understand it.

    416 when the object does not reach to where the range begins.
    """
    match = _ONE.fullmatch(header.strip()) if header else None
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:  # the last so many bytes
        start, end = max(size - _number(last), 0), size
    else:
        start, end = _number(first), min(_number(last) + 1 if last else size, size)
    if start >= end:
        said = f"The range is outside the {size:,} bytes available."
        raise HTTPException(416, said, headers={"Content-Range": f"bytes */{size}"})
    return start, end


def _number(digits: str) -> int:
    """Python reads no number of thousands of digits; beyond every object is as good."""
    return int(digits) if len(digits) <= _DIGITS_MOST else 10**_DIGITS_MOST
