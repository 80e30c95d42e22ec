"""The loop over endpoints: woken when one is changed, and when a replica, a router or a job of theirs has news."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from millpond.loops.runner import Loop
from millpond.services.deps import Deps
from millpond.services.endpoints import analyses, drift_watch, endpoints, metrics, request_logs, rounds

# How soon a job that ended is seen, and what another server did.
_SECONDS = 1.0
# Replicas that become ready together are looked at together.
_SPACING = 0.1
_LOG_SECONDS = 15.0
_DAY = 86_400.0


def loops(deps: Deps) -> Sequence[Loop]:
    return [
        Loop("endpoints", endpoints.TOPIC, _SECONDS, partial(rounds.advance_all, deps), _SPACING),
        Loop(
            "endpoint metrics",
            "endpoint metrics",
            float(metrics.SAMPLE_SECONDS),
            partial(metrics.sample_all, deps),
            once=True,
        ),
        Loop("request logs", "request logs", _LOG_SECONDS, partial(request_logs.commit_due, deps), once=True),
        Loop("endpoint drift", "endpoint drift", drift_watch.SECONDS, partial(drift_watch.start_due, deps), once=True),
        Loop("endpoint analyses", analyses.TOPIC, analyses.SECONDS, partial(analyses.settle_all, deps), once=True),
        Loop("old analyses", "old analyses", _DAY, partial(analyses.forget_old, deps), once=True),
    ]
