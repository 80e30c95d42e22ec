"""How still a tree was while it was copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager


class Stillness:
    """`atomic` if nobody could write to the tree, `frozen` if jobs were kept from it, `per-file` otherwise.

    Known for sure once the block is left that has kept them.
    """

    def __init__(self, consistency: str = "atomic") -> None:
        self.consistency = consistency


# Keeps jobs from writing to a tree while its block lasts, as far as that is possible.
Freeze = Callable[[], AbstractContextManager[Stillness]]


@contextmanager
def nobody_writes() -> Iterator[Stillness]:
    yield Stillness()
