"""The loop over runs of flows: woken when a step's job ends or somebody changes a run, and every few seconds."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.loops.runner import Loop
from millpond.services.deps import Deps
from millpond.services.flows import starting
from millpond.services.flows.advance import FlowRounds

# For approvals whose time is over, and for what another server has noted.
_SECONDS = 2.0
# Steps that end together are looked at together.
_SPACING = 0.02


def loops(deps: Deps) -> Sequence[Loop]:
    return [Loop("flows", starting.TOPIC, _SECONDS, FlowRounds(deps).run_once, _SPACING)]
