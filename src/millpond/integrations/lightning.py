"""PyTorch Lightning: `Trainer(logger=MillpondLogger())`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from millpond.client.run import Run
from millpond.integrations.common import RunChoice, flat, harmless, numbers

try:
    from lightning.pytorch.loggers.logger import Logger
    from lightning.pytorch.utilities import rank_zero_only
except ImportError:  # the same library under its older name
    from pytorch_lightning.loggers.logger import Logger
    from pytorch_lightning.utilities import rank_zero_only


class MillpondLogger(Logger):
    """Logs hyperparameters and metrics; with `checkpoints=True`, keeps the best checkpoint as an artifact."""

    def __init__(
        self, name: str | None = None, experiment: str | None = None, *, run: Run | None = None,
        checkpoints: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self._choice = RunChoice(run, name, experiment)
        self._name = name
        self._keep_checkpoints = checkpoints
        self._checkpoint: Any = None

    @property
    def experiment(self) -> Run:
        """The run itself, for `self.logger.experiment.log_image(…)`. Other ranks than the first begin none."""
        return self._choice.get()

    @property
    def name(self) -> str | None:
        return self._name or "millpond"

    @property
    def version(self) -> str | None:
        """The run's id on the first rank. Lightning names its folder of checkpoints by it."""
        return self.experiment.id if rank_zero_only.rank == 0 else None

    @rank_zero_only
    def log_hyperparams(self, params: dict[str, Any] | Namespace, *_: Any, **__: Any) -> None:
        with harmless("hyperparameters of Lightning"):
            given: Mapping[str, Any] = vars(params) if isinstance(params, Namespace) else params
            self.experiment.log_params(flat(given))

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        with harmless("metrics of Lightning"):
            self.experiment.log_metrics(numbers(metrics), step)

    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        self._checkpoint = checkpoint_callback

    @rank_zero_only
    def finalize(self, status: str) -> None:
        """After each of fit, validate and test: the run goes on."""
        with harmless("the checkpoint of Lightning"):
            best = getattr(self._checkpoint, "best_model_path", "")
            if self._keep_checkpoints and best and status == "success":
                self.experiment.log_artifact(best, "checkpoints/best.ckpt")
                self._checkpoint = None
