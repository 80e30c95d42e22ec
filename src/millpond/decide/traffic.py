"""What becomes of a canary: more traffic, all of it, or none, with the reason. Pure, from what both answered."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from millpond.model.quantity import format_count, format_seconds

# Fewer requests say too little about a version.
LEAST_REQUESTS = 50
# So many errors are no accident, however few requests there were.
LEAST_ERRORS = 5
ALL = 100


class RolloutStep(Enum):
    WAIT = "wait"
    RAISE = "raise"
    PROMOTE = "promote"
    ROLL_BACK = "roll back"


@dataclass(frozen=True, slots=True)
class RolloutRule:
    """How a canary's share grows, and what stops it. Limits that are None have no say."""

    step: int = 10
    every_seconds: float = 300.0
    # Answers of status 5xx among all.
    errors_max: float | None = None
    # The canary's p99 over that of the version it is to replace.
    p99_ratio_max: float | None = None
    # The worst PSI among its inputs and outputs.
    drift_max: float | None = None
    # False: what fails a condition stays at its share, for a person to decide.
    rolls_back: bool = True


@dataclass(frozen=True, slots=True)
class VersionTraffic:
    """What a version answered since the last step."""

    requests: int = 0
    errors: int = 0
    p99_ms: float | None = None
    drift: float | None = None

    @property
    def error_rate(self) -> float:
        return self.errors / self.requests if self.requests else 0.0


@dataclass(frozen=True, slots=True)
class Canary:
    """A rollout under way: the canary's share in hundredths, and how long it has had it."""

    weight: int
    seconds: float
    canary: VersionTraffic
    stable: VersionTraffic


@dataclass(frozen=True, slots=True)
class RolloutDecision:
    step: RolloutStep
    # Hundredths of the canary from now on.
    weight: int
    reason: str


def next_rollout(rule: RolloutRule, now: Canary) -> RolloutDecision:
    """The next step of a rollout.

    Errors count at once: a version that fails is not kept until the interval ends. Latency and drift of few requests
    are chance, so they are looked at when the interval ends.
    """
    early = _too_many_errors(rule, now.canary)
    if early is not None:
        return _failed(rule, now, early)
    if now.seconds < rule.every_seconds:
        left = format_seconds(rule.every_seconds - now.seconds)
        return RolloutDecision(RolloutStep.WAIT, now.weight, f"Next step in {left}.")
    if now.canary.requests < LEAST_REQUESTS:
        seen = f"{format_count(now.canary.requests, 'request')} since the last step, {LEAST_REQUESTS} are needed"
        return RolloutDecision(RolloutStep.WAIT, now.weight, f"{seen}.")
    late = _too_slow(rule, now) or _too_different(rule, now.canary)
    if late is not None:
        return _failed(rule, now, late)
    weight = min(ALL, now.weight + rule.step)
    return RolloutDecision(
        RolloutStep.PROMOTE if weight == ALL else RolloutStep.RAISE, weight, f"{_passed(rule, now)}."
    )


def _failed(rule: RolloutRule, now: Canary, reason: str) -> RolloutDecision:
    if rule.rolls_back:
        return RolloutDecision(RolloutStep.ROLL_BACK, 0, f"{reason}.")
    return RolloutDecision(RolloutStep.WAIT, now.weight, f"{reason}: promote or roll back by hand.")


def _too_many_errors(rule: RolloutRule, seen: VersionTraffic) -> str | None:
    """Before there are enough requests: even if the rest of them succeed, there are too many errors."""
    if rule.errors_max is None:
        return None
    allowed = rule.errors_max * max(seen.requests, LEAST_REQUESTS)
    few = seen.requests < LEAST_REQUESTS and seen.errors < LEAST_ERRORS
    if few or seen.errors <= allowed:
        return None
    return f"{seen.errors} of {format_count(seen.requests, 'request')} failed, above {rule.errors_max:.2%}"


def _too_slow(rule: RolloutRule, now: Canary) -> str | None:
    mine, other = now.canary.p99_ms, now.stable.p99_ms
    if rule.p99_ratio_max is None or mine is None or not other or now.stable.requests < LEAST_REQUESTS:
        return None
    if mine <= other * rule.p99_ratio_max:
        return None
    return f"p99 is {mine:.3g} ms, {mine / other:.2f} × the {other:.3g} ms of the version before"


def _too_different(rule: RolloutRule, seen: VersionTraffic) -> str | None:
    if rule.drift_max is None or seen.drift is None or seen.drift <= rule.drift_max:
        return None
    return f"Drift is {seen.drift:.2f}, above {rule.drift_max:g}"


def _passed(rule: RolloutRule, now: Canary) -> str:
    says = [f"{format_count(now.canary.requests, 'request')}, {now.canary.errors} failed"]
    if rule.p99_ratio_max is not None and now.canary.p99_ms is not None:
        compared = now.stable.p99_ms if now.stable.requests >= LEAST_REQUESTS else None
        beside = "" if compared is None else f", {compared:.3g} ms of the version before"
        says.append(f"p99 {now.canary.p99_ms:.3g} ms{beside}")
    return "; ".join(says)
