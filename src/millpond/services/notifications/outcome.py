"""How an attempt to deliver a message went."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """`problem` None: it was taken. `status` is what the other side answered; `is_final`: it will not be otherwise."""

    status: int | None = None
    problem: str | None = None
    hint: str | None = None
    is_final: bool = False

    @property
    def works(self) -> bool:
        return self.problem is None
