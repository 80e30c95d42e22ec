"""How many replicas an endpoint has at a site, with reasons: pure, from the load of the last minutes."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from millpond.model.quantity import format_count, format_seconds

# At most doubled at once for latency alone: it is a weak sign of how much is missing.
LATENCY_FACTOR = 2.0


@dataclass(frozen=True, slots=True)
class ScaleRule:
    """Limits of the replicas at a site, and the load that each is to carry."""

    minimum: int
    maximum: int
    # Requests at once in one replica.
    target_concurrency: float = 8.0
    # Without any request for so long, none is left, where the minimum is 0.
    idle_to_zero_seconds: float = 600.0
    # None: latency has no say.
    target_p95_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """What the router of a site saw. Concurrency is the average of requests at once, held ones among them."""

    # Replicas that are asked for now, and those of them that answer.
    replicas: int
    ready: int
    # Over the last seconds, over the last minute, and the highest average of some seconds in the last five minutes.
    concurrency_now: float = 0.0
    concurrency: float = 0.0
    concurrency_peak: float = 0.0
    # Requests that wait at the router, because no replica is ready.
    held: int = 0
    p95_ms: float | None = None
    # Since the last request; None if there was none since the endpoint was created.
    idle_seconds: float | None = None
    # Since the endpoint was created or changed.
    age_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ScaleDecision:
    replicas: int
    reason: str


def scale(rule: ScaleRule, load: Load) -> ScaleDecision:
    """The number of replicas for the load, within the rule's limits.

    Up at once, by the last seconds or the last minute, whichever wants more. Down only to what the peak of the last
    five minutes would still need: traffic comes in waves, and starting a replica takes longer than keeping one.
    """
    wanted = _wanted(rule, load)
    within = max(rule.minimum, min(wanted.replicas, rule.maximum))
    if within < wanted.replicas:
        return ScaleDecision(within, f"{wanted.reason} {format_count(within, 'replica')} is the maximum.")
    if within > wanted.replicas:
        return ScaleDecision(within, f"{format_count(within, 'replica')} is the minimum.")
    return wanted


def _wanted(rule: ScaleRule, load: Load) -> ScaleDecision:
    if load.held and not load.replicas:
        return ScaleDecision(max(1, _for(rule, load.held)), f"{_requests(load.held)} for a replica.")
    idle = load.age_seconds if load.idle_seconds is None else load.idle_seconds
    if not load.held and load.concurrency_now == 0 and idle >= rule.idle_to_zero_seconds:
        return ScaleDecision(0, f"No requests for {format_seconds(idle)}.")
    if not load.replicas:
        return ScaleDecision(0, "No requests.")
    up = _up(rule, load)
    if up.replicas > load.replicas:
        return up
    slow = _by_latency(rule, load)
    if slow is not None:
        return slow
    down = max(1, _for(rule, load.concurrency_peak), up.replicas)
    if down < load.replicas:
        return ScaleDecision(down, f"At most {load.concurrency_peak:.3g} requests at once in the last 5 minutes.")
    return ScaleDecision(load.replicas, f"{load.concurrency:.3g} requests at once: enough replicas.")


def _up(rule: ScaleRule, load: Load) -> ScaleDecision:
    """What the requests of the last minute or of the last seconds need, whichever is more."""
    steady, burst = _for(rule, load.concurrency), _for(rule, load.concurrency_now)
    concurrency = load.concurrency_now if burst > steady else load.concurrency
    per = f"{rule.target_concurrency:g} for each replica"
    return ScaleDecision(max(steady, burst), f"{concurrency:.3g} requests at once, {per}.")


def _by_latency(rule: ScaleRule, load: Load) -> ScaleDecision | None:
    """More replicas because answers take too long, if requests wait for each other; None if that is not so."""
    if rule.target_p95_ms is None or load.p95_ms is None or load.p95_ms <= rule.target_p95_ms:
        return None
    says = f"p95 is {load.p95_ms:.3g} ms, above {rule.target_p95_ms:g} ms"
    if load.ready < load.replicas:
        return ScaleDecision(load.replicas, f"{says}; {_starting(load)}.")
    if load.concurrency <= load.ready:
        return ScaleDecision(
            load.replicas, f"{says}, but requests do not wait for each other: more replicas would not help."
        )
    return ScaleDecision(ceil(load.replicas * min(LATENCY_FACTOR, load.p95_ms / rule.target_p95_ms)), f"{says}.")


def _for(rule: ScaleRule, concurrency: float) -> int:
    # A hair above a whole number is measuring, not load.
    return ceil(concurrency / rule.target_concurrency - 1e-6)


def _requests(held: int) -> str:
    return f"{format_count(held, 'request')} {'waits' if held == 1 else 'wait'}"


def _starting(load: Load) -> str:
    missing = load.replicas - load.ready
    return f"{format_count(missing, 'replica')} {'is' if missing == 1 else 'are'} starting"
