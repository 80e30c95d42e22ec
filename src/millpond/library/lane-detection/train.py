"""Trains a network to mark the lanes of a road: the step's main program."""

from __future__ import annotations

import json
import os
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import model_folder
import numpy as np
import ranks as processes
import step
import torch
from network import SHRINKS, LaneNetwork
from ranks import Ranks
from roads import LANES, DrawnRoads, Roads, TuSimpleRoads
from torch import Tensor, nn
from training import Plan, Stopped, Training

STATE = "state.pt"
STOPPED = 143  # as a shell says it of a process that SIGTERM ended
INPUT, OUTPUT = "input__0", "output__0"


def main() -> None:
    params = step.params()
    check(params)
    ranks = processes.join()
    torch.manual_seed(params.seed)
    if not ranks.is_first:
        step.say = lambda text: None
    train, val = pictures(params)
    plan = plan_of(params, len(train), ranks)
    training = Training(
        LaneNetwork(params.channels, passing=params.passing), plan, ranks, checkpoint_steps=params.checkpoint_steps
    )
    introduce(params, plan, train, val, ranks)
    resume(training)
    try:
        training.run(train, val, save=lambda: save(training))
    except Stopped:
        done = training.progress
        step.say(f"asked to stop after epoch {done.epoch}, step {done.step}: checkpoint saved")
        sys.exit(STOPPED)
    if ranks.is_first:
        finish(training, params)
    ranks.wait()
    processes.leave()


def check(params: SimpleNamespace) -> None:
    for name in ("image_height", "image_width"):
        if getattr(params, name) % SHRINKS:
            raise step.Problem(f"{name} must be a multiple of {SHRINKS}.")
    if params.channels % 4:
        raise step.Problem("channels must be a multiple of 4.")


@dataclass(frozen=True)
class Part:
    """Some of the pictures, from `first` on."""

    whole: Roads
    first: int
    count: int

    def __len__(self) -> int:
        return self.count

    def picture(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        return self.whole.picture(self.first + number)


def pictures(params: SimpleNamespace) -> tuple[Roads, Roads]:
    """To train and to validate with."""
    folder = step.given("roads")
    if folder is None:
        count = params.pictures + params.val_pictures
        whole: Roads = DrawnRoads(count, params.image_height, params.image_width, params.seed)
    else:
        whole = TuSimpleRoads(folder, params.image_height, params.image_width)
    count = len(whole) - params.val_pictures
    if count < 1:
        raise step.Problem(f"{len(whole)} pictures are too few to keep {params.val_pictures} for validation.")
    return Part(whole, 0, count), Part(whole, count, params.val_pictures)


def plan_of(params: SimpleNamespace, count: int, ranks: Ranks) -> Plan:
    if params.batch_size % ranks.count:
        raise step.Problem(f"batch_size is {params.batch_size}: it must be a multiple of the {ranks.count} processes.")
    if params.batch_size > count:
        raise step.Problem(f"batch_size is {params.batch_size}, and there are only {count} pictures to train with.")
    return Plan(
        epochs=params.epochs,
        batch_size=params.batch_size,
        lr=params.lr,
        background=params.background,
        seed=params.seed,
        pictures=count,
        size=(params.image_height, params.image_width),
    )


def introduce(params: SimpleNamespace, plan: Plan, train: Roads, val: Roads, ranks: Ranks) -> None:
    """Say and log what is about to happen."""
    device = torch.cuda.get_device_name() if ranks.device.type == "cuda" else "CPU"
    step.say(f"lane detection on {device}, processes: {ranks.count}, PyTorch {torch.__version__}")
    if step.given("roads") is None:
        step.say("no input roads: the pictures are drawn by this component, and are no photographs")
    step.say(f"{len(train)} pictures to train with, {len(val)} to validate; steps of an epoch: {plan.steps}")
    if ranks.is_first:
        step.log("log_params", vars(params) | {"device": device, "processes": ranks.count})


def resume(training: Training) -> None:
    path = Path(os.environ["MILL_CHECKPOINT"], STATE)
    if not path.exists():
        return
    state = torch.load(path, map_location=training.ranks.device, weights_only=True)
    if state["plan"] != vars(training.plan):
        step.say("the checkpoint is of a training with other parameters: starting again")
        return
    training.resume(state)
    step.say(f"resumed after epoch {training.progress.epoch}, step {training.progress.step} of {training.plan.steps}")


def save(training: Training) -> None:
    """Replace the checkpoint in one step: a process that is killed leaves the one before."""
    if training.ranks.is_first:
        path = Path(os.environ["MILL_CHECKPOINT"], STATE)
        torch.save(training.state(), path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)
        step.log("checkpoint")
    training.ranks.wait()


class Served(nn.Module):
    """Chances of each pixel to be of no lane, or of one."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, input__0: Tensor) -> Tensor:
        return self.network(input__0).softmax(1)


def finish(training: Training, params: SimpleNamespace) -> None:
    """Write all outputs."""
    history = training.progress.history
    accuracy = history[-1].get("accuracy", 0.0)
    measured = {"history": history, "processes": training.ranks.count, "accuracy": accuracy}
    (step.output("metrics") / "metrics.json").write_text(json.dumps(measured, indent=1) + "\n", "utf-8")
    folder = step.output("model")
    (folder / "1").mkdir(exist_ok=True)
    shape = (3, params.image_height, params.image_width)
    served = Served(training.network.cpu().eval()).eval()
    with warnings.catch_warnings(), torch.no_grad():
        # TorchScript is what Triton's PyTorch backend reads, whatever comes after it.
        warnings.simplefilter("ignore")
        torch.jit.trace(served, torch.rand(2, *shape)).save(folder / "1" / "model.pt")
    signature = {
        "task": "lane-detection",
        "inputs": [model_folder.tensor(INPUT, "FP32", *shape)],
        "outputs": [model_folder.tensor(OUTPUT, "FP32", LANES + 1, *shape[1:])],
        "classes": ["none", *(f"lane-{number}" for number in range(1, LANES + 1))],
        "image": {"height": shape[1], "width": shape[2], "color": "rgb", "values": [0, 1]},
    }
    model_folder.write_model_files(folder, "model.pt", signature)
    step.save_values(accuracy=accuracy)


if __name__ == "__main__":
    step.run(main)
