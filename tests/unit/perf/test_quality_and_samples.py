"""The quality gate, and the samples that servers are asked about."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from millpond.errors import Invalid
from millpond.perf.quality import compare
from millpond.perf.samples import ModelInput, ServedModel, join, made_samples, read_samples

IMAGES = ServedModel("m", (ModelInput("x", "FP32", (3, 4)), ModelInput("n", "INT64", (-1,))), 8)
ONE = ServedModel("m", (ModelInput("x", "FP32", (2,)),), 0)


def scores(classes: list[int]) -> dict[int, np.ndarray]:
    return {index: np.eye(10, dtype=np.float32)[chosen] for index, chosen in enumerate(classes)}


def test_the_gate_compares_with_the_reference() -> None:
    reference = scores([index % 10 for index in range(200)])
    assert compare(reference, reference).is_met
    almost = {**reference, 0: reference[1], 1: reference[0]}
    assert compare(almost, reference).ratio == 0.99 and compare(almost, reference).is_met
    assert not compare({**almost, 2: reference[3]}, reference).is_met
    assert not compare({index: answer for index, answer in reference.items() if index > 9}, reference).is_met


def test_with_labels_accuracies_are_compared() -> None:
    labels = np.array([index % 10 for index in range(100)])
    reference = scores([index % 10 if index >= 20 else 9 for index in range(100)])
    found = compare(scores([index % 10 if index >= 10 else 9 for index in range(100)]), reference, labels)
    assert found.reference < found.score and found.is_met, "better than the reference is good enough"


def test_answers_that_are_no_classes_agree_by_value() -> None:
    boxes = {0: np.arange(12.0).reshape(3, 4)}
    assert compare({0: boxes[0] + 0.01}, boxes).is_met
    assert not compare({0: boxes[0] + 5.0}, boxes).is_met


def test_made_samples_fit_and_are_the_same_again() -> None:
    found = made_samples(IMAGES, 5)
    assert [sample["x"].shape for sample in found] == [(3, 4)] * 5 and found[0]["n"].dtype == np.int64
    joined = join(found, IMAGES)
    assert joined["x"].shape == (5, 3, 4) and np.array_equal(joined["x"], join(made_samples(IMAGES, 5), IMAGES)["x"])
    assert join(made_samples(ONE, 1), ONE)["x"].shape == (2,)
    with pytest.raises(Invalid, match="cannot be made up"):
        made_samples(ServedModel("m", (ModelInput("text", "BYTES", (1,)),), 0), 1)


def test_samples_of_a_folder(tmp_path: Path) -> None:
    for number in range(3):
        np.save(tmp_path / f"{number}.npy", np.full(2, number, dtype=np.float64))
    assert [float(sample["x"][0]) for sample in read_samples(tmp_path, ONE, 2)] == [0.0, 1.0]
    np.save(tmp_path / "0.npy", np.zeros(3))
    with pytest.raises(Invalid, match=r"does not fit input x: it is \[3\]"):
        read_samples(tmp_path, ONE, 9)
    with pytest.raises(Invalid, match="No samples"):
        read_samples(tmp_path / "none", ONE, 9)
    np.savez(tmp_path / "0.npz", y=np.zeros(2))
    (tmp_path / "0.npy").unlink()
    with pytest.raises(Invalid, match="has no array 'x'"):
        read_samples(tmp_path, ONE, 9)
