"""Starts steps of a run: submits their jobs, takes what is remembered, does what the server does itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from logging import getLogger

from sqlalchemy.exc import IntegrityError

from millpond.db import actors, flow_runs, users
from millpond.db.batches import batches
from millpond.decide.flows.next_steps import StepStart
from millpond.errors import Forbidden, MillError
from millpond.model.flow_run import FlowRun, FlowRunState, FlowStep, StepState
from millpond.model.job import Job
from millpond.model.people import Actor
from millpond.services.deps import Deps
from millpond.services.flows import actions, remembering, starting
from millpond.services.flows.loaded_run import LoadedRun, Stale, guarded
from millpond.services.flows.pins import Pins
from millpond.services.flows.step_files import encoded
from millpond.services.flows.step_jobs import StepMaker, StepWork, is_action
from millpond.services.jobs import submit_many
from millpond.services.jobs.submit_many import CheckedJob

logger = getLogger(__name__)

# Jobs of one transaction: it keeps others from writing.
_AT_ONCE = 100


def starter_of(deps: Deps, loaded: LoadedRun, now: datetime) -> StepStarter:
    maker = StepMaker(deps, loaded.project, loaded.run, loaded.context, Pins.of(loaded.run.pins))
    return StepStarter(deps, loaded, maker, _actor_of(deps, loaded.run), now)


@dataclass(slots=True)
class StepStarter:
    """Starts steps of one run, batch after batch."""

    deps: Deps
    loaded: LoadedRun
    maker: StepMaker
    # Whose jobs they are; None once they have no role any more.
    actor: Actor | None
    now: datetime
    # True if steps ended by being started, so that others may follow.
    any_ended: bool = False

    def start_all(self, starts: Sequence[StepStart]) -> None:
        """Many in one transaction."""
        left = len(starts)
        for batch in batches(starts, _AT_ONCE):
            left -= len(batch)
            self.start(batch, due=left > 0)

    def start(self, starts: Sequence[StepStart], *, due: bool) -> None:
        """`due`: more of them follow."""
        works: list[tuple[FlowStep, StepWork]] = []
        ended: list[FlowStep] = []
        by_place, state = self.loaded.by_place, self.loaded.state
        for start in starts:
            row = by_place[start.run.step, -1 if start.run.index is None else start.run.index]
            inputs = {name: encoded(given) for name, given in start.inputs.items()}
            row = replace(row, inputs=inputs, params=start.params, attempts=row.attempts + 1, reason="")
            made = self._work(row, start, state)
            if isinstance(made, FlowStep):
                ended.append(made)
            else:
                works.append((row, made))
        self._submit(works, ended, due=due)

    def _work(self, row: FlowStep, start: StepStart, state: FlowRunState) -> StepWork | FlowStep:
        """What to submit; or the step as it ended, because the server did it or it cannot run."""
        run, context = self.loaded.run, self.loaded.context
        try:
            if is_action(context, context.flow.steps[row.step]):
                return actions.carry_out(self.deps, self.loaded.project, run, self.maker, row, start, self.now)
            if self.actor is None:
                raise Forbidden(f"{run.created_by} no longer has access to project {run.project}.")
            return self.maker.work(start, state)
        except MillError as error:
            if error.transient:
                raise
            return _failed(row, error, self.now)

    def _submit(self, works: Sequence[tuple[FlowStep, StepWork]], ended: list[FlowStep], *, due: bool) -> None:
        """Submit jobs and note them with their steps in one transaction."""
        loaded, deps, now = self.loaded, self.deps, self.now
        checked, refused = self._check(works)
        ended = [*ended, *refused]
        made: Sequence[Job] = ()
        try:
            with deps.db.write() as tx:
                found = remembering.look(tx, loaded.run, self.maker, [(row, work) for row, work, _ in checked], now)
                ended += found.remembered
                run = guarded(tx, loaded.run, due=due or bool(ended))
                chosen = [one for one in checked if one[0].id in found.execute]
                if chosen and self.actor is not None:
                    made = submit_many.insert(tx, self.actor, loaded.project, [job for _, _, job in chosen], now)
                started = [_started(row, work, job, now) for (row, work, _), job in zip(chosen, made, strict=True)]
                flow_runs.save_steps(tx, [*ended, *found.waiting, *started])
        except IntegrityError as error:  # somebody submitted a job of the name
            logger.info("flow_step_waits run=%s reason=%s", loaded.run.id, error.orig)
            raise Stale from error
        self.any_ended = self.any_ended or bool(ended)
        self.loaded = replace(loaded, run=run)
        if made:
            submit_many.announce(deps, made, now)
        starting.announce(deps, run, "steps")

    def _check(
        self, works: Sequence[tuple[FlowStep, StepWork]]
    ) -> tuple[list[tuple[FlowStep, StepWork, CheckedJob]], list[FlowStep]]:
        """All at once; if one is refused, each alone, so that only it fails."""
        if self.actor is None or not works:
            return [], []
        try:
            jobs = submit_many.check(self.deps, self.actor, self.loaded.project, [work.job for _, work in works])
            return [(row, work, job) for (row, work), job in zip(works, jobs, strict=True)], []
        except MillError as error:
            if error.transient:
                raise
            if len(works) == 1:
                return [], [_failed(works[0][0], error, self.now)]
        each = [self._check([one]) for one in works]
        return [one for good, _ in each for one in good], [one for _, bad in each for one in bad]


def _failed(row: FlowStep, error: MillError, now: datetime) -> FlowStep:
    reason = f"{error.message} {error.hint}" if error.hint else error.message
    return replace(row, state=StepState.FAILED, reason=reason, started_at=now, ended_at=now)


def _started(row: FlowStep, work: StepWork, job: Job, now: datetime) -> FlowStep:
    return replace(
        row, state=StepState.QUEUED, params=work.params, job_id=job.id, memo_key=work.memo_key, started_at=now
    )  # fmt: skip


def _actor_of(deps: Deps, run: FlowRun) -> Actor | None:
    """Who the run's jobs belong to; None once they have no role any more."""
    with deps.db.read() as tx:
        user = users.find(tx, run.created_by)
        actor = actors.of_user(tx, user) if user is not None and user.disabled_at is None else None
    return actor if actor is not None and actor.role_in(run.project_id) is not None else None
