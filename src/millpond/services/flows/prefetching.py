"""Brings inputs of steps near before their turn comes, as far as they exist: while the steps before them still run."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from logging import getLogger

from millpond.decide.flows.inputs_ahead import inputs_ahead
from millpond.decide.flows.resolving import Unavailable
from millpond.errors import MillError
from millpond.model.flow_run import FlowRunState
from millpond.model.people import Actor
from millpond.services.deps import Deps
from millpond.services.flows.step_jobs import StepMaker
from millpond.services.jobs import job_data, submit_many
from millpond.services.jobs.submit_many import NamedSpec

logger = getLogger(__name__)


@dataclass
class Prefetching:
    """What was begun for the steps of living runs: the names of inputs, by run and step. Forgotten at a restart."""

    deps: Deps
    _begun: dict[str, dict[str, frozenset[str]]] = field(default_factory=dict)

    def look(self, maker: StepMaker, actor: Actor, state: FlowRunState, now: datetime) -> None:
        """Begin to cache what is there of the inputs of steps that wait. What cannot be brought now is no failure."""
        begun = self._begun.setdefault(state.run_id, {})
        for name, inputs in inputs_ahead(maker.context, state).items():
            if inputs.keys() <= begun.get(name, frozenset()):
                continue
            begun[name] = frozenset(inputs)
            try:
                spec = maker.ahead(maker.context.flow.steps[name], inputs, state)
                checked = submit_many.check(self.deps, actor, maker.project, [NamedSpec(name, spec)])
                job_data.prefetch_ahead(self.deps, checked[0].choice.spec, actor, maker.project, now)
            except (MillError, Unavailable) as error:
                logger.info("flow_prefetch_skipped run=%s step=%s reason=%s", state.run_id, name, error)

    def forget(self, living: Collection[str]) -> None:
        self._begun = {run_id: begun for run_id, begun in self._begun.items() if run_id in living}
