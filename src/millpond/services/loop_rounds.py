"""When each background loop of this server last came round, and what came of it: for the administrator's diagnosis."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime


@dataclass(frozen=True, slots=True)
class LoopRound:
    """Its newest round; `failures` in a row, 0 after one that worked."""

    at: datetime
    seconds: float
    failures: int = 0
    rounds: int = 1


class LoopRounds:
    """Of one server process. Used from any thread."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._found: dict[str, LoopRound] = {}

    def note(self, loop: str, seconds: float, failed: bool, now: datetime) -> None:
        with self._turn:
            before = self._found.get(loop)
            failures = (before.failures + 1 if before else 1) if failed else 0
            made = LoopRound(now, seconds, failures)
            self._found[loop] = replace(made, rounds=before.rounds + 1) if before else made

    def by_loop(self) -> Mapping[str, LoopRound]:
        with self._turn:
            return dict(self._found)
