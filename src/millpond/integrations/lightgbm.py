"""LightGBM: `lightgbm.train(…, callbacks=[MillpondCallback()])`, or `LGBMClassifier().fit(…, callbacks=[…])`."""

from __future__ import annotations

from typing import Any

from millpond.client.run import Run
from millpond.integrations.common import RunChoice, harmless


class MillpondCallback:
    """Logs parameters, and each evaluation as `dataset/metric` at its round; of `cv`, the mean."""

    # Read by LightGBM: called after each round, before early stopping (30), which ends the training by an exception.
    before_iteration = False
    order = 20

    def __init__(self, name: str | None = None, experiment: str | None = None, *, run: Run | None = None) -> None:
        self._choice = RunChoice(run, name, experiment)

    def __call__(self, env: Any) -> None:
        with harmless("metrics of LightGBM"):
            run = self._choice.get()
            if env.iteration == env.begin_iteration:
                run.log_params({**env.params, "num_iterations": env.end_iteration - env.begin_iteration})
            found = {f"{data}/{metric}": value for data, metric, value, *_ in env.evaluation_result_list or ()}
            run.log_metrics(found, env.iteration)
