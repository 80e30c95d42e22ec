"""Trains a ResNet on images in one folder per class: the step's main program."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import export
import images as image_files
import network
import ranks as processes
import step
import torch
from images import Images, Reading
from ranks import Ranks
from training import Plan, Stopped, Training

STATE = "state.pt"
STOPPED = 143  # as a shell says it of a process that SIGTERM ended


def main() -> None:
    params = step.params()
    check(params)
    ranks = processes.join()
    torch.manual_seed(params.seed)
    if not ranks.is_first:
        step.say = lambda text: None
    found = image_files.find_images(step.given("images"))
    train, val = image_files.split(found, params.val_size, params.seed)
    reading = Reading(params.image_height, params.image_width, params.image_color, params.augment)
    net = network.ResNet(shape_of(params, len(found.classes), reading.channels))
    start_from(net, params.weights)
    plan = plan_of(params, len(train), ranks)
    introduce(params, plan, found, train, val, ranks)
    training = Training(net, plan, reading, ranks)
    resume(training)
    try:
        training.run(train, val, save=lambda: save(training))
    except Stopped:
        step.say(
            f"asked to stop after epoch {training.progress.epoch}, step {training.progress.step}: checkpoint saved"
        )
        sys.exit(STOPPED)
    finish(training, params, train, val, ranks)
    processes.leave()


def check(params: SimpleNamespace) -> None:
    export.check_name(params.output_model)
    for name in ("conv_height", "conv_width"):
        if getattr(params, name) % 2 == 0:
            raise step.Problem(f"{name} must be odd, so that blocks keep the size of images.")


def shape_of(params: SimpleNamespace, classes: int, channels: int) -> network.Shape:
    return network.Shape(
        depth=params.depth,
        classes=classes,
        channels=channels,
        conv=(params.conv_height, params.conv_width),
        pooling=(params.pooling_height, params.pooling_width),
        activation=params.hidden_layer_activation,
        dropout=params.dropout,
    )


def plan_of(params: SimpleNamespace, count: int, ranks: Ranks) -> Plan:
    size = min(params.batch_size, count)
    if size // ranks.count < 2:
        raise step.Problem(
            f"{count} images to train with and a batch of {params.batch_size} are too few for {ranks.count} processes: "
            "every process needs at least 2 images per step."
        )
    return Plan(
        epochs=params.epochs,
        batch_size=size,
        steps=image_files.epoch_steps(count, size, params.steps_per_epoch),
        optimizer=params.optimizer,
        lr=params.lr,
        precision=params.precision,
        patience=params.patience,
        seed=params.seed,
        checkpoint_steps=params.checkpoint_steps,
    )


def start_from(net: network.ResNet, weights: str | None) -> None:
    """Take over given weights: of the input `start`, or of the file that the parameter names."""
    folder = step.given("start")
    if folder is None and not weights:
        return
    path = weights_file(folder, weights)
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:  # noqa: BLE001 - TorchScript raises whatever it likes; the other way of loading decides
        found = scripted(path)
    known = {name.removeprefix("network.").removeprefix("module."): value for name, value in found.items()}
    taken, others = network.load_weights(net, known)
    if not taken:
        raise step.Problem(f"{path.name} has no weights that fit a network of this depth.")
    step.say(
        f"weights of {path.name}: {taken} tensors taken over" + (f", not {', '.join(others[:6])}" if others else "")
    )


def weights_file(folder: Path | None, weights: str | None) -> Path:
    if folder is None:
        path = Path(weights or "")
    else:
        found = [folder / weights] if weights else sorted(folder.glob("*/*.pt"))
        path = found[0] if found else folder
    if not path.is_file():
        raise step.Problem(f"No file with weights: {path}")
    return path


def scripted(path: Path) -> dict[str, Any]:
    try:
        return torch.jit.load(path, map_location="cpu").state_dict()
    except RuntimeError as error:
        raise step.Problem(f"Cannot load weights of {path.name}: {str(error).splitlines()[0]}") from error


def introduce(params: SimpleNamespace, plan: Plan, found: Images, train: Images, val: Images, ranks: Ranks) -> None:
    """Say and log what is about to happen."""
    device = torch.cuda.get_device_name() if ranks.device.type == "cuda" else "CPU"
    step.say(f"ResNet-{params.depth} on {device}, processes: {ranks.count}, PyTorch {torch.__version__}")
    step.say(f"classes: {json.dumps(list(found.classes))}")
    step.say(f"{len(train)} images to train with, {len(val)} to validate; steps of an epoch: {plan.steps}")
    if ranks.is_first:
        more = {"classes": json.dumps(list(found.classes)), "images": len(found), "device": device}
        step.log("log_params", vars(params) | more)
        step.log("log_table", "classes", [{"class": key, "images": count} for key, count in found.counts().items()])


def resume(training: Training) -> None:
    path = Path(os.environ["MILL_CHECKPOINT"], STATE)
    if not path.exists():
        return
    state = torch.load(path, map_location=training.ranks.device, weights_only=True)
    if state["plan"] != vars(training.plan):
        step.say("the checkpoint is of a training with other parameters: starting again")
        return
    training.resume(state)
    progress = training.progress
    step.say(f"resumed after epoch {progress.epoch}, step {progress.step} of {training.plan.steps}")


def save(training: Training) -> None:
    """Replace the checkpoint in one step: a process that is killed leaves the one before."""
    if training.ranks.is_first:
        path = Path(os.environ["MILL_CHECKPOINT"], STATE)
        torch.save(training.state(), path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)
        step.log("checkpoint")
    training.ranks.wait()


def finish(training: Training, params: SimpleNamespace, train: Images, val: Images, ranks: Ranks) -> None:
    """Test the trained network and write all outputs."""
    training.take_best()
    measured: dict[str, Any] = {"classes": list(train.classes), "history": training.progress.history}
    data_test = step.given("data_test")
    chosen, prefix = (image_files.find_images(data_test, train.classes), "test_") if data_test else (val, "val_")
    chosen, prefix = (chosen, prefix) if len(chosen) else (train, "train_")
    loss, accuracy, matrix = training.measure(chosen)
    if not ranks.is_first:
        return
    step.say(f"{prefix}loss {loss:.4f}  {prefix}accuracy {accuracy:.4f} on {len(chosen)} images")
    step.log("log_metrics", {f"{prefix}loss": loss, f"{prefix}accuracy": accuracy}, step=training.progress.epoch)
    step.log("log_confusion_matrix", prefix.rstrip("_"), matrix.tolist(), labels=list(train.classes))
    measured |= {
        "confusion_matrix": matrix.tolist(), f"{prefix}loss": loss, f"{prefix}accuracy": accuracy, "accuracy": accuracy,
        "epochs": training.progress.epoch, "images": {"train": len(train), "val": len(val)},
    }  # fmt: skip
    (step.output("metrics") / "metrics.json").write_text(json.dumps(measured, indent=1) + "\n", "utf-8")
    activation = params.output_layer_activation
    export.save_model(
        training.network, train.classes, training.reading, activation=activation, file=params.output_model
    )
    step.save_values(accuracy=accuracy)


if __name__ == "__main__":
    step.run(main)
