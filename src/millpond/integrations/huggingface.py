"""Hugging Face transformers: `Trainer(callbacks=[MillpondCallback()])`."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from millpond.client.run import Run
from millpond.integrations.common import RunChoice, harmless, numbers

# Arguments that say nothing of how a model is trained, or hold a secret.
_LEFT_OUT = {"hub_token", "push_to_hub_token", "logging_dir", "report_to"}


class MillpondCallback(TrainerCallback):
    """Logs the training arguments, what the trainer reports at each logging step, and how far it is."""

    def __init__(
        self, name: str | None = None, experiment: str | None = None, *, run: Run | None = None
    ) -> None:  # fmt: skip
        self._choice = RunChoice(run, name, experiment)

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        if not state.is_world_process_zero:
            return
        with harmless("training arguments of transformers"):
            run = self._choice.get()
            given = {key: value for key, value in args.to_dict().items() if key not in _LEFT_OUT and value is not None}
            run.log_params(given)
            if model is not None:
                run.set_tag("model", getattr(getattr(model, "config", None), "model_type", type(model).__name__))
                run.log_param("model_parameters", sum(one.numel() for one in model.parameters()))

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        if not state.is_world_process_zero:
            return
        with harmless("metrics of transformers"):
            run = self._choice.get()
            run.log_metrics(numbers(logs), state.global_step)
            if state.max_steps > 0:
                run.progress(state.global_step / state.max_steps)
