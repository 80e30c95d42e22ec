"""`If-Match`: which version of a thing somebody has changed."""

from __future__ import annotations

from millpond.errors import BadRequest


def if_match_number(if_match: str | None) -> int | None:
    """The number of a version; None without one, or for any. BadRequest for what is no number."""
    text = (if_match or "").strip().removeprefix("W/").strip('"')
    if not text or text == "*":
        return None
    if not text.isdecimal() or len(text) > 9:
        raise BadRequest(f"If-Match {if_match!r} is not a version.", hint='Send the number of a version, like "3".')
    return int(text)
