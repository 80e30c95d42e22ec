"""Searches as the wire shows them, and what is asked of them as services take it."""

from __future__ import annotations

from millpond.model import search as model
from millpond.wire import searches as wire


def search(view: model.SearchView) -> wire.Search:
    value, spec = view.search, view.search.spec
    return wire.Search(
        id=value.id,
        project=value.project,
        name=value.name,
        state=value.state,
        reasons=list(value.reasons),
        method=spec.method,
        parameters=[_parameter(one) for one in spec.parameters],
        objectives=[
            wire.SearchObjective(metric=one.metric, direction=one.direction, reading=one.reading, target=one.target)
            for one in spec.objectives
        ],
        pruning=spec.pruning,
        max_trials=view.most_trials,
        parallel=spec.parallel,
        max_failed=spec.max_failed,
        seed=spec.seed,
        max_seconds=spec.max_seconds,
        job=spec.job,
        trials=sum(view.counts.values()),
        counts={state.value: view.counts.get(state, 0) for state in model.TrialState},
        best=[trial(model.TrialView(one)) for one in view.best],
        created_by=value.created_by,
        created_at=value.created_at,
        ended_at=value.ended_at,
    )


def trial(view: model.TrialView) -> wire.Trial:
    value = view.trial
    return wire.Trial(
        number=value.number,
        state=value.state,
        params=dict(value.params),
        values=list(value.values),
        newest=dict(view.newest),
        job=value.job_id,
        run=value.run_id,
        job_state=view.job_state,
        problem=value.problem,
        created_at=value.created_at,
        started_at=view.started_at,
        ended_at=value.ended_at,
    )


def spec(body: wire.SearchCreate) -> model.SearchSpec:
    return model.SearchSpec(
        job=body.job,
        parameters=tuple(
            model.Parameter(
                name=one.name,
                values=tuple(one.values),
                min=one.min,
                max=one.max,
                log=one.log,
                step=one.step,
                type=one.type,
                when={name: tuple(values) for name, values in one.when.items()},
            )
            for one in body.parameters
        ),
        method=body.method,
        objectives=tuple(
            model.Objective(metric=one.metric, direction=one.direction, reading=one.reading, target=one.target)
            for one in body.objectives
        ),
        pruning=body.pruning,
        max_trials=body.max_trials,
        parallel=body.parallel,
        max_failed=body.max_failed,
        seed=body.seed,
        max_seconds=body.max_seconds,
    )


def preview(value: model.SearchPreview) -> wire.SearchPreview:
    return wire.SearchPreview(
        combinations=value.combinations,
        max_trials=value.most_trials,
        first=[wire.PreviewTrial(params=dict(params), command=list(command)) for params, command in value.first],
    )


def _parameter(value: model.Parameter) -> wire.SearchParameter:
    return wire.SearchParameter(
        name=value.name,
        values=list(value.values),
        min=value.min,
        max=value.max,
        log=value.log,
        step=value.step,
        type=value.type,
        when={name: list(values) for name, values in value.when.items()},
    )
