"""Chooses the parameters of the next trials. Samplers are Optuna's, made anew for each trial from what is stored.

Equal trials, seed and number give equal parameters, in any process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from millpond.decide.searches.space import combinations, grid
from millpond.model.search import Method, Parameter, Params, ParamValue, SearchSpec, Trial, TrialState, as_text

# Combinations that were tried before are asked for again so often, before the first that is left is taken.
_TRIES = 10


def next_params(spec: SearchSpec, trials: Sequence[Trial], count: int) -> list[Params]:
    """Parameters of at most `count` further trials: fewer if nothing else is left to try."""
    if spec.method is Method.GRID:
        return list(islice(grid(spec.parameters, len(trials)), count))
    return list(islice(_sampled(spec, trials), count))


def _sampled(spec: SearchSpec, trials: Sequence[Trial]) -> Iterator[Params]:
    sampler = _Sampler(spec, trials)
    total = combinations(spec.parameters)
    seen = {_key(trial.params) for trial in trials}
    number = len(trials)
    while total is None or len(seen) < total:
        params = next((found for found in sampler.tries(number) if _key(found) not in seen), None)
        if params is None:
            if total is None:
                params = next(sampler.tries(number))
            else:
                params = next(found for found in grid(spec.parameters) if _key(found) not in seen)
        seen.add(_key(params))
        sampler.note_running(params)
        yield params
        number += 1


class _Sampler:
    """A study that holds the trials so far, those that still run among them."""

    def __init__(self, spec: SearchSpec, trials: Sequence[Trial]) -> None:
        # 25 MB that only a server with such a search needs.
        import optuna  # noqa: PLC0415

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna: Any = optuna
        self._spec = spec
        self._distributions = {parameter.name: self._distribution(parameter) for parameter in spec.parameters}
        directions = [objective.direction.value for objective in spec.objectives] or ["minimize"]
        self._study: Any = self._optuna.create_study(directions=directions)
        self._study.add_trials([self._frozen(trial) for trial in trials if self._counts(trial)])

    def tries(self, number: int) -> Iterator[Params]:
        """Ask for the parameters of a trial, each time with another seed."""
        for again in range(_TRIES):
            self._study.sampler = self._sampler(_seed(self._spec.seed, number, again))
            asked = self._study.ask()
            params: dict[str, ParamValue] = {}
            for parameter in self._spec.parameters:
                if parameter.is_used(params):
                    params[parameter.name] = self._suggested(asked, parameter)
            # A failed one has no say in what comes next.
            self._study.tell(asked, state=self._optuna.trial.TrialState.FAIL)
            yield params

    def note_running(self, params: Params) -> None:
        self._study.add_trial(self._created(params, state=self._optuna.trial.TrialState.RUNNING))

    def _sampler(self, seed: int) -> Any:
        if self._spec.method is Method.RANDOM:
            return self._optuna.samplers.RandomSampler(seed=seed)
        # A trial that still runs counts as bad: so parallel ones are chosen far from each other.
        return self._optuna.samplers.TPESampler(seed=seed, constant_liar=self._spec.is_single)

    def _distribution(self, parameter: Parameter) -> Any:
        kinds = self._optuna.distributions
        if not parameter.is_range:
            return kinds.CategoricalDistribution([_label(value) for value in parameter.values])
        low, high, step = parameter.min, parameter.max, parameter.step
        if parameter.is_whole:
            return kinds.IntDistribution(int(low or 0), int(high or 0), log=parameter.log, step=int(step or 1))
        return kinds.FloatDistribution(float(low or 0), float(high or 0), log=parameter.log, step=step)

    def _suggested(self, asked: Any, parameter: Parameter) -> ParamValue:
        name, known = parameter.name, self._distributions[parameter.name]
        if not parameter.is_range:
            found = asked.suggest_categorical(name, known.choices)
            return next(value for value in parameter.values if _label(value) == found)
        if parameter.is_whole:
            return int(asked.suggest_int(name, known.low, known.high, step=known.step, log=known.log))
        return float(asked.suggest_float(name, known.low, known.high, step=known.step, log=known.log))

    def _counts(self, trial: Trial) -> bool:
        if self._spec.method is Method.RANDOM:
            return False
        return trial.is_ranked or not trial.state.is_finished or bool(self._pruned_values(trial))

    def _frozen(self, trial: Trial) -> Any:
        states = self._optuna.trial.TrialState
        if not trial.state.is_finished:
            return self._created(trial.params, state=states.RUNNING)
        if trial.state is TrialState.PRUNED:
            return self._created(
                trial.params, state=states.PRUNED, intermediate_values=dict(enumerate(self._pruned_values(trial)))
            )
        return self._created(trial.params, state=states.COMPLETE, values=list(trial.values))

    @staticmethod
    def _pruned_values(trial: Trial) -> list[float]:
        return [value for value in trial.rungs if value is not None] if trial.state is TrialState.PRUNED else []

    def _created(self, params: Params, **known: Any) -> Any:
        listed = {parameter.name for parameter in self._spec.parameters if not parameter.is_range}
        return self._optuna.trial.create_trial(
            params={name: _label(value) if name in listed else value for name, value in params.items()},
            distributions={name: self._distributions[name] for name in params},
            **known,
        )


def _label(value: ParamValue) -> str:
    """How a listed value is told to Optuna, to which True, 1 and 1.0 would be the same."""
    return f"{type(value).__name__} {as_text(value)}"


def _key(params: Params) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, _label(value)) for name, value in params.items()))


def _seed(seed: int, number: int, again: int) -> int:
    digest = hashlib.blake2b(f"{seed} {number} {again}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big")
