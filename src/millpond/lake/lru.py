"""A small memory of what was used last, for several threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Kept(Generic[Key, Value]):
    """Values up to `most` together, by number or as `weigh` says; the one not used for longest goes first."""

    def __init__(self, most: int, *, weigh: Callable[[Value], int] = lambda value: 1) -> None:
        self._most = most
        self._weigh = weigh
        self._weight = 0
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def drop(self, key: Key) -> None:
        with self._lock:
            before = self._values.pop(key, None)
            self._weight -= 0 if before is None else self._weigh(before)

    def put(self, key: Key, value: Value) -> None:
        """A value heavier than all may be together is not kept."""
        with self._lock:
            before = self._values.pop(key, None)
            self._weight -= 0 if before is None else self._weigh(before)
            if self._weigh(value) > self._most:
                return
            self._values[key] = value
            self._weight += self._weigh(value)
            while self._weight > self._most:
                self._weight -= self._weigh(self._values.popitem(last=False)[1])
