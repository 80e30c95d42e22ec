"""The loop over elastic computes: woken when a job waits or a machine changes, and every few seconds besides."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.loops.runner import Loop
from millpond.services.computes import elastic, elastic_rounds
from millpond.services.computes.elastic_rounds import ElasticRounds
from millpond.services.deps import Deps


def loops(deps: Deps) -> Sequence[Loop]:
    rounds = ElasticRounds(deps)
    return [Loop("elastic", elastic.TOPIC, elastic_rounds.SECONDS, rounds.run_once, spacing=1.0, once=True)]
