"""How far the values of a window have moved from those of a reference: PSI, and the test that fits the values.

Numbers are compared by quantiles of the reference and by Kolmogorov and Smirnov's test, categories by their counts and
the chi-squared test. PSI says how much has moved and decides the level; the p-value says whether chance could have done
it: with few values a large PSI means nothing, with millions the smallest shift is significant.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from math import exp, inf, isfinite, lgamma, log, sqrt

BINS = 10
# Categories with a bin of their own; rarer ones share one.
CATEGORIES = 50
# The usual reading of PSI: below 0.1 nothing, above 0.25 much.
SOME, MUCH = 0.1, 0.25
SIGNIFICANT = 0.01
# Fewer values say nothing.
LEAST_VALUES = 30
# An empty bin would make PSI endless.
_LEAST_PART = 1e-4


class DriftLevel(Enum):
    UNKNOWN = "unknown"
    NONE = "none"
    SOME = "some"
    MUCH = "much"


@dataclass(frozen=True, slots=True)
class Drift:
    """`statistic` is D of Kolmogorov and Smirnov for numbers, chi-squared for categories."""

    level: DriftLevel
    psi: float
    statistic: float
    p_value: float
    reason: str


def drift_of_numbers(reference: Iterable[float], window: Iterable[float]) -> Drift:
    """Compare two samples of numbers. Values that are not finite form a bin of their own."""
    before, bad_before = _finite(reference)
    after, bad_after = _finite(window)
    short = _too_few(len(before) + bad_before, len(after) + bad_after)
    if short is not None:
        return short
    edges = _edges(before)
    parts = [*zip(_counts(edges, before), _counts(edges, after), strict=True), (bad_before, bad_after)]
    distance, p_value = _kolmogorov_smirnov(before, after)
    if bad_before or bad_after:
        # Whether a value is a number at all is a category.
        p_value = min(p_value, _chi_squared([(len(before), len(after)), (bad_before, bad_after)])[1])
    return _judged(_psi(parts), distance, p_value)


def drift_of_categories(reference: Iterable[Hashable], window: Iterable[Hashable]) -> Drift:
    """Compare two samples of categories."""
    before, after = Counter(reference), Counter(window)
    short = _too_few(before.total(), after.total())
    if short is not None:
        return short
    named = [key for key, _ in (before + after).most_common(CATEGORIES)]
    parts = [(before[key], after[key]) for key in named]
    parts.append((before.total() - sum(one for one, _ in parts), after.total() - sum(two for _, two in parts)))
    statistic, p_value = _chi_squared(parts)
    return _judged(_psi(parts), statistic, p_value)


def _finite(values: Iterable[float]) -> tuple[list[float], int]:
    """Finite values in order, and how many are not."""
    every = [float(value) for value in values]
    found = sorted(value for value in every if isfinite(value))
    return found, len(every) - len(found)


def _too_few(before: int, after: int) -> Drift | None:
    if min(before, after) >= LEAST_VALUES:
        return None
    where = "reference" if before < LEAST_VALUES else "window"
    reason = f"{min(before, after)} values in the {where}, {LEAST_VALUES} are needed."
    return Drift(DriftLevel.UNKNOWN, 0.0, 0.0, 1.0, reason)


def _edges(values: Sequence[float]) -> list[float]:
    """Upper ends of bins with equally many values; fewer bins where values repeat.

    A value that fills a bin alone ends one bin and begins the next, so that a move to either side of it shows.
    """
    found: set[float] = set()
    for number in range(1, BINS):
        if values:
            found.add(values[len(values) * number // BINS])
    if len(found) == 1:
        (only,) = found
        return [_before(only), only]
    return sorted(found)


def _before(value: float) -> float:
    return value - max(abs(value), 1.0) * 1e-9


def _counts(edges: Sequence[float], values: Sequence[float]) -> list[int]:
    ends = [bisect_right(values, edge) for edge in edges]
    return [last - first for first, last in pairwise([0, *ends, len(values)])]


def _psi(parts: Sequence[tuple[int, int]]) -> float:
    """The population stability index of two histograms."""
    before, after = sum(one for one, _ in parts), sum(two for _, two in parts)
    total = 0.0
    for one, two in parts:
        if one or two:
            was, now = max(one / before, _LEAST_PART), max(two / after, _LEAST_PART)
            total += (now - was) * log(now / was)
    return total


def _kolmogorov_smirnov(before: Sequence[float], after: Sequence[float]) -> tuple[float, float]:
    """The largest distance of the two distributions, and how likely chance alone makes one as large."""
    if not before or not after:
        return (0.0, 1.0) if not before and not after else (1.0, 0.0)
    distance = max(
        abs(bisect_right(before, value) / len(before) - bisect_right(after, value) / len(after))
        for value in {*before, *after}
    )
    size = sqrt(len(before) * len(after) / (len(before) + len(after)))
    return distance, _kolmogorov((size + 0.12 + 0.11 / size) * distance)


def _kolmogorov(value: float) -> float:
    """Kolmogorov's distribution: the chance of more than `value`."""
    if value < 0.2:
        return 1.0  # the series below converges slowly there, and the answer is 1 to twelve digits
    total = 2.0 * sum((-1.0) ** (k - 1) * exp(-2.0 * k * k * value * value) for k in range(1, 101))
    return min(1.0, max(0.0, total))


def _chi_squared(parts: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Chi-squared of a table of two columns, and how likely chance alone makes one as large."""
    rows = [(one, two) for one, two in parts if one or two]
    before, after = sum(one for one, _ in rows), sum(two for _, two in rows)
    if len(rows) < 2 or not before or not after:
        return 0.0, 1.0
    total = 0.0
    for one, two in rows:
        for seen, column in ((one, before), (two, after)):
            expected = (one + two) * column / (before + after)
            total += (seen - expected) ** 2 / expected
    return total, _upper_gamma((len(rows) - 1) / 2.0, total / 2.0)


def _upper_gamma(a: float, x: float) -> float:
    """The regularised incomplete gamma function Q(a, x), by its series below a + 1 and its continued fraction above."""
    if x <= 0.0:
        return 1.0
    scale = exp(a * log(x) - x - lgamma(a))
    if x < a + 1.0:
        term = total = 1.0 / a
        for n in range(1, 1000):
            term *= x / (a + n)
            total += term
            if term < total * 1e-14:
                break
        return max(0.0, 1.0 - total * scale)
    # Lentz's way to work out the fraction from the front.
    b = x + 1.0 - a
    c, d = inf, 1.0 / b
    value = d
    for n in range(1, 1000):
        step = -n * (n - a)
        b += 2.0
        d = 1.0 / (step * d + b)
        c = b + step / c
        value *= c * d
        if abs(c * d - 1.0) < 1e-14:
            break
    return min(1.0, value * scale)


def _judged(psi: float, statistic: float, p_value: float) -> Drift:
    if p_value > SIGNIFICANT:
        return Drift(
            DriftLevel.NONE, psi, statistic, p_value, f"PSI {psi:.2f}: chance explains it (p = {p_value:.2g})."
        )
    level = DriftLevel.MUCH if psi > MUCH else DriftLevel.SOME if psi > SOME else DriftLevel.NONE
    limit = {DriftLevel.MUCH: f"above {MUCH:g}", DriftLevel.SOME: f"above {SOME:g}"}.get(level, f"at most {SOME:g}")
    return Drift(level, psi, statistic, p_value, f"PSI {psi:.2f}, {limit} (p = {p_value:.2g}).")
