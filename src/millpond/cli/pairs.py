"""Options of the form KEY=VALUE, given any number of times."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.errors import BadRequest


def parse_pairs(texts: Sequence[str] | None, option: str) -> dict[str, str] | None:
    """None if the option was not given. BadRequest for a text without a key or `=`."""
    if texts is None:
        return None
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise BadRequest(f"{option} {text!r} has no value.", hint=f"Write it as {option} KEY=VALUE.")
        found[key] = value
    return found
