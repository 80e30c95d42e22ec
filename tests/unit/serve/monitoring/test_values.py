"""Logged tensors as columns: binary and JSON, numbers and texts, and what was not logged."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

from millpond.serve.monitoring.tables import sampled
from millpond.serve.monitoring.values import columns_of, inputs_of, predictions_of, tensors_of
from millpond.serve.tensors import to_binary


def body(*tensors: dict[str, Any]) -> str:
    return json.dumps({"inputs": list(tensors)})


def binary(name: str, datatype: str, array: Any) -> dict[str, Any]:
    raw = base64.b64encode(bytes(to_binary(array, datatype))).decode()
    return {"name": name, "datatype": datatype, "shape": list(array.shape), "base64": raw}


def test_binary_and_json_tensors_are_the_same_columns() -> None:
    array = np.array([[1.5, 2.5], [3.5, 4.5]], np.float32)
    plain = {"name": "x", "datatype": "FP32", "shape": [2, 2], "data": [1.5, 2.5, 3.5, 4.5]}
    for tensor in (binary("x", "FP32", array), plain):
        ((name, samples),) = tensors_of(body(tensor), "inputs")
        found = {column: values.tolist() for column, values in columns_of(name, samples)}
        assert found == {"x[0]": [1.5, 3.5], "x[1]": [2.5, 4.5]}
        assert inputs_of(body(tensor)) == [plain]


def test_texts_classes_and_large_samples() -> None:
    texts = binary("t", "BYTES", np.array([b"cat", b"\xff"], object))
    ((_, samples),) = tensors_of(body(texts), "inputs")
    assert predictions_of(samples) == ["cat", "\ufffd"]
    scores = np.array([[0.1, 0.9], [0.8, 0.2]])
    assert dict(columns_of("y", scores, is_output=True))["y.argmax"].tolist() == ["1", "0"]
    assert predictions_of(scores) == [1, 0]
    image = dict(columns_of("image", np.full((3, 100), 7.0)))
    assert image["image.mean"].tolist() == [7.0] * 3 and image["image.std"].tolist() == [0.0] * 3


@pytest.mark.parametrize(
    "more",
    [{"redacted": True}, {"omitted_bytes": 9}, {"data": [1]}, {"data": "x"}, {"base64": "?"}, {"shape": [-1, 2]}],
)
def test_what_was_not_logged_whole_is_left_out(more: dict[str, Any]) -> None:
    text = body({"name": "x", "datatype": "FP32", "shape": [1, 2], **more})
    assert list(tensors_of(text, "inputs")) == [] and inputs_of(text) == []
    assert list(tensors_of(None, "inputs")) == [] and inputs_of('{"unreadable": true}') == []


def test_a_sample_is_the_same_each_time_and_knows_of_how_many() -> None:
    first, second = (sampled(range(1000), 10, str) for _ in range(2))
    assert first == second and first[1] == 1000 and len(set(first[0])) == 10
    assert sampled(range(3), 10, str) == (["0", "1", "2"], 3)
