"""The training loop. Everything random depends on seed, epoch and step, so that a resumed training goes on exactly."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import images as image_files
import numpy as np
import step
import torch
from images import Images, Reading
from ranks import Ranks
from torch import Tensor, nn

OPTIMIZERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}


@dataclass(frozen=True)
class Plan:
    """What decides the course of a training. Two that are equal end with the same weights."""

    epochs: int
    batch_size: int
    steps: int
    optimizer: str
    lr: float
    precision: str
    patience: int
    seed: int
    checkpoint_steps: int


@dataclass
class Progress:
    """How far a training has come: what a checkpoint holds, besides weights."""

    epoch: int = 0
    step: int = 0
    # Of the epoch so far: loss times images, right answers, images.
    sums: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    history: list[dict[str, float]] = field(default_factory=list)
    best_loss: float = float("inf")
    without_better: int = 0


class Stopped(Exception):
    """The job was asked to end; its checkpoint is saved."""


class Training:
    def __init__(self, network: nn.Module, plan: Plan, reading: Reading, ranks: Ranks) -> None:
        self.network, self.plan, self.reading, self.ranks = network.to(ranks.device), plan, reading, ranks
        more = {"momentum": 0.9} if plan.optimizer == "sgd" else {}
        self.optimizer = OPTIMIZERS[plan.optimizer](self.network.parameters(), lr=plan.lr, **more)
        self.scaler = torch.amp.GradScaler(ranks.device.type, enabled=self._halves)
        self.progress = Progress()
        self.best: dict[str, Tensor] | None = None
        self._shared = ranks.share(self.network)
        self._asked_to_stop = False
        signal.signal(signal.SIGTERM, self._stop)

    def run(self, train: Images, val: Images, *, save: Callable[[], None]) -> None:
        """Train to the end. `save` writes a checkpoint. Stopped if SIGTERM came, after a checkpoint."""
        while self.progress.epoch < self.plan.epochs and not self._is_over():
            began = time.monotonic()
            trained = self._epoch(train, save)
            measured = {"loss": trained[0], "train_accuracy": trained[1]}
            if len(val):
                val_loss, accuracy, _ = self.measure(val)
                measured |= {"val_loss": val_loss, "accuracy": accuracy}
            self._note(measured, time.monotonic() - began)
            save()

    def measure(self, images: Images) -> tuple[float, float, Tensor]:
        """Loss, accuracy and confusion matrix (a row for each true class) of images the network does not learn from."""
        self.network.eval()
        count = len(images.classes)
        matrix = torch.zeros(count, count, dtype=torch.float64)
        loss = torch.zeros(1, dtype=torch.float64)
        numbers = np.arange(len(images))[self.ranks.rank :: self.ranks.count]
        size = max(1, self.plan.batch_size // self.ranks.count)
        parts = [numbers[at : at + size] for at in range(0, len(numbers), size)]
        with torch.no_grad():
            for values, labels in image_files.read_ahead((self.reading, images, part) for part in parts):
                with self._precision():
                    logits = self.network(values.to(self.ranks.device)).float().cpu()
                loss += nn.functional.cross_entropy(logits, labels, reduction="sum")
                matrix.index_put_(
                    (labels, logits.argmax(1)), torch.ones(len(labels), dtype=torch.float64), accumulate=True
                )
        loss, matrix = self.ranks.total(loss), self.ranks.total(matrix)
        return float(loss / len(images)), float(matrix.trace() / len(images)), matrix.long()

    def state(self) -> dict[str, Any]:
        return {
            "plan": vars(self.plan), "progress": vars(self.progress), "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(), "scaler": self.scaler.state_dict(), "best": self.best,
        }  # fmt: skip

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint of the same plan."""
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        self.progress = Progress(**state["progress"])
        self.best = state["best"]

    def take_best(self) -> None:
        """With patience, the weights of the best epoch are those to keep."""
        if self.plan.patience and self.best is not None:
            self.network.load_state_dict(self.best)

    def _epoch(self, train: Images, save: Callable[[], None]) -> tuple[float, float]:
        self._shared.train()
        for values, labels in image_files.read_ahead(self._batches(train)):
            self._step(values.to(self.ranks.device), labels.to(self.ranks.device))
            self.progress.step += 1
            if self._must_stop():
                save()
                raise Stopped
            if self.plan.checkpoint_steps and self.progress.step % self.plan.checkpoint_steps == 0:
                save()
        sums = self.ranks.total(torch.tensor(self.progress.sums, dtype=torch.float64))
        return float(sums[0] / sums[2]), float(sums[1] / sums[2])

    def _batches(self, train: Images) -> Iterator[tuple[Any, ...]]:
        """The steps of this epoch that are left; of each, the part of this process."""
        plan, done, epoch = self.plan, self.progress.step, self.progress.epoch
        steps = image_files.orders(len(train), plan.batch_size, plan.steps, seed=plan.seed, epoch=epoch)
        for number, chosen in enumerate(steps):
            if number >= done:
                randomness = np.random.default_rng((plan.seed, epoch, number, self.ranks.rank))
                yield self.reading, train, chosen[self.ranks.rank :: self.ranks.count], randomness

    def _step(self, values: Tensor, labels: Tensor) -> None:
        moment = (self.plan.seed, self.progress.epoch, self.progress.step, self.ranks.rank)
        torch.manual_seed(int(np.random.SeedSequence(moment).generate_state(1)[0]))  # of dropout
        with self._precision():
            logits = self._shared(values)
            loss = nn.functional.cross_entropy(logits, labels)
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        sums = self.progress.sums
        sums[0] += float(loss.detach()) * len(labels)
        sums[1] += float((logits.detach().argmax(1) == labels).sum())
        sums[2] += len(labels)

    def _note(self, measured: dict[str, float], seconds: float) -> None:
        """The end of an epoch."""
        progress = self.progress
        progress.epoch, progress.step, progress.sums = progress.epoch + 1, 0, [0.0, 0.0, 0.0]
        progress.history.append({"epoch": progress.epoch, **measured})
        if measured.get("val_loss", float("inf")) < progress.best_loss:
            progress.best_loss, progress.without_better = measured["val_loss"], 0
            if self.plan.patience:
                self.best = {name: value.detach().cpu().clone() for name, value in self.network.state_dict().items()}
        else:
            progress.without_better += 1
        if self.ranks.is_first:
            step.log("log_metrics", measured, step=progress.epoch)
            step.log("progress", progress.epoch / self.plan.epochs)
            numbers = "  ".join(f"{name} {value:.4f}" for name, value in measured.items())
            step.say(f"epoch {progress.epoch}/{self.plan.epochs}  {numbers}  ({seconds:.1f} s)")

    def _is_over(self) -> bool:
        return bool(self.plan.patience) and self.progress.without_better >= self.plan.patience

    def _stop(self, *_: object) -> None:
        self._asked_to_stop = True

    def _must_stop(self) -> bool:
        """All processes stop after the same step, or none."""
        if self.ranks.count == 1:
            return self._asked_to_stop
        return bool(self.ranks.total(torch.tensor([float(self._asked_to_stop)]).to(self.ranks.device)).item())

    @property
    def _halves(self) -> bool:
        """Half precision with few bits for the exponent, whose gradients must be scaled."""
        return self.plan.precision == "amp" and self.ranks.device.type == "cuda"

    def _precision(self) -> contextlib.AbstractContextManager[Any]:
        if self.plan.precision != "amp":
            return contextlib.nullcontext()
        kind = self.ranks.device.type
        return torch.autocast(kind, dtype=torch.float16 if kind == "cuda" else torch.bfloat16)
