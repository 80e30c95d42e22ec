"""Choosing paths by patterns, with the syntax of ignore files turned round: what matches is taken."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import accumulate

from millpond.lake.ignore_patterns import IgnoreRule, rule_of


def chooser(patterns: Sequence[str]) -> Callable[[bytes], bool]:
    """Whether a path is chosen: `*.png` anywhere, `train/` all below it, `!x` leaves out again; none chooses all."""
    if not patterns:
        return lambda path: True
    rules = [rule for pattern in reversed(patterns) if (rule := rule_of(os.fsencode(pattern))) is not None]
    return lambda path: _is_chosen(rules, path)


def _is_chosen(rules: Sequence[IgnoreRule], path: bytes) -> bool:
    """The first rule decides that is about it, or about a directory above it."""
    *above, _ = accumulate(path.split(b"/"), lambda parent, name: parent + b"/" + name)
    for rule in rules:
        if rule.matches(path, directory=False) or any(rule.matches(parent, directory=True) for parent in above):
            return not rule.keeps
    return False
