"""Answers of a candidate compared with those that were given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from .values import Array, predictions_of

# Numbers with a fraction agree if they differ by less than this part.
CLOSE = 1e-3


@dataclass(slots=True)
class Agreement:
    """`requests` were asked again `of` those logged; `skipped` could not be, as parts of them were not logged.

    `logged_ms` is the median at the router then, `ms` the median now.
    """

    of: int = 0
    requests: int = 0
    skipped: int = 0
    failed: int = 0
    # Of the first that failed.
    failure: str = ""
    samples: int = 0
    agreed: int = 0
    largest_difference: float = 0.0
    times: list[float] = field(default_factory=list, repr=False)
    logged_times: list[float] = field(default_factory=list, repr=False)

    @property
    def agreement(self) -> float | None:
        return self.agreed / self.samples if self.samples else None

    @property
    def ms(self) -> float | None:
        return median(self.times) if self.times else None

    @property
    def logged_ms(self) -> float | None:
        return median(self.logged_times) if self.logged_times else None

    @property
    def metrics(self) -> dict[str, float]:
        """What is known of it, for the run that keeps it."""
        counts = {"requests": self.requests, "skipped": self.skipped, "failed": self.failed}
        found = {"agreement": self.agreement, "ms": self.ms, "logged_ms": self.logged_ms}
        measured = {key: value for key, value in found.items() if value is not None}
        return {**counts, **measured, "largest_difference": self.largest_difference}

    def note_failure(self, message: str) -> None:
        self.failed += 1
        self.failure = self.failure or message

    def take(self, before: Iterable[tuple[str, Array]], now: Mapping[str, Array], *, ms: float, then: object) -> bool:
        """Count an answer: outputs by sample as they were then and are now, how long it takes and took. True if all
        samples agree."""
        self.times.append(ms)
        if isinstance(then, int | float):
            self.logged_times.append(then)
        agreed, samples = self.agreed, self.samples
        for output, values in before:
            if output in now:
                self._compare(values, now[output])
            else:
                self.samples += len(values)
        return self.agreed - agreed == self.samples - samples

    def _compare(self, before: Array, now: Array) -> None:
        self.samples += len(before)
        if before.shape != now.shape:
            return
        is_number = before.dtype.kind in "iuf" and now.dtype.kind in "iuf"
        if is_number:
            self.largest_difference = max(self.largest_difference, _largest(before, now))
        if is_number and before.shape[1] == 1:
            self.agreed += int(np.isclose(before[:, 0], now[:, 0], rtol=CLOSE, atol=1e-6, equal_nan=True).sum())
        else:
            pairs = zip(predictions_of(before), predictions_of(now), strict=True)
            self.agreed += sum(one == two for one, two in pairs)


def _largest(before: Array, now: Array) -> float:
    """Of the values that are numbers both times."""
    apart = np.abs(before.astype(float) - now.astype(float))
    finite = apart[np.isfinite(apart)]
    return float(finite.max()) if finite.size else 0.0
