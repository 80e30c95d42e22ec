"""Choosing paths by patterns, with the syntax of ignore files turned round: what matches is taken."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from millpond.errors import BadRequest


def chooser(patterns: Sequence[str]) -> Callable[[bytes], bool]:
    """Whether a path is chosen: `*.png` anywhere, `train/` all below it, `!x` leaves out again; none chooses all."""
    if not patterns:
        return lambda path: True
    # Imported by those who choose: it takes as long as looking at thousands of files.
    from pathspec import GitIgnoreSpec  # noqa: PLC0415

    try:
        # With RE2 installed pathspec would use that, which knows no names that are not Unicode.
        rules = GitIgnoreSpec.from_lines(patterns, backend="simple")
    except ValueError as error:
        raise BadRequest(f"A pattern cannot be understood: {error}") from error
    return lambda path: bool(rules.match_file(os.fsdecode(path)))
