"""The training loop. Everything random depends on seed, epoch and step, so that a resumed training goes on exactly."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import roads
import step
import torch
from ranks import Ranks
from roads import Roads
from torch import Tensor, nn

# How sure the network must be that a row has a lane.
_SURE = 0.3


@dataclass(frozen=True)
class Plan:
    """What decides the course of a training. Two that are equal go the same way, in however many processes."""

    epochs: int
    batch_size: int
    lr: float
    background: float
    seed: int
    pictures: int
    size: tuple[int, int]

    @property
    def steps(self) -> int:
        return self.pictures // self.batch_size


@dataclass
class Progress:
    """How far a training has come: what a checkpoint holds, besides weights."""

    epoch: int = 0
    step: int = 0
    losses: list[float] = field(default_factory=list)
    history: list[dict[str, float]] = field(default_factory=list)


class Stopped(Exception):
    """The job was asked to end; its checkpoint is saved."""


class Training:
    def __init__(self, network: nn.Module, plan: Plan, ranks: Ranks, *, checkpoint_steps: int = 0) -> None:
        self.network, self.plan, self.ranks = network.to(ranks.device), plan, ranks
        self.checkpoint_steps = checkpoint_steps
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=plan.lr)
        self.progress = Progress()
        self._shared = ranks.share(self.network)
        self._weights = torch.tensor([plan.background, *[1.0] * roads.LANES], device=ranks.device)
        self._asked_to_stop = False
        signal.signal(signal.SIGTERM, self._stop)

    def run(self, train: Roads, val: Roads, *, save: Callable[[], None]) -> None:
        """Train to the end. `save` writes a checkpoint. Stopped if SIGTERM came, after a checkpoint."""
        while self.progress.epoch < self.plan.epochs:
            first, began = self.progress.step, time.perf_counter()
            self._epoch(train, save)
            seconds = time.perf_counter() - began
            losses = self.progress.losses
            measured = {"loss": sum(losses) / len(losses)}
            if len(val):
                measured |= self.measure(val)
            measured["pictures_per_s"] = (self.plan.steps - first) * self.plan.batch_size / seconds
            self._note(measured)
            save()

    def measure(self, pictures: Roads) -> dict[str, float]:
        """Loss and accuracy of pictures that the network does not learn from."""
        self.network.eval()
        sums = torch.zeros(4, dtype=torch.float64)
        with torch.no_grad():
            for number in range(self.ranks.rank, len(pictures), self.ranks.count):
                values, columns = pictures.picture(number)
                marks = torch.from_numpy(roads.marked(columns, values.shape[2]))[None].to(self.ranks.device)
                logits = self.network(torch.from_numpy(values)[None].to(self.ranks.device))
                found, points = found_points(logits[0].softmax(0).cpu().numpy(), columns)
                sums += torch.tensor([float(self._loss(logits, marks)), 1.0, found, points], dtype=torch.float64)
        sums = self.ranks.total(sums)
        return {"val_loss": float(sums[0] / sums[1]), "accuracy": float(sums[2] / max(1.0, float(sums[3])))}

    def state(self) -> dict[str, Any]:
        return {
            "plan": vars(self.plan), "progress": vars(self.progress), "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }  # fmt: skip

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint of the same plan."""
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.progress = Progress(**state["progress"])

    def _epoch(self, train: Roads, save: Callable[[], None]) -> None:
        self._shared.train()
        for values, marks in self._batches(train):
            self._step(values.to(self.ranks.device), marks.to(self.ranks.device))
            self.progress.step += 1
            if self._must_stop():
                save()
                raise Stopped
            if self.checkpoint_steps and self.progress.step % self.checkpoint_steps == 0:
                save()

    def _batches(self, train: Roads) -> Iterator[tuple[Tensor, Tensor]]:
        """The steps of this epoch that are left; of each, the part of this process."""
        plan = self.plan
        order = np.random.default_rng((plan.seed, self.progress.epoch)).permutation(len(train))
        for number in range(self.progress.step, plan.steps):
            chosen = order[number * plan.batch_size : (number + 1) * plan.batch_size]
            read = [train.picture(int(one)) for one in chosen[self.ranks.rank :: self.ranks.count]]
            marks = [roads.marked(columns, plan.size[1]) for _, columns in read]
            yield torch.from_numpy(np.stack([values for values, _ in read])), torch.from_numpy(np.stack(marks))

    def _step(self, values: Tensor, marks: Tensor) -> None:
        loss = self._loss(self._shared(values), marks)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        total = self.ranks.total(loss.detach().double())
        self.progress.losses.append(float(total / self.ranks.count))

    def _loss(self, logits: Tensor, marks: Tensor) -> Tensor:
        """A mean over pixels, each with its weight: so the mean of processes with equal parts is that of all."""
        loss = nn.functional.cross_entropy(logits, marks, reduction="none")
        return (loss * self._weights[marks]).mean()

    def _note(self, measured: dict[str, float]) -> None:
        """The end of an epoch."""
        progress = self.progress
        progress.epoch, progress.step, progress.losses = progress.epoch + 1, 0, []
        progress.history.append({"epoch": progress.epoch, **measured})
        if self.ranks.is_first:
            step.log("log_metrics", measured, step=progress.epoch)
            step.log("progress", progress.epoch / self.plan.epochs)
            numbers = "  ".join(f"{name} {value:.4f}" for name, value in measured.items())
            step.say(f"epoch {progress.epoch}/{self.plan.epochs}  {numbers}")

    def _stop(self, *_: object) -> None:
        self._asked_to_stop = True

    def _must_stop(self) -> bool:
        """All processes stop after the same step, or none."""
        if self.ranks.count == 1:
            return self._asked_to_stop
        return bool(self.ranks.total(torch.tensor([float(self._asked_to_stop)]).to(self.ranks.device)).item())


def found_points(chances: np.ndarray, columns: np.ndarray) -> tuple[float, float]:
    """How many points of the true lanes were found, and how many there are, as TuSimple counts them."""
    lanes = chances[1:]
    near = roads.NEAR_PIXELS * chances.shape[2] / roads.TUSIMPLE_WIDTH
    close = np.abs(lanes.argmax(2) - columns) <= near
    there = columns >= 0
    return float((close & (lanes.max(2) > _SURE) & there).sum()), float(there.sum())
