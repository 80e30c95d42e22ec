"""Many values in few statements: a database takes only so many at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

# Well below the number of variables SQLite allows in one statement.
BATCH = 5000
T = TypeVar("T")


def batches(values: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    rest = iter(values)
    while batch := list(islice(rest, size)):
        yield batch
