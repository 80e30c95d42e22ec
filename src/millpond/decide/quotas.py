"""Whether a project may have more of what its quota limits, and the words for an answer that says no."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millpond.model.quantity import format_bytes, format_count
from millpond.model.quota import QuotaHolder, QuotaKind, QuotaUse

_NAMED = 3
_WHAT_NOW = {
    QuotaKind.LAKE: "Delete datasets or old commits (mill data retention) and run mill lake collect",
    QuotaKind.CACHED: "Clear cached commits (mill cache list, mill cache clear)",
    QuotaKind.JOBS: "Stop a job (mill list, mill stop)",
    QuotaKind.CALLS: "Wait for the next minute",
}


@dataclass(frozen=True, slots=True)
class QuotaRefusal:
    message: str
    hint: str


def refusal(project: str, use: QuotaUse, asked: int) -> QuotaRefusal | None:
    """None if the project may have `asked` more; otherwise how much it has, who has it, and what to do."""
    if use.limit is None or use.used + asked <= use.limit:
        return None
    kind = use.kind
    holders = f" Most of it: {_listed(kind, use.holders)}." if use.holders else ""
    message = {
        QuotaKind.LAKE: f"Project {project} may keep {_amount(kind, use.limit)} in the lake: "
        f"{_amount(kind, use.used)} are used, and {_amount(kind, asked)} more are needed.",
        QuotaKind.CACHED: f"Project {project} may cache {_amount(kind, use.limit)} on all volumes together: "
        f"{_amount(kind, use.used)} are used, and {_amount(kind, asked)} more are needed.",
        QuotaKind.JOBS: f"Project {project} runs {use.used} of at most {format_count(use.limit, 'job')}.",
        QuotaKind.CALLS: f"Project {project} may make {format_count(use.limit, 'API call')} a minute, and has.",
    }[kind]
    return QuotaRefusal(message + holders, f"{_WHAT_NOW[kind]}, or ask an administrator: mill project quota {project}")


def used_words(use: QuotaUse) -> str:
    """`9.8 GB of 10 GB`; without a limit only what is used."""
    used = _amount(use.kind, use.used)
    return used if use.limit is None else f"{used} of {_amount(use.kind, use.limit)}"


def seconds_left(second_of_minute: float) -> int:
    """Until the next minute begins, at least one."""
    return max(1, 60 - int(second_of_minute))


def _listed(kind: QuotaKind, holders: Sequence[QuotaHolder]) -> str:
    return ", ".join(f"{one.name} ({_amount(kind, one.amount)})" for one in holders[:_NAMED])


def _amount(kind: QuotaKind, amount: int) -> str:
    return format_bytes(amount) if kind.is_bytes else f"{amount:,}"
