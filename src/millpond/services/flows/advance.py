"""Carries runs on: load → `decide/flows/next_steps` → apply, in transactions guarded by the revision of the run.

The loop is woken by jobs that end and by people who start, cancel or approve. Everything it knows is in the database,
so a server that is killed goes on where it was, and several servers do the same work once (docs/design/019).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from logging import getLogger

from millpond.db import flow_runs, flows, projects
from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.next_steps import FlowDecision, next_steps, with_started
from millpond.decide.flows.reader import read_flow
from millpond.errors import MillError
from millpond.model.flow import StepKind
from millpond.model.flow_run import FlowRun, FlowRunPhase, FlowStep, StepRun, StepState
from millpond.model.ids import new_id
from millpond.model.people import SYSTEM
from millpond.services.deps import Deps
from millpond.services.flows import publishing, settling, starting
from millpond.services.flows.loaded_run import LoadedRun, Stale, guarded
from millpond.services.flows.pins import Pins
from millpond.services.flows.prefetching import Prefetching
from millpond.services.flows.start_steps import starter_of
from millpond.services.flows.triggers import firing
from millpond.services.flows.triggers.noticing import notice_end
from millpond.services.jobs import jobs as job_service

logger = getLogger(__name__)

# Another server may be at the same run: then it is loaded anew.
_TRIES = 5
# Decisions that follow from each other in one round: steps that are remembered end at once.
_ROUNDS = 1_000


class FlowRounds:
    """The loop's body, with the flows of living runs as they were parsed."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._contexts: dict[str, FlowContext] = {}
        self._prefetching = Prefetching(deps)

    def run_once(self, now: datetime) -> None:
        """Settle jobs that ended, then decide for every run that is due."""
        with self._deps.db.read() as tx:
            ended = flow_runs.ended_jobs(tx)
        for settled in settling.settle(self._deps, ended, now):
            starting.announce(self._deps, settled.run, "steps")
        with self._deps.db.read() as tx:
            due = dict.fromkeys([*flow_runs.due(tx), *flow_runs.expired(tx, now)])
        for run_id in due:
            try:
                self.advance(run_id, now)
            except MillError as error:  # the lake or a volume is away: it stays due
                logger.warning("flow_run_waits run=%s reason=%s", run_id, error.message)
            except Exception:  # one run that cannot go on keeps no other from it
                logger.exception("flow_run_failed run=%s", run_id)
        if not due:
            self._forget_ended()

    def advance(self, run_id: str, now: datetime) -> None:
        """Do everything that can be done for a run now."""
        stale = 0
        for _ in range(_ROUNDS):
            loaded = self._load(run_id)
            if loaded is None:
                return
            try:
                if not self._step(loaded, now):
                    return
            except Stale:
                stale += 1
                if stale >= _TRIES:
                    return  # it stays due

    def _load(self, run_id: str) -> LoadedRun | None:
        with self._deps.db.read() as tx:
            run = flow_runs.get(tx, run_id)
            if run is None or run.phase.is_finished:
                return None
            project = projects.get(tx, run.project_id)
            rows = flow_runs.steps(tx, run_id)
            version = flows.version(tx, run.flow_id, run.version) if run_id not in self._contexts else None
        if version is not None:
            self._contexts[run_id] = _context(self._deps, run, version.text)
        assert project is not None  # runs have a foreign key
        return LoadedRun(run, project, rows, self._contexts[run_id])

    def _forget_ended(self) -> None:
        if self._contexts:
            with self._deps.db.read() as tx:
                living = set(flow_runs.living_ids(tx))
            self._contexts = {run_id: one for run_id, one in self._contexts.items() if run_id in living}
            self._prefetching.forget(living)

    def _step(self, loaded: LoadedRun, now: datetime) -> bool:
        """One decision, carried out. True if another may follow from it."""
        deps, run = self._deps, loaded.run
        if run.phase is FlowRunPhase.QUEUED and run.cancelled_by is None:
            return _let_in(deps, loaded, now)
        if run.cancelled_by is not None:
            _stop_jobs(deps, loaded)
        if _expire(deps, loaded, now):
            return True
        decision = next_steps(loaded.context, loaded.state, max_fan_out=deps.settings.max_fan_out)
        if decision.ended is not None:
            _end(deps, loaded, decision, now)
            return False
        loaded = _apply_changes(deps, loaded, decision, now)
        starter = starter_of(deps, loaded, now)
        starter.start_all(decision.starts)
        if decision.waits and starter.actor is not None and not starter.any_ended:
            state = with_started(loaded.state, decision.starts)
            self._prefetching.look(starter.maker, starter.actor, state, now)
        return starter.any_ended


def _context(deps: Deps, run: FlowRun, text: str) -> FlowContext:
    flow, document, _ = read_flow(text)
    assert flow is not None  # it was checked when it was saved
    components = {name: one.component for name, one in Pins.of(run.pins).components.items()}
    return FlowContext(flow, document, components, deps.settings.max_fan_out)


def _let_in(deps: Deps, loaded: LoadedRun, now: datetime) -> bool:
    """A run that waits for others begins when there is room for it."""
    limit = loaded.context.flow.concurrency.limit
    with deps.db.write() as tx:
        flows.lock(tx, loaded.run.flow_id)
        living = flow_runs.living(tx, loaded.run.flow_id)
        ahead = [one for one in living if one.phase is FlowRunPhase.RUNNING or one.number < loaded.run.number]
        if limit and len(ahead) >= limit:
            guarded(tx, loaded.run, due=False, reason=f"Waits for {', '.join(one.written for one in ahead[:3])}.")
            return False
        run = guarded(tx, loaded.run, phase=FlowRunPhase.RUNNING, reason="", started_at=now)
    starting.announce(deps, run, "started")
    return True


def _expire(deps: Deps, loaded: LoadedRun, now: datetime) -> bool:
    """Approvals that nobody gave in time have failed."""
    over = [row for row in loaded.rows if row.ended_at is None and row.expires_at and row.expires_at <= now]
    if over:
        with deps.db.write() as tx:
            guarded(tx, loaded.run)
            reason = "Nobody approved it in time."
            flow_runs.save_steps(
                tx, [replace(row, state=StepState.FAILED, reason=reason, ended_at=now) for row in over]
            )
    return bool(over)


def _apply_changes(deps: Deps, loaded: LoadedRun, decision: FlowDecision, now: datetime) -> LoadedRun:
    """Write what the decision changed. The run stays due until what may start has been started."""
    new, known = _rows(loaded, decision, now)
    due = bool(decision.starts)
    if not new and not known and loaded.run.due is due:
        return loaded
    with deps.db.write() as tx:
        run = guarded(tx, loaded.run, due=due)
        flow_runs.insert_steps(tx, new)
        flow_runs.save_steps(tx, known)
    saved = {row.id: row for row in known}
    if new or known:
        starting.announce(deps, run, "steps")
    return replace(loaded, run=run, rows=[*(saved.get(row.id, row) for row in loaded.rows), *new])


def _rows(loaded: LoadedRun, decision: FlowDecision, now: datetime) -> tuple[list[FlowStep], list[FlowStep]]:
    """Rows that are new, and known ones that changed."""
    by_place = loaded.by_place
    new: list[FlowStep] = []
    known: list[FlowStep] = []
    for runs in decision.changed.values():
        for run in runs:
            before = by_place.get((run.step, -1 if run.index is None else run.index))
            if before is None:
                new.append(_new_row(loaded, run, now))
            elif before.state is not run.state:
                ended_at = now if run.state.is_finished else None
                known.append(replace(before, state=run.state, reason=run.reason, ended_at=ended_at))
    return new, known


def _new_row(loaded: LoadedRun, run: StepRun, now: datetime) -> FlowStep:
    step = loaded.context.flow.steps[run.step]
    timeout = step.approval.timeout_seconds if step.approval else 0
    return FlowStep(
        id=new_id(16),
        run_id=loaded.run.id,
        step=run.step,
        index=-1 if run.index is None else run.index,
        state=run.state,
        reason=run.reason,
        each=run.each,
        ready_at=now,
        started_at=now if step.kind is StepKind.APPROVAL and run.state is StepState.WAITING else None,
        ended_at=now if run.state.is_finished else None,
        expires_at=now + timedelta(seconds=timeout) if timeout and run.state is StepState.WAITING else None,
    )


def _stop_jobs(deps: Deps, loaded: LoadedRun) -> None:
    """Ask for the end of every job of the run. Those that are being stopped already are left alone."""
    who = replace(SYSTEM, name=loaded.run.cancelled_by or "")
    for row in loaded.rows:
        if row.job_id is not None and row.ended_at is None:
            try:
                job_service.stop(deps, who, loaded.project, row.job_id)
            except MillError as error:
                logger.info("flow_job_not_stopped job=%s reason=%s", row.job_id, error.message)


def _end(deps: Deps, loaded: LoadedRun, decision: FlowDecision, now: datetime) -> None:
    """The run is over: what it publishes is published first, with the rights that `run_as` has now."""
    assert decision.ended is not None
    state, reason = decision.ended
    run = loaded.run
    new, known = _rows(loaded, decision, now)
    published = run.published
    if state is StepState.SUCCEEDED and loaded.context.flow.publish:
        try:
            published = publishing.publish(deps, loaded.project, run, loaded.context, loaded.state)
        except MillError as error:
            if error.transient:
                raise
            state, reason = StepState.FAILED, f"Publishing failed: {error.message}"
    with deps.db.write() as tx:
        phase = FlowRunPhase(state.value)
        ended = guarded(tx, run, phase=phase, reason=reason, ended_at=now, published=published, due=False)
        flow_runs.insert_steps(tx, new)
        flow_runs.save_steps(tx, known)
        waiting = [one for one in flow_runs.living(tx, run.flow_id) if one.phase is FlowRunPhase.QUEUED]
        flow_runs.make_due(tx, [one.id for one in waiting])
        noticed = notice_end(tx, ended, now)
    logger.info("flow_run_ended run=%s state=%s", run.id, phase.value)
    starting.announce(deps, ended, "ended")
    deps.events.wake(starting.TOPIC)
    if noticed or run.trigger.backfill_id is not None:
        deps.events.wake(firing.TOPIC)
