"""Result of a command on several jobs: those changed, and an error for the rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from millpond.errors import by_code
from millpond.wire.jobs import Job, JobChanged


@dataclass(frozen=True, slots=True)
class Changed:
    jobs: list[Job]
    failed: list[JobChanged]
    # What was to be done to them: "stopped", "deleted".
    done: str

    @property
    def asked(self) -> int:
        return len(self.jobs) + len(self.failed)

    def check(self) -> None:
        """Raise the server's error for the job that failed, or one error for all that failed."""
        if not self.failed:
            return
        first = self.failed[0]
        message, hint = first.problem or "", first.hint
        if self.asked > 1:
            message = f"{len(self.failed)} of {self.asked} jobs were not {self.done}: " + " ".join(
                map(_why, self.failed)
            )
        raise by_code(first.code or "")(message, hint=hint, jobs=[one.asked for one in self.failed])


def changed_of(answers: Iterable[JobChanged], done: str) -> Changed:
    outcomes = list(answers)
    return Changed(
        jobs=[outcome.job for outcome in outcomes if outcome.job],
        failed=[outcome for outcome in outcomes if outcome.job is None],
        done=done,
    )


def _why(outcome: JobChanged) -> str:
    return outcome.problem or f"{outcome.asked}: no reason given."
