"""Trains a small network on the digits that Millpond cached beside this job, and reports as it goes.

Run it with `mill submit train --data digits -- python train.py`.
"""

from __future__ import annotations

import json
import os
import pickle
import time
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import millpond

EPOCHS = int(os.environ.get("EPOCHS", "15"))
BATCH = 128
CLASSES = np.arange(10)


def main() -> None:
    images, labels = load(Path(os.environ["MILL_DATA_DIGITS"]))
    train_x, test_x, train_y, test_y = train_test_split(images, labels, test_size=0.25, random_state=0, stratify=labels)
    network = MLPClassifier(hidden_layer_sizes=(64,), learning_rate_init=0.002, random_state=0)
    millpond.log_params(
        {"epochs": EPOCHS, "batch_size": BATCH, "hidden": 64, "learning_rate": 0.002, "images": len(images)}
    )
    shuffle = np.random.default_rng(0)
    for epoch in range(1, EPOCHS + 1):
        for batch in np.array_split(shuffle.permutation(len(train_x)), len(train_x) // BATCH):
            network.partial_fit(train_x[batch], train_y[batch], classes=CLASSES)
        loss = log_loss(train_y, network.predict_proba(train_x))
        validation = network.predict_proba(test_x)
        accuracy = accuracy_score(test_y, validation.argmax(axis=1))
        millpond.log_metric("loss", loss, epoch)
        millpond.log_metric("val_loss", log_loss(test_y, validation), epoch)
        millpond.log_metric("val_accuracy", accuracy, epoch)
        print(f"epoch {epoch:2d}/{EPOCHS}  loss {loss:.4f}  val_accuracy {accuracy:.4f}", flush=True)
    save(network, accuracy)


def load(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    began = time.perf_counter()
    files = sorted(folder.glob("class-*/*.png"))
    images = np.stack([np.asarray(Image.open(f).resize((16, 16)), dtype=np.float32).ravel() / 255 for f in files])
    labels = np.array([int(f.parent.name.removeprefix("class-")) for f in files])
    print(f"read {len(files)} cached images from {folder} in {time.perf_counter() - began:.2f} s", flush=True)
    return images, labels


def save(network: MLPClassifier, accuracy: float) -> None:
    output = Path(os.environ["MILL_OUTPUT"])
    (output / "model.pkl").write_bytes(pickle.dumps(network))
    (output / "report.json").write_text(json.dumps({"val_accuracy": accuracy}) + "\n")
    millpond.set_tag("model", "MLP 256-64-10")


if __name__ == "__main__":
    main()
