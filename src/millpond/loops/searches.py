"""The loop over hyperparameter searches: woken when one is created or changed and when a job has ended."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from millpond.loops.runner import Loop
from millpond.services.deps import Deps
from millpond.services.searches import rounds, searches

# How soon a metric is seen for pruning, and what another server did.
_SECONDS = 2.0
# Trials that end together are looked at together.
_SPACING = 0.1


def loops(deps: Deps) -> Sequence[Loop]:
    return [Loop("searches", searches.TOPIC, _SECONDS, partial(rounds.advance_all, deps), _SPACING)]
