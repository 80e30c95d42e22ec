"""Which columns of a table fit a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from millpond.cli.values import Bytes, CommitId, Seconds, human

_GAP = 2
# Text is folded to no less than this; half a number or half an id helps nobody.
_FOLDED, _FIRST_FOLDED = 16, 28
_EMPTY = ("-", "")


class DrawnColumn(NamedTuple):
    title: str
    cells: tuple[str, ...]
    is_number: bool
    # Text, which may be folded where there is little room.
    folds: bool

    @property
    def is_empty(self) -> bool:
        return all(cell in _EMPTY for cell in self.cells)

    def least_width(self, *, first: bool) -> int:
        widest = max(map(len, self.cells), default=0)
        return max(len(self.title), min(widest, _FIRST_FOLDED if first else _FOLDED) if self.folds else widest)


def drawn_column(title: str, values: Sequence[Any]) -> DrawnColumn:
    is_number = any(isinstance(value, (int, float, Bytes, Seconds)) and not isinstance(value, bool) for value in values)
    folds = any(
        isinstance(value, (str, list, tuple)) and not isinstance(value, (Bytes, Seconds, CommitId)) for value in values
    )
    return DrawnColumn(title, tuple(human(value) for value in values), is_number, folds and not is_number)


def fitting(columns: Sequence[DrawnColumn], width: int, drop: Sequence[str] = ()) -> list[DrawnColumn]:
    """The columns that fit, in order. The first always stays.

    Left out first are those without any value, then those named by `drop` in that order, then from the right.
    """
    kept = list(columns)
    for column in _in_drop_order(columns, drop):
        if _least_width(kept) <= width:
            break
        kept.remove(column)
    return kept


def _in_drop_order(columns: Sequence[DrawnColumn], drop: Sequence[str]) -> list[DrawnColumn]:
    others = list(columns[:0:-1])
    named = {title: number for number, title in enumerate(drop)}
    return sorted(others, key=lambda one: (not one.is_empty, named.get(one.title, len(named))))


def _least_width(columns: Sequence[DrawnColumn]) -> int:
    widths = [column.least_width(first=number == 0) for number, column in enumerate(columns)]
    return sum(widths) + _GAP * (len(widths) - 1)
