"""Keras: `model.fit(…, callbacks=[MillpondCallback()])`."""

from __future__ import annotations

from typing import Any

from keras.callbacks import Callback

from millpond.client.run import Run
from millpond.integrations.common import RunChoice, flat, harmless, numbers


class MillpondCallback(Callback):
    """Logs the optimizer's settings, the metrics of each epoch, and those of `evaluate` as `test_…`."""

    def __init__(self, name: str | None = None, experiment: str | None = None, *, run: Run | None = None) -> None:
        super().__init__()
        self._choice = RunChoice(run, name, experiment)
        self._fitting = False

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._fitting = True
        with harmless("parameters of Keras"):
            run = self._choice.get()
            params = {key: value for key, value in (self.params or {}).items() if key in ("epochs", "steps")}
            optimizer = getattr(self.model, "optimizer", None)
            if optimizer is not None:
                params.update(flat(optimizer.get_config(), "optimizer."))
            run.log_params(params)
            run.log_param("model_parameters", self.model.count_params())

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        with harmless("metrics of Keras"):
            run = self._choice.get()
            run.log_metrics(numbers(logs), epoch)
            if epochs := (self.params or {}).get("epochs"):
                run.progress((epoch + 1) / epochs)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        self._fitting = False

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        # Inside `fit` these come again with the epoch, as `val_…`.
        if not self._fitting:
            with harmless("test metrics of Keras"):
                self._choice.get().log_metrics({f"test_{key}": value for key, value in numbers(logs).items()})
