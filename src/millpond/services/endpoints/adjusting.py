"""How many replicas an endpoint should have now, and what becomes of its canary: by what its routers report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from logging import getLogger

from millpond.decide.endpoints.changes import wanted_at_first
from millpond.decide.endpoints.counts import EndpointCounts, counts_of, marked, traffic_between
from millpond.decide.scale import ScaleRule, scale
from millpond.decide.traffic import Canary, RolloutDecision, RolloutRule, RolloutStep, next_rollout
from millpond.model.endpoint import Endpoint, Rollout
from millpond.model.endpoint_spec import ALL_TRAFFIC, EndpointScale, EndpointSite
from millpond.model.people import SYSTEM, Project
from millpond.model.replica import Replica, ReplicaState
from millpond.model.volume import Site
from millpond.services.deps import Deps
from millpond.services.endpoints import endpoints
from millpond.services.endpoints.seen_drift import newest_drift

logger = getLogger(__name__)

# A server that has just begun takes nothing away before it has looked for so long.
_LOOK_SECONDS = 60.0


def counted(stats: Mapping[str, Mapping[str, object] | None], endpoint: Endpoint) -> dict[str, EndpointCounts]:
    """By site. `stats` are the reports of the routers there."""
    found = {site: counts_of(one, endpoint.id) for site, one in stats.items()}
    return {site: one for site, one in found.items() if one is not None}


def scaled(
    deps: Deps, endpoint: Endpoint, places: Sequence[tuple[Site, EndpointSite]], here: Sequence[Replica],
    counts: Mapping[str, EndpointCounts], now: datetime,
) -> Endpoint:  # fmt: skip
    """The endpoint with the replicas that its load asks for. A reason is kept when the number changes."""
    wanted, reasons = dict(endpoint.wanted), dict(endpoint.scale_reasons)
    steady = deps.clock.elapsed()
    for site, asked in places:
        if site.name not in wanted:  # a site that came after the revision, and matches a pattern
            wanted |= wanted_at_first({}, [(site, asked)])
        key, before = (endpoint.id, site.name), wanted[site.name]
        if site.name in counts:
            deps.loads.take(key, counts[site.name], steady)
        ready = sum(one.state is ReplicaState.READY and one.site == site.name for one in here)
        age = (now - endpoint.changed_at).total_seconds()
        load = deps.loads.load(key, replicas=before, ready=ready, age=age, now=steady)
        if load is None or (asked.min == asked.max == before):
            continue
        decision = scale(_rule(endpoint.spec.scale, asked), load)
        is_early = deps.loads.looked_for(key, steady) < min(_LOOK_SECONDS, endpoint.spec.scale.idle_to_zero_seconds)
        if decision.replicas == before or (decision.replicas < before and is_early):
            continue
        wanted[site.name], reasons[site.name] = decision.replicas, decision.reason
        logger.info(
            "endpoint_scaled endpoint=%s site=%s from=%d to=%d reason=%s",
            endpoint.id, site.name, before, decision.replicas, decision.reason,
        )  # fmt: skip
    return replace(endpoint, wanted=wanted, scale_reasons=reasons)


def rolled_out(
    deps: Deps, project: Project, endpoint: Endpoint, counts: Mapping[str, EndpointCounts], now: datetime
) -> Endpoint | None:
    """The endpoint after the next step of its rollout; None if that made a new revision."""
    rollout, rule = endpoint.rollout, endpoint.spec.rollout
    if rollout is None or rule is None:
        return endpoint
    stable = next(one.model for one in endpoint.spec.versions if one.model != rollout.canary)
    names = [one.model for one in endpoint.spec.versions]
    canary = Canary(
        weight=endpoint.weights[names.index(rollout.canary)],
        seconds=(now - rollout.since).total_seconds(),
        canary=replace(traffic_between(rollout.counted, counts, rollout.canary), drift=_drift(deps, endpoint, rollout)),
        stable=traffic_between(rollout.counted, counts, stable),
    )
    rules = RolloutRule(
        rule.step, rule.every_seconds, rule.errors_max, rule.p99_ratio_max, rule.drift_max, rule.rolls_back
    )
    decision = next_rollout(rules, canary)
    if decision.step is RolloutStep.PROMOTE:
        endpoints.promote(deps, SYSTEM, project, endpoint.id, reason=decision.reason)
        return None
    if decision.step is RolloutStep.ROLL_BACK:
        endpoints.abandon_canary(deps, SYSTEM, project, endpoint.id, reason=decision.reason)
        return None
    return _stepped(endpoint, rollout, decision, counts, now)


def _drift(deps: Deps, endpoint: Endpoint, rollout: Rollout) -> float | None:
    """What was measured of the canary's requests since its last step, if the rollout has a limit for it."""
    if endpoint.spec.rollout is None or endpoint.spec.rollout.drift_max is None:
        return None
    number = int(rollout.canary.rpartition("@")[2])
    with deps.db.read() as tx:
        found = newest_drift(tx, endpoint, version=number, since=rollout.since)
    return found.psi if found else None


def _stepped(
    endpoint: Endpoint, rollout: Rollout, decision: RolloutDecision, counts: Mapping[str, EndpointCounts], now: datetime
) -> Endpoint:
    if decision.step is RolloutStep.RAISE:
        logger.info("endpoint_canary_raised endpoint=%s weight=%d", endpoint.id, decision.weight)
        rest = ALL_TRAFFIC - decision.weight
        weights = tuple(decision.weight if one.model == rollout.canary else rest for one in endpoint.spec.versions)
        return replace(endpoint, weights=weights, rollout=Rollout(rollout.canary, now, marked(counts), decision.reason))
    # The time that is left changes all the time: it is worked out for whoever asks.
    if decision.reason == rollout.reason or decision.reason.startswith("Next step"):
        return endpoint
    return replace(endpoint, rollout=replace(rollout, reason=decision.reason))


def _rule(spec: EndpointScale, asked: EndpointSite) -> ScaleRule:
    return ScaleRule(
        minimum=asked.min,
        maximum=asked.max,
        target_concurrency=spec.target_concurrency,
        idle_to_zero_seconds=spec.idle_to_zero_seconds or math.inf,
        target_p95_ms=spec.target_p95_ms or None,
    )
