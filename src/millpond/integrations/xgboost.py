"""XGBoost: `xgboost.train(…, callbacks=[MillpondCallback()])`, or `XGBClassifier(callbacks=[…])`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from xgboost.callback import TrainingCallback

from millpond.client.run import Run
from millpond.integrations.common import RunChoice, flat, harmless


class MillpondCallback(TrainingCallback):
    """Logs parameters, and each evaluation as `dataset/metric` at its round; of `cv`, the mean."""

    def __init__(self, name: str | None = None, experiment: str | None = None, *, run: Run | None = None) -> None:
        super().__init__()
        self._choice = RunChoice(run, name, experiment)

    def before_training(self, model: Any) -> Any:
        with harmless("parameters of XGBoost"):
            # `cv` trains several boosters, one a fold, with the same parameters.
            booster = model.cvfolds[0].bst if hasattr(model, "cvfolds") else model
            self._choice.get().log_params(_settings(json.loads(booster.save_config())))
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Mapping[str, Mapping[str, Sequence[Any]]]) -> bool:
        with harmless("metrics of XGBoost"):
            found = {
                f"{data}/{metric}": values[-1][0] if isinstance(values[-1], tuple) else values[-1]
                for data, metrics in evals_log.items()
                for metric, values in metrics.items()
            }
            self._choice.get().log_metrics(found, epoch)
        return False  # go on

    def after_training(self, model: Any) -> Any:
        with harmless("the best round of XGBoost"):
            # Set by early stopping; `cv` has no booster of its own to ask.
            best = model.attr("best_iteration") if hasattr(model, "attr") else None
            if best is not None:
                self._choice.get().log_param("best_iteration", int(best))
        return model


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """`learner.gradient_booster.tree_train_param.eta` as `eta`: the names that people set."""
    found = flat(config.get("learner", {}))
    return {path.rpartition(".")[2]: value for path, value in found.items() if "_param." in path}
