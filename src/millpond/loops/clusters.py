"""The loop over clusters: woken when one is changed, and when a job of theirs has news."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from millpond.loops.runner import Loop
from millpond.services.clusters import clusters, rounds
from millpond.services.deps import Deps

# How soon a job that ended is seen, and what another server did.
_SECONDS = 1.0
# Workers that become ready together are looked at together.
_SPACING = 0.1


def loops(deps: Deps) -> Sequence[Loop]:
    return [Loop("clusters", clusters.TOPIC, _SECONDS, partial(rounds.advance_all, deps), _SPACING)]
